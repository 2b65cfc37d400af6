//! The superblock: the identity of a pool, and how its last session ended.
//!
//! There are two copies of 256 bytes, in two pages of the file system. If both are whole, the one with the higher
//! sequence number counts. A write goes to one copy, waits until it is durable, and only then goes to the other,
//! without waiting. The next write begins with that other copy. So the copy that is not being written is always whole,
//! durable and the latest, at the price of one sync.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | magic, the same in every version |
//! | 8..12 | format version |
//! | 12..16 | zero |
//! | 16..24 | features without which the pool must not be opened |
//! | 24..32 | features without which it must not be written |
//! | 32..40 | features that may be ignored |
//! | 40..44, 44..48 | bytes of a page and of a line |
//! | 48..64 | the pool's own random number |
//! | 64..72 | generation: how often the pool was opened for writing |
//! | 72..88 | boot of the last writer (`os/linux/boot.rs`), zeros if it could not find out |
//! | 88..96, 96..104 | device and inode of the file, as the last writer saw them |
//! | 104..112 | sequence number of this superblock |
//! | 112..120 | dirty shutdowns of the memory below, as the last writer saw them |
//! | 120 | 1 = the last writer closed the pool |
//! | 121 | domain of the last writer: 0 = ADR, 1 = eADR, 2 = page cache |
//! | 122 | 1 = the last writer's acknowledged stores were promised to survive a power loss |
//! | 123 | 1 = the count at 112 is known |
//! | 124..128 | CRC32C of bytes 0..124, in every version |
//! | 128..144 | the file system of the last writer's file: `f_fsid` and subvolume, or UUID |
//! | 144..152, 152..156 | birth time (nanoseconds since 1970) and inode generation of that file |
//! | 156 | what 128 holds: 0 = nothing, 1 = `f_fsid`, 2 = UUID |
//! | 157, 158 | 1 = the birth time is known; 1 = the generation is known |
//! | 159 | 1 = the file's extended attribute names the session as well |
//! | 160..176 | random number of the last writer's session |
//! | 176..192 | random number of the session of the checkpoint that this session builds on, zeros if there is none |
//! | 192..205 | when checkpoints are made ([`Schedule`]) |
//! | 205 | 1 = the pool was closed after that checkpoint |
//! | 206..214 | when that checkpoint was made, if it is surely durable and has what the pool was closed with; else zeros |
//! | 214..222 | the other number of the boot at 72 |
//! | 222 | what 223 holds: 0 = nothing, 1 = the folder of the file system, 2 = on an overlay, the youngest folder of all, |
//! | | 3 = on an overlay, nothing (`os/linux/mounted.rs`) |
//! | 223..231, 231..239 | inode of that folder; number of the mount, zero if it is not known |
//! | 239..247 | first half of the number of a session whose stores may not have reached the disk; zeros if there is none |
//! | 247 | 1 = the close left a mark after the end of the pool |
//! | 248..252 | zero |
//! | 252..256 | CRC32C of bytes 0..124 and 128..252 |
//!
//! The first checksum lets every build read the version. The second covers the same bytes again, so that half of one
//! copy does not match the other half of an earlier one. It leaves the first checksum out: a CRC over data followed by
//! the CRC of that data is the same whatever the data are.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::media::{Domain, LINE};
use crate::os::boot::Boot;
use crate::os::disk;
use crate::os::file_identity::{FileIdentity, Volume};
use crate::os::mounted::{Folder, Mounted};
pub use crate::space::file::schedule::Schedule;
use crate::space::layout::{PAGE, SUPERBLOCK_A, SUPERBLOCK_B};
use crate::{Error, Result};

/// Bytes of one copy.
pub const BYTES: usize = 256;
/// The number of the file format that this build reads and writes. A pool of another format is refused
/// ([`Error::Version`]).
pub const FORMAT: u32 = 12;
const MAGIC: [u8; 8] = *b"\x89ENDURA\n";
/// The offsets of the two checksums.
const SUM: usize = 124;
const WHOLE_SUM: usize = 252;

/// The features that this build knows, one bit each.
const KNOWN_INCOMPATIBLE: u64 = WITH_INTENTS;
const KNOWN_WRITABLE: u64 = WITH_CHECKPOINTS;
/// The pool was not closed, and may have [intents](crate::space::batch::intent) that the next open has to apply. A build that
/// does not know of them must not open it.
const WITH_INTENTS: u64 = 1;
/// A build that does not know of checkpoints must not write to the pool: the newest checkpoint would become outdated
/// unnoticed.
const WITH_CHECKPOINTS: u64 = 1;

