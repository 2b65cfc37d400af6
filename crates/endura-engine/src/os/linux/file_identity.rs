//! Identities of files. An identity distinguishes a file from every copy of it, and stays the same when its file system
//! is mounted again.
//!
//! An inode number alone does neither. File systems give the number of a deleted file to the next one, and the
//! number of a device changes when an image is mounted behind another loop device. So an identity has three parts:
//!
//! | part | from | in a copy made later |
//! | --- | --- | --- |
//! | inode | `stat` | usually another one; on ext4 the same one after `rm` and `cp` |
//! | birth | birth time (`statx`), and the inode's generation number (`FS_IOC_GETVERSION`) | another one |
//! | volume | the number of the file system, in place of that of the device | the same one, on the same file system |
//!
//! The next table shows the parts on each file system. `f_fsid` (`statfs`) is used where it is made from a number that
//! the volume keeps. On other file systems `f_fsid` is made from the number of the device, and is not used.
//!
//! | file system | volume | birth |
//! | --- | --- | --- |
//! | ext4, ext3, ext2 | `f_fsid`, of its UUID | time (not with inodes of 128 bytes), generation |
//! | xfs | UUID (`XFS_IOC_FSGEOMETRY_V1`) | time (format v5), generation |
//! | btrfs | `f_fsid`, of UUID and subvolume: a snapshot has another one | time, generation |
//! | zfs, bcachefs | `f_fsid`: on zfs that of the data set; on bcachefs that of the UUID, and the subvolume (`statx`) | time |
//! | overlayfs | `f_fsid`: its own UUID, or that of the upper file system | time, of the upper file |
//! | tmpfs | `f_fsid`, random for each mount | not needed: its inode numbers are never reused |
//! | f2fs and others | UUID (`FS_IOC_GETFSUUID`), else unknown | time and generation where they have them |
//!
//! In a comparison of two identities, a part that either of them lacks proves nothing and contradicts nothing. If the
//! volume is unknown, the device must be the same within one boot. If only the inode is known, equal inodes prove
//! nothing: the file is then [`Unproven`](Likeness::Unproven).

use std::fs;
use std::fs::File;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{AtFlags, Statx, StatxFlags, fstatfs, fstatvfs, statx};
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use xxhash_rust::xxh3::xxh3_128;

/// A file of the running system, whatever its name. Used for locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl FileId {
    pub(crate) fn of(facts: &fs::Metadata) -> Self {
        Self { device: facts.dev(), inode: facts.ino() }
    }
}

/// The identity of a file system, whatever device it is mounted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Volume {
    /// The file system has no identity that can be read.
    #[default]
    Unknown,
    /// Its `f_fsid`, and the number of the subvolume; 0 where there are none.
    Number([u64; 2]),
    /// Its UUID.
    Uuid([u8; 16]),
}

/// The facts that stay with a file for as long as it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileIdentity {
    /// The device. Its number may change with each boot and each mount.
    pub device: u64,
    /// The inode.
    pub inode: u64,
    /// The file system.
    pub volume: Volume,
    /// When the file was made, in nanoseconds since 1970, if that is recorded.
    pub birth: Option<i64>,
    /// The inode's generation, if it has one.
    pub generation: Option<u32>,
}

/// Whether a file is the one that was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// It is the recorded file.
    Same,
    /// It is another file.
    Other,
    /// Nothing contradicts that it is the recorded file, but a later file could have the same inode.
    Unproven,
}

