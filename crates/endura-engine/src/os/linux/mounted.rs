//! The identity of a mounted file system. Each mount has an identity of its own, also if the device is the same.
//!
//! While a file system stays mounted, every store to its files is read back, whether or not it is on the disk. When it
//! is unmounted or shut down (the disk was pulled out, the journal cannot be written), changes that had not been
//! written back may be lost although the machine continues to run. Four facts show whether it is still the same mounted
//! file system:
//!
//! | fact | proves | unknown where |
//! | --- | --- | --- |
//! | the inode of its folder in `/sys/fs` (`ext4/DEV`, `xfs/DEV`, `btrfs/UUID`, ...): each mount makes another one, bind mounts and containers see the same | that the file system is the same, or that it is another one | `/sys` is not mounted; file systems without such a folder |
//! | the number of the mount (`STATX_MNT_ID_UNIQUE`), never reused | if equal, that the file system is the same; a bind mount and a container have other numbers | Linux before 6.8 |
//! | the hint about write lifetimes in the file's inode in memory: a session sets it to "none", which has no effect, and no file system stores the hint | if the hint is there, that the inode has not left the memory since | the inode was evicted from memory |
//! | on overlayfs: no file system of any kind was mounted since | that the file system below is the same | another file system was mounted |
//!
//! (The number of a mount in `mountinfo` proves nothing, because it is reused; so is the number of a device.)

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, StatxFlags, fstatfs, statfs, statx};
use rustix::ioctl::{Opcode, opcode};

use super::file_identity::ask;

/// What is known of a mounted file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mounted {
    /// Its folder in `/sys/fs`.
    pub folder: Folder,
    /// The number of the mount by which the file was found; zero if it is not known.
    pub number: u64,
}

/// A folder in `/sys/fs`, by its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Folder {
    /// The folder is not known.
    #[default]
    Unknown,
    /// The folder of the file system itself.
    Own(u64),
    /// On an overlay, the youngest of all such folders: the file system below was not mounted after this folder was
    /// made.
    Youngest(u64),
    /// On an overlay, where no such folder is known.
    UnknownBelow,
}

impl Mounted {
    /// The mounted file system on which the file lies. Takes five system calls, a microsecond each. Only on overlayfs
    /// does one of them open a descriptor.
    pub(crate) fn of(file: &File) -> Self {
        let number = statx(file, c"", AtFlags::EMPTY_PATH, UNIQUE_NUMBER);
        let number = number.ok().filter(|facts| facts.stx_mask & UNIQUE_NUMBER.bits() != 0);
        Self { folder: folder(file), number: number.map_or(0, |facts| facts.stx_mnt_id) }
    }

    /// Whether the file system is an overlay.
    pub(crate) fn is_overlay(&self) -> bool {
        matches!(self.folder, Folder::Youngest(_) | Folder::UnknownBelow)
    }

    /// Whether `here` is the mounted file system that was recorded as `self`. `None` if that cannot be known. `stayed`
    /// says that the file's inode [has not left the memory](has_stayed).
    pub(crate) fn compare(&self, here: &Self, stayed: bool) -> Option<bool> {
        if let (Folder::Own(then), Folder::Own(now)) = (self.folder, here.folder) {
            return Some(then == now);
        }
        let is_one_mount = self.number != 0 && self.number == here.number;
        let none_is_younger = match (self.folder, here.folder) {
            (Folder::Youngest(then), Folder::Youngest(now)) => now <= then,
            _ => false,
        };
        (is_one_mount || stayed || none_is_younger).then_some(true)
    }
}

/// `STATX_MNT_ID_UNIQUE`.
const UNIQUE_NUMBER: StatxFlags = StatxFlags::from_bits_retain(0x4000);
/// `FS_IOC_GETFSSYSFSPATH` (Linux 6.10): the length of a name below `/sys/fs`, and the name.
const FOLDER: Opcode = opcode::read::<[u8; 129]>(0x15, 1);
const SYS: &str = "/sys/fs";
/// Kinds of file systems on which an overlay can lie, and that have a folder for each mounted file system.
const KINDS: [&str; 5] = ["ext4", "xfs", "btrfs", "f2fs", "bcachefs"];

fn folder(file: &File) -> Folder {
    let kind = fstatfs(file).map_or(0, |facts| facts.f_type as u64);
    let is_overlay = kind == libc::OVERLAYFS_SUPER_MAGIC as u64;
    // In a container another file system may be mounted at this path.
    if !statfs(SYS).is_ok_and(|facts| facts.f_type as u64 == libc::SYSFS_MAGIC as u64) {
        return if is_overlay { Folder::UnknownBelow } else { Folder::Unknown };
    }
    let own = || name(file).or_else(|| name_by_kind(file, kind));
    let inode = |name: PathBuf| fs::metadata(Path::new(SYS).join(name)).ok().map(|at| at.ino());
    if is_overlay {
        youngest().map_or(Folder::UnknownBelow, Folder::Youngest)
    } else {
        own().and_then(inode).map_or(Folder::Unknown, Folder::Own)
    }
}