/// The contents of a superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Superblock {
    /// The format's version.
    pub version: u32,
    /// Features without which the pool must not be opened.
    pub incompatible: u64,
    /// Features without which the pool must not be written.
    pub writable_with: u64,
    /// Features that may be ignored.
    pub compatible: u64,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// The pool's own random number.
    pub uuid: [u8; 16],
    /// How many times the pool was opened for writing.
    pub generation: u64,
    /// The boot of the last writer; zeros if it could not find out.
    pub boot: Boot,
    /// The mounted file system that the last writer saw.
    pub mounted: Mounted,
    /// The file that the last writer saw.
    pub file: FileIdentity,
    /// The random number of the last writer's session.
    pub session: [u8; 16],
    /// Whether the file was marked with the number of that session.
    pub is_marked: bool,
    /// Counts the writes of the superblock.
    pub sequence: u64,
    /// Dirty shutdowns of the persistent memory below, if the last writer could find out.
    pub dirty_shutdowns: Option<u64>,
    /// Whether the last writer closed the pool.
    pub clean: bool,
    /// The persistence domain of the last writer.
    pub domain: Domain,
    /// Whether the last writer's acknowledged stores were to survive a power loss.
    pub power_safe: bool,
    /// The session that made the checkpoint to which a power loss in the last session takes the pool back, as long as
    /// the last session has made no checkpoint itself. Zeros if there is none.
    pub base: [u8; 16],
    /// Whether the pool was closed after that checkpoint was made. The closed pool must then not be restored from it.
    pub base_lags: bool,
    /// When that checkpoint was made, in nanoseconds since 1970, if the pool was closed with the same contents: no
    /// other checkpoint of that session then stands for the close. Zero if any checkpoint of that session may stand for
    /// it.
    pub base_made: u64,
    /// When checkpoints are made.
    pub schedule: Schedule,
    /// The first half of the number of a session whose stores may not have reached the disk; zero if there is none. In
    /// the root of a checkpoint it may name a later session.
    pub suspect: u64,
    /// Whether the close left a mark after the end of the pool.
    pub has_end_mark: bool,
}

impl Superblock {
    /// The superblock of a pool that was never opened.
    pub(crate) fn of_new_pool(uuid: [u8; 16]) -> Self {
        Self {
            version: FORMAT,
            incompatible: 0,
            writable_with: 0,
            compatible: 0,
            page_bytes: PAGE as u32,
            line_bytes: LINE as u32,
            uuid,
            generation: 0,
            boot: Boot::default(),
            mounted: Mounted::default(),
            file: FileIdentity::default(),
            session: [0; 16],
            is_marked: false,
            sequence: 0,
            dirty_shutdowns: None,
            clean: true,
            domain: Domain::PageCache,
            power_safe: false,
            base: [0; 16],
            base_lags: false,
            base_made: 0,
            schedule: Schedule::default(),
            suspect: 0,
            has_end_mark: false,
        }
    }