impl FileIdentity {
    /// Determines the identity of an open file. Takes a `statx`, two `statfs` and at most two `ioctl`s, a microsecond
    /// each.
    pub(crate) fn of(file: &File, at: FileId) -> Self {
        let facts = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME | SUBVOLUME).ok();
        let kind = fstatfs(file).map_or(0, |facts| u64::from(facts.f_type as u32));
        Self {
            device: at.device,
            inode: at.inode,
            volume: volume(file, kind, facts.as_ref()),
            birth: facts.as_ref().and_then(birth),
            generation: generation(file, kind),
        }
    }

    /// Whether `here` is the file that was recorded as `self`, in this boot or in an earlier one.
    pub(crate) fn compare(&self, here: &Self, is_same_boot: bool) -> Likeness {
        let volume = match (self.volume, here.volume) {
            (Volume::Unknown, _) | (_, Volume::Unknown) => {
                !is_same_boot || self.device == here.device
            }
            (recorded, found) => recorded == found,
        };
        let births = [known(self.birth, here.birth), known(self.generation, here.generation)];
        if self.inode != here.inode || !volume || births.contains(&Some(false)) {
            Likeness::Other
        } else if births.contains(&Some(true)) {
            Likeness::Same
        } else {
            Likeness::Unproven
        }
    }

    /// A number that is made from all facts except the device, because each boot numbers devices again. The number
    /// stays the same as long as those facts do, and differs from that of every copy. It is never zero.
    pub(crate) fn number(&self) -> [u8; 16] {
        let (kind, volume) = match self.volume {
            Volume::Unknown => (0, 0),
            Volume::Number([number, subvolume]) => {
                (1, (u128::from(subvolume) << 64) | u128::from(number))
            }
            Volume::Uuid(uuid) => (2, u128::from_le_bytes(uuid)),
        };
        let known = [kind, self.birth.is_some().into(), self.generation.is_some().into()];
        let birth = self.birth.unwrap_or(0).to_le_bytes();
        let generation = self.generation.unwrap_or(0).to_le_bytes();
        let facts =
            [&self.inode.to_le_bytes()[..], &volume.to_le_bytes(), &birth, &generation, &known];
        xxh3_128(&facts.concat()).max(1).to_le_bytes()
    }

    /// Whether the file can be distinguished from a later one with the same inode.
    pub(crate) fn has_birth(&self) -> bool {
        self.birth.is_some() || self.generation.is_some()
    }
}

/// Whether both are the same. `None` if one of them is not known.
fn known<T: PartialEq>(recorded: Option<T>, found: Option<T>) -> Option<bool> {
    Some(recorded? == found?)
}

/// Requests the number of the subvolume (`STATX_SUBVOL`, Linux 6.10).
const SUBVOLUME: StatxFlags = StatxFlags::from_bits_retain(0x8000);

const EXT4: u64 = libc::EXT4_SUPER_MAGIC as u64;
const XFS: u64 = libc::XFS_SUPER_MAGIC as u64;
const BTRFS: u64 = libc::BTRFS_SUPER_MAGIC as u64;
const TMPFS: u64 = libc::TMPFS_MAGIC as u64;
const OVERLAYFS: u64 = libc::OVERLAYFS_SUPER_MAGIC as u64;
const RAMFS: u64 = 0x8584_58F6;
const ZFS: u64 = 0x2FC1_2FC1;
const BCACHEFS: u64 = 0xCA45_1A4E;

fn volume(file: &File, kind: u64, facts: Option<&Statx>) -> Volume {
    match kind {
        EXT4 | BTRFS | ZFS | BCACHEFS | OVERLAYFS | TMPFS => {
            let number = fstatvfs(file).map_or(0, |facts| facts.f_fsid);
            let subvolume = facts
                .filter(|facts| facts.stx_mask & SUBVOLUME.bits() != 0)
                .map_or(0, |facts| facts.stx_subvol);
            if number == 0 { Volume::Unknown } else { Volume::Number([number, subvolume]) }
        }
        XFS => uuid(ask::<XFS_GEOMETRY>(file).map(|answer| part(&answer, 64))),
        _ => {
            let told = ask::<FILESYSTEM_UUID>(file).filter(|answer| answer[0] == 16);
            uuid(told.map(|answer| part(&answer, 1)))
        }
    }
}

/// The volume with this UUID. A file system without a UUID reports zero.
fn uuid(found: Option<[u8; 16]>) -> Volume {
    found.filter(|&id| id != [0; 16]).map_or(Volume::Unknown, Volume::Uuid)
}

fn birth(facts: &Statx) -> Option<i64> {
    let is_known = facts.stx_mask & StatxFlags::BTIME.bits() != 0;
    let nanoseconds = i64::from(facts.stx_btime.tv_nsec);
    let time = facts.stx_btime.tv_sec.checked_mul(1_000_000_000)?.checked_add(nanoseconds)?;
    // A file system that does not record the time may report zero.
    (is_known && time != 0).then_some(time)
}

fn generation(file: &File, kind: u64) -> Option<u32> {
    match kind {
        // These file systems number their inodes upwards and use each number once, so every generation can be 0.
        TMPFS | RAMFS => Some(0),
        // The kernel writes 32 bits, whatever the size in the number of the call says.
        _ => ask::<INODE_GENERATION>(file).map(|answer| u32::from_ne_bytes(part(&answer, 0))),
    }
}