/// The name of the folder, as the kernel reports it.
fn name(file: &File) -> Option<PathBuf> {
    let answer = ask::<FOLDER>(file)?;
    let name = answer.get(1..1 + usize::from(answer[0]))?;
    let name = PathBuf::from(std::str::from_utf8(name).ok()?);
    (!name.as_os_str().is_empty() && name.is_relative()).then_some(name)
}

/// `BTRFS_IOC_FS_INFO`; the UUID begins at byte 16.
const BTRFS: Opcode = opcode::read::<[u8; 1024]>(0x94, 31);

/// The name of the folder, made from the UUID or the device where the kernel does not report it.
fn name_by_kind(file: &File, kind: u64) -> Option<PathBuf> {
    const F2FS: u64 = 0xF2F5_2010;
    let kind = match kind {
        kind if kind == libc::BTRFS_SUPER_MAGIC as u64 => {
            let answer = ask::<BTRFS>(file)?;
            let uuid = u128::from_be_bytes(std::array::from_fn(|i| answer[16 + i]));
            let digits = format!("{uuid:032x}");
            let [a, b, c, d] = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20]];
            return Some(format!("btrfs/{a}-{b}-{c}-{d}-{}", &digits[20..]).into());
        }
        kind if kind == libc::EXT4_SUPER_MAGIC as u64 => "ext4",
        kind if kind == libc::XFS_SUPER_MAGIC as u64 => "xfs",
        F2FS => "f2fs",
        _ => return None,
    };
    let device = file.metadata().ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let link = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    Some(Path::new(kind).join(link.file_name()?))
}

/// The largest inode among the folders of all mounted file systems. It is the inode of the youngest folder, because the
/// kernel numbers inodes upwards. `None` if one of the folders cannot be read.
fn youngest() -> Option<u64> {
    let mut last = 0;
    for kind in KINDS {
        let all = match fs::read_dir(Path::new(SYS).join(kind)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            all => all.ok()?,
        };
        for folder in all {
            last = last.max(folder.ok()?.metadata().ok()?.ino());
        }
    }
    (last != 0).then_some(last)
}

/// `F_GET_RW_HINT`, `F_SET_RW_HINT`, and the hint that says nothing about lifetimes (`RWH_WRITE_LIFE_NONE`).
const GET_HINT: libc::c_int = 1035;
const SET_HINT: libc::c_int = 1036;
const NO_LIFETIME: u64 = 1;

/// Sets the hint in the file's inode in memory. Where that fails, [`has_stayed`] returns false later.
pub(crate) fn stay(file: &File) {
    let hint = NO_LIFETIME;
    // SAFETY: the descriptor is open, and the call reads one number of 64 bits.
    let _ = unsafe { libc::fcntl(file.as_raw_fd(), SET_HINT, &raw const hint) };
}

/// Whether the file's inode is known not to have left the memory since [`stay`].
pub(crate) fn has_stayed(file: &File) -> bool {
    let mut hint = 0_u64;
    // SAFETY: the descriptor is open, and the call writes one number of 64 bits.
    let told = unsafe { libc::fcntl(file.as_raw_fd(), GET_HINT, &raw mut hint) };
    told == 0 && hint == NO_LIFETIME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fact_that_is_known_is_enough() {
        let full = Mounted { folder: Folder::Own(7), number: 8 };
        let of = |folder, number| Mounted { folder, number };
        let ask = |then: Mounted, now, stayed| then.compare(&now, stayed);
        assert_eq!(ask(full, of(Folder::Own(7), 9), false), Some(true));
        // The folder decides, whatever the other facts say.
        assert_eq!(ask(full, of(Folder::Own(6), 8), true), Some(false));
        assert_eq!(ask(full, of(Folder::Unknown, 8), false), Some(true));
        assert_eq!(ask(full, of(Folder::Unknown, 9), false), None);
        assert_eq!(ask(full, of(Folder::Unknown, 9), true), Some(true));
        assert_eq!(ask(of(Folder::Unknown, 0), of(Folder::Unknown, 0), false), None);
        let overlay = of(Folder::Youngest(7), 1);
        assert_eq!(ask(overlay, of(Folder::Youngest(7), 2), false), Some(true));
        assert_eq!(ask(overlay, of(Folder::Youngest(8), 2), false), None);
    }

    #[test]
    fn a_file_of_this_machine_stays_where_it_is() {
        for folder in ["/dev/shm", env!("CARGO_MANIFEST_DIR"), "/tmp"] {
            let Ok(file) = tempfile::tempfile_in(folder) else { continue };
            let here = Mounted::of(&file);
            println!("{folder}: {here:?}");
            assert_eq!(here, Mounted::of(&file));
            assert!(!has_stayed(&file), "nobody has noted it");
            stay(&file);
            println!("{folder}: the inode tells that it has stayed: {}", has_stayed(&file));
        }
    }
}