    /// The number by which [`suspect`](Self::suspect) names the session of this superblock.
    pub(crate) fn half(&self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|i| self.session[i]))
    }

    /// Whether this superblock records that stores of the session `last` may not have reached the disk.
    pub(crate) fn suspects(&self, last: &Self) -> bool {
        self.suspect != 0 && self.suspect == last.half()
    }

    /// The bytes of one copy.
    pub fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &MAGIC);
        put(8, &self.version.to_le_bytes());
        put(16, &self.incompatible.to_le_bytes());
        put(24, &self.writable_with.to_le_bytes());
        put(32, &self.compatible.to_le_bytes());
        put(40, &self.page_bytes.to_le_bytes());
        put(44, &self.line_bytes.to_le_bytes());
        put(48, &self.uuid);
        put(64, &self.generation.to_le_bytes());
        put(72, &self.boot.id);
        put(88, &self.file.device.to_le_bytes());
        put(96, &self.file.inode.to_le_bytes());
        put(104, &self.sequence.to_le_bytes());
        put(112, &self.dirty_shutdowns.unwrap_or(0).to_le_bytes());
        let domain = match self.domain {
            Domain::Adr => 0,
            Domain::Eadr => 1,
            Domain::PageCache => 2,
        };
        let known = self.dirty_shutdowns.is_some().into();
        put(120, &[self.clean.into(), domain, self.power_safe.into(), known]);
        let FileIdentity { volume, birth, generation, .. } = self.file;
        let kind = match volume {
            Volume::Unknown => 0,
            Volume::Number([number, subvolume]) => {
                put(128, &number.to_le_bytes());
                put(136, &subvolume.to_le_bytes());
                1
            }
            Volume::Uuid(uuid) => {
                put(128, &uuid);
                2
            }
        };
        put(144, &birth.unwrap_or(0).to_le_bytes());
        put(152, &generation.unwrap_or(0).to_le_bytes());
        let known = [birth.is_some().into(), generation.is_some().into()];
        put(156, &[kind, known[0], known[1], self.is_marked.into()]);
        put(160, &self.session);
        put(176, &self.base);
        put(192, &self.schedule.encode());
        put(205, &[self.base_lags.into()]);
        put(206, &self.base_made.to_le_bytes());
        put(214, &self.boot.memory.to_le_bytes());
        let (kind, folder) = match self.mounted.folder {
            Folder::Unknown => (0, 0),
            Folder::Own(folder) => (1, folder),
            Folder::Youngest(folder) => (2, folder),
            Folder::UnknownBelow => (3, 0),
        };
        put(222, &[kind]);
        put(223, &folder.to_le_bytes());
        put(231, &self.mounted.number.to_le_bytes());
        put(239, &self.suspect.to_le_bytes());
        put(247, &[self.has_end_mark.into()]);
        seal(&mut bytes);
        bytes
    }

    /// Decodes a copy. `None` unless magic and checksums are right. For another version only the first checksum counts.
    pub fn decode(bytes: &[u8; BYTES]) -> Option<Self> {
        let version = u32::from_le_bytes(field(bytes, 8));
        let sums = sums(bytes);
        let has = |at, sum| u32::from_le_bytes(field(bytes, at)) == sum;
        let is_whole = has(SUM, sums[0]) && (version != FORMAT || has(WHOLE_SUM, sums[1]));
        if field(bytes, 0) != MAGIC || !is_whole {
            return None;
        }
        let word = |at| u64::from_le_bytes(field(bytes, at));
        Some(Self {
            version,
            incompatible: word(16),
            writable_with: word(24),
            compatible: word(32),
            page_bytes: u32::from_le_bytes(field(bytes, 40)),
            line_bytes: u32::from_le_bytes(field(bytes, 44)),
            uuid: field(bytes, 48),
            generation: word(64),
            boot: Boot { id: field(bytes, 72), memory: word(214) },
            mounted: decode_mounted(bytes),
            file: decode_file(bytes),
            session: field(bytes, 160),
            is_marked: bytes[159] == 1,
            sequence: word(104),
            dirty_shutdowns: (bytes[123] == 1).then_some(word(112)),
            clean: bytes[120] == 1,
            domain: match bytes[121] {
                0 => Domain::Adr,
                1 => Domain::Eadr,
                _ => Domain::PageCache,
            },
            power_safe: bytes[122] == 1,
            base: field(bytes, 176),
            base_lags: bytes[205] == 1,
            base_made: word(206),
            schedule: Schedule::decode(&field(bytes, 192)),
            suspect: word(239),
            has_end_mark: bytes[247] == 1,
        })
    }

    /// The copy that counts, of two.
    ///
    /// # Errors
    ///
    /// [`Error::NotAPool`] if neither copy starts like a superblock, [`Error::Corrupt`] if neither is whole.
    pub fn newer_of(a: &[u8; BYTES], b: &[u8; BYTES]) -> Result<Self> {
        match (Self::decode(a), Self::decode(b)) {
            (Some(a), Some(b)) => Ok(if b.sequence > a.sequence { b } else { a }),
            (Some(one), None) | (None, Some(one)) => Ok(one),
            (None, None) if field(a, 0) == MAGIC || field(b, 0) == MAGIC => {
                Err(Error::Corrupt { offset: SUPERBLOCK_A, what: "both superblocks are torn" })
            }
            (None, None) => Err(Error::NotAPool {
                pool: None,
                what: "the file does not start like one",
                checkpoint: None,
            }),
        }
    }

    /// Reads both copies in the file, and returns the one that counts. Bytes beyond the end of the file count as zeros.
    ///
    /// # Errors
    ///
    /// As for [`newer_of`](Self::newer_of); [`Error::Io`].
    pub fn read(file: &File) -> Result<Self> {
        Self::newer_of(&read_copy(file, SUPERBLOCK_A)?, &read_copy(file, SUPERBLOCK_B)?)
    }

    /// This superblock with another schedule of checkpoints.
    pub(crate) fn with_schedule(self, schedule: Schedule) -> Self {
        let with = if schedule.is_on { WITH_CHECKPOINTS } else { 0 };
        Self { schedule, writable_with: self.writable_with & !WITH_CHECKPOINTS | with, ..self }
    }

    /// This superblock of a session that has begun, or of one that has been closed.
    pub(crate) fn with_end(self, clean: bool) -> Self {
        let with = if clean { 0 } else { WITH_INTENTS };
        Self { clean, incompatible: self.incompatible & !WITH_INTENTS | with, ..self }
    }

    /// Writes both copies with the next sequence number. The superblock is durable on return.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; the file then holds the old superblock, the new one, or both. [`Error::Corrupt`] if there is no
    /// next sequence number.
    pub fn write(&mut self, file: &File) -> Result<()> {
        self.write_first(file)?;
        self.write_second(file)
    }

    /// Writes one copy with the next sequence number. The copy is durable on return. An error may also be what the
    /// kernel reports about other pages of the file.
    pub(crate) fn write_first(&mut self, file: &File) -> Result<()> {
        self.sequence = self.next_sequence()?;
        Self::refuse_beyond_limit()?;
        disk::write_durably(file, &self.encode(), self.order().0).map_err(not_written)
    }

    /// Writes the other copy.
    pub(crate) fn write_second(&self, file: &File) -> Result<()> {
        file.write_all_at(&self.encode(), self.order().1).map_err(not_written)
    }

    /// Fails if one of the two copies may not be written, before either is written.
    pub(crate) fn refuse_beyond_limit() -> Result<()> {
        disk::refuse_beyond_limit(SUPERBLOCK_B + BYTES as u64).map_err(not_written)
    }

    /// The sequence number of the next write. It must not start over, because of two copies the one with the higher
    /// number counts.
    pub(crate) fn next_sequence(&self) -> Result<u64> {
        let what = "a superblock that was written more often than any can be";
        self.sequence.checked_add(1).ok_or(Error::Corrupt { offset: SUPERBLOCK_A, what })
    }

    /// The offsets of the two copies, in the order in which they are written.
    fn order(&self) -> (u64, u64) {
        if self.sequence.is_multiple_of(2) {
            (SUPERBLOCK_A, SUPERBLOCK_B)
        } else {
            (SUPERBLOCK_B, SUPERBLOCK_A)
        }
    }

    /// Fails unless this build can read the pool, and can write it if `read_only` is not set.
    ///
    /// # Errors
    ///
    /// [`Error::Version`], [`Error::UnknownFeatures`], [`Error::Unsupported`].
    pub(crate) fn check(&self, read_only: bool) -> Result<()> {
        if self.version != FORMAT {
            return Err(Error::Version { found: self.version, want: FORMAT });
        }
        let writable_with = if read_only { 0 } else { self.writable_with };
        let unknown = (self.incompatible & !KNOWN_INCOMPATIBLE) | (writable_with & !KNOWN_WRITABLE);
        if unknown != 0 {
            return Err(Error::UnknownFeatures { bits: unknown });
        }
        if u64::from(self.page_bytes) != PAGE || u64::from(self.line_bytes) != LINE {
            return Err(Error::Unsupported {
                what: "the pool has pages or lines of another size than this build; use the build \
                       that made it",
            });
        }
        Ok(())
    }
}