/// The UUID of a file system (Linux 6.9): its length, 16, and the UUID.
const FILESYSTEM_UUID: Opcode = opcode::read::<[u8; 17]>(0x15, 0);
const INODE_GENERATION: Opcode = opcode::read::<libc::c_long>(b'v', 1);
/// `struct xfs_fsop_geom_v1`; the UUID begins at byte 64.
const XFS_GEOMETRY: Opcode = opcode::read::<[u8; 112]>(b'X', 100);
/// Bytes of the longest answer, which is that of `BTRFS_IOC_FS_INFO` ([`mounted`](super::mounted)).
pub(super) const ANSWER: usize = 1024;

/// The answer of the call about the file. `None` if the file system does not know the call. The call must only read.
pub(super) fn ask<const CALL: Opcode>(file: &File) -> Option<[u8; ANSWER]> {
    let mut answer = [0; ANSWER];
    // SAFETY: none of the calls writes more bytes than the answer has room for, and any bytes are a valid answer.
    unsafe { ioctl(file, Updater::<CALL, [u8; ANSWER]>::new(&mut answer)) }.ok()?;
    Some(answer)
}

fn part<const N: usize>(answer: &[u8; ANSWER], at: usize) -> [u8; N] {
    std::array::from_fn(|i| answer[at + i])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> FileIdentity {
        FileIdentity {
            device: 5,
            inode: 6,
            volume: Volume::Number([7, 0]),
            birth: Some(8),
            generation: Some(9),
        }
    }

    #[test]
    fn a_file_is_found_again_and_told_from_its_copies() {
        use Likeness::{Other, Same, Unproven};
        let file = identity();
        let whenever = |here: FileIdentity| {
            let both = [true, false].map(|is_same_boot| file.compare(&here, is_same_boot));
            assert_eq!(both[0], both[1], "{here:?}");
            both[0]
        };
        assert_eq!(whenever(file), Same);
        // When the image is mounted again, it may be on another device.
        assert_eq!(whenever(FileIdentity { device: 50, ..file }), Same);
        for copy in [
            FileIdentity { inode: 60, ..file },
            // The number of a deleted inode is used again.
            FileIdentity { birth: Some(80), ..file },
            FileIdentity { generation: Some(90), ..file },
            // Another file system, or another subvolume: a snapshot has all else in common.
            FileIdentity { volume: Volume::Number([70, 0]), ..file },
            FileIdentity { volume: Volume::Number([7, 1]), ..file },
            FileIdentity { volume: Volume::Uuid([7; 16]), ..file },
        ] {
            assert_eq!(whenever(copy), Other, "{copy:?}");
        }
        // One part of a birth is enough. Without both, the file could be a later one with the same inode.
        assert_eq!(whenever(FileIdentity { birth: None, ..file }), Same);
        assert_eq!(whenever(FileIdentity { generation: None, ..file }), Same);
        assert_eq!(whenever(FileIdentity { birth: None, generation: None, ..file }), Unproven);
    }

    /// Devices are numbered again by each boot. Within one boot the device is compared where the volume is unknown.
    #[test]
    fn a_device_counts_where_the_volume_is_unknown() {
        let file = FileIdentity { volume: Volume::Unknown, ..identity() };
        for here in [file, identity()] {
            assert_eq!(file.compare(&here, true), Likeness::Same);
            let moved = FileIdentity { device: 50, ..here };
            assert_eq!(file.compare(&moved, true), Likeness::Other);
            assert_eq!(file.compare(&moved, false), Likeness::Same);
        }
    }

    #[test]
    fn files_of_this_machine() {
        for folder in ["/dev/shm", env!("CARGO_MANIFEST_DIR"), "/tmp"] {
            let Ok(made) = tempfile::tempfile_in(folder) else { continue };
            let of = |file: &File| FileIdentity::of(file, FileId::of(&file.metadata().unwrap()));
            let first = of(&made);
            println!("{folder}: {first:?}");
            assert_eq!(first.compare(&of(&made.try_clone().unwrap()), true), Likeness::Same);
            drop(made);
            let second = of(&tempfile::tempfile_in(folder).unwrap());
            assert_eq!(first.compare(&second, true), Likeness::Other, "{first:?}, {second:?}");
        }
    }
}
