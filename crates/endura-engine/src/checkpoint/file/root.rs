//! The root of a checkpoint: its pool and session, and the runs that say where its pages lie.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | magic |
//! | 8..12, 12..16 | version of the file; zero |
//! | 16..24 | when it was made, in nanoseconds since 1970 |
//! | 24..32 | sequence: the number of the checkpoint; each gets the next number |
//! | 32..40, 40..48 | pages of the pool; number of runs |
//! | 48..56 | hash of the pool's path, zero if it is not known |
//! | 56..64 | sequence of the root before it in this file, zero if it is the first one |
//! | 64..320 | the superblock at that moment, which names pool and session |
//! | 320.. | runs: slot, entries (4 bytes each), hash of its entries (8 bytes) |
//! | 4088..4096 | hash of bytes 0..4088 |

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a slot, and of a page of the pool.
pub const SLOT: usize = 4096;
/// The number of roots. They lie in the first slots.
pub(crate) const ROOTS: u32 = 2;
/// The most runs of a root. If there would be more, or more entries than the pool has pages, one run of all pages
/// replaces them.
pub(crate) const MOST_RUNS: usize = 200;

const MAGIC: [u8; 8] = *b"\x89ENDCKP\n";
const VERSION: u32 = 2;
const RUNS: usize = 320;
const HASH: usize = 4088;

const _: () = assert!(RUNS + 16 * MOST_RUNS <= HASH);

/// Where a run lies. The number of its slots follows from the number of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) slot: u32,
    pub(crate) entries: u32,
    /// The hash of the bytes of its entries.
    pub(crate) hash: u64,
}

/// What a checkpoint shows: which pool, and at which moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// When the checkpoint was made, in nanoseconds since 1970.
    pub made: u64,
    /// Pages of 4 KiB of the pool.
    pub pages: u32,
    /// The superblock of the pool at that moment.
    pub superblock: [u8; 256],
    /// Hash of the path of the pool; zero if it is not known.
    pub path: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) moment: Moment,
    pub(crate) sequence: u64,
    /// The sequence of the root before it in the file; 0 for the first.
    pub(crate) previous: u64,
    pub(crate) runs: Vec<Run>,
}

/// What the slot of a root holds if it holds no root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRoot {
    /// Zeros: no root was written yet.
    Empty,
    /// A root of another version of the file.
    Version(u32),
    /// A part of a root, or anything else.
    Torn,
    /// Contents with the right hash that no correct run writes.
    Wrong,
}

impl Root {
    /// The slot to which the root is written. Roots are written to the two slots in turn.
    pub(crate) fn slot(&self) -> u32 {
        (self.sequence % u64::from(ROOTS)) as u32
    }

    pub(crate) fn encode(&self) -> [u8; SLOT] {
        let mut bytes = [0; SLOT];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(16, &self.moment.made.to_le_bytes());
        put(24, &self.sequence.to_le_bytes());
        put(32, &u64::from(self.moment.pages).to_le_bytes());
        put(40, &(self.runs.len() as u64).to_le_bytes());
        put(48, &self.moment.path.to_le_bytes());
        put(56, &self.previous.to_le_bytes());
        put(64, &self.moment.superblock);
        for (i, run) in self.runs.iter().enumerate() {
            let at = RUNS + 16 * i;
            put(at, &run.slot.to_le_bytes());
            put(at + 4, &run.entries.to_le_bytes());
            put(at + 8, &run.hash.to_le_bytes());
        }
        let hash = xxh3_64(&bytes[..HASH]);
        bytes[HASH..].copy_from_slice(&hash.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; SLOT]) -> Result<Self, NoRoot> {
        if bytes.iter().all(|&byte| byte == 0) {
            return Err(NoRoot::Empty);
        }
        if field(bytes, HASH) != xxh3_64(&bytes[..HASH]).to_le_bytes() || field(bytes, 0) != MAGIC {
            return Err(NoRoot::Torn);
        }
        let version = u32::from_le_bytes(field(bytes, 8));
        if version != VERSION {
            return Err(NoRoot::Version(version));
        }
        let number = |at| u64::from_le_bytes(field(bytes, at));
        let short = |at| u32::from_le_bytes(field(bytes, at));
        let (runs, pages) = (number(40), u32::try_from(number(32)));
        let is_number = (1..u64::MAX).contains(&number(24)) && number(56) < number(24);
        let (Ok(pages), true) = (pages, runs <= MOST_RUNS as u64 && is_number) else {
            return Err(NoRoot::Wrong);
        };
        let run = |i| {
            let at = RUNS + 16 * i;
            Run { slot: short(at), entries: short(at + 4), hash: number(at + 8) }
        };
        Ok(Self {
            moment: Moment {
                made: number(16),
                pages,
                superblock: field(bytes, 64),
                path: number(48),
            },
            sequence: number(24),
            previous: number(56),
            runs: (0..runs as usize).map(run).collect(),
        })
    }
}

/// Whether a slot can hold a page. The slots of the roots cannot.
pub(crate) fn can_hold_a_page(slot: u32) -> bool {
    slot >= ROOTS
}

/// Where a slot lies in the file.
pub(crate) fn at(slot: u32) -> u64 {
    u64::from(slot) * SLOT as u64
}

fn field<const N: usize>(bytes: &[u8; SLOT], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_read_as_it_was_written_and_no_part_of_it_is() {
        let run = |i: u32| Run { slot: 2 + i, entries: 10 * i, hash: u64::from(i) << 40 };
        let moment = Moment { made: 1 << 60, pages: 77, superblock: [3; 256], path: 5 };
        for runs in [0, 1, MOST_RUNS as u32] {
            let runs = (0..runs).map(run).collect();
            let root = Root { moment, sequence: 9, previous: 8, runs };
            let bytes = root.encode();
            assert_eq!(Root::decode(&bytes), Ok(root));
            for at in (0..SLOT).step_by(61).chain([8, HASH]) {
                let mut bytes = bytes;
                bytes[at] ^= 1;
                assert_eq!(Root::decode(&bytes), Err(NoRoot::Torn), "byte {at}");
            }
        }
        assert_eq!(Root::decode(&[0; SLOT]), Err(NoRoot::Empty));
        let root = Root { moment, sequence: 9, previous: 0, runs: Vec::new() };
        let mut newer = root.encode();
        newer[8] = 3;
        let hash = xxh3_64(&newer[..HASH]).to_le_bytes();
        newer[HASH..].copy_from_slice(&hash);
        assert_eq!(Root::decode(&newer), Err(NoRoot::Version(3)));
    }
}