fn not_written(error: std::io::Error) -> Error {
    Error::io("writing the pool's superblock", error)
}

/// Writes the checksums of a copy.
pub fn seal(bytes: &mut [u8; BYTES]) {
    let [first, whole] = sums(bytes).map(u32::to_le_bytes);
    bytes[SUM..SUM + 4].copy_from_slice(&first);
    bytes[WHOLE_SUM..].copy_from_slice(&whole);
}

fn sums(bytes: &[u8; BYTES]) -> [u32; 2] {
    let first = crc32c::crc32c(&bytes[..SUM]);
    [first, crc32c::crc32c_append(first, &bytes[SUM + 4..WHOLE_SUM])]
}

fn decode_file(bytes: &[u8; BYTES]) -> FileIdentity {
    let word = |at| u64::from_le_bytes(field(bytes, at));
    FileIdentity {
        device: word(88),
        inode: word(96),
        volume: match bytes[156] {
            1 => Volume::Number([word(128), word(136)]),
            2 => Volume::Uuid(field(bytes, 128)),
            _ => Volume::Unknown,
        },
        birth: (bytes[157] == 1).then(|| i64::from_le_bytes(field(bytes, 144))),
        generation: (bytes[158] == 1).then(|| u32::from_le_bytes(field(bytes, 152))),
    }
}

fn decode_mounted(bytes: &[u8; BYTES]) -> Mounted {
    let word = |at| u64::from_le_bytes(field(bytes, at));
    let folder = match bytes[222] {
        1 => Folder::Own(word(223)),
        2 => Folder::Youngest(word(223)),
        3 => Folder::UnknownBelow,
        _ => Folder::Unknown,
    };
    Mounted { folder, number: word(231) }
}

fn field<const N: usize>(bytes: &[u8; BYTES], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

fn read_copy(file: &File, at: u64) -> Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    let mut have = 0;
    while have < BYTES {
        match file.read_at(&mut bytes[have..], at + have as u64) {
            Ok(0) => break,
            Ok(more) => have += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("reading the pool's superblock", error)),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
