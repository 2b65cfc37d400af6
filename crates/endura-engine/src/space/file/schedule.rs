//! When checkpoints of a pool are made, as the superblock records it.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | number of changed bytes after which a checkpoint is made; 0 if none is made for this reason |
//! | 8..12 | interval in milliseconds; 0 if no checkpoint is made for this reason |
//! | 12 | bit 0: checkpoints are made; bit 1: in a file that is given at each open; bit 2: a program has chosen this |

use std::time::Duration;

/// Bytes of a schedule.
const BYTES: usize = 13;
const ON: u8 = 1;
const ELSEWHERE: u8 = 2;
const CHOSEN: u8 = 4;

/// When checkpoints are made: none by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Whether checkpoints are made: one at each close at least.
    pub is_on: bool,
    /// How long after the last checkpoint the next one is made, if something was written.
    pub every: Option<Duration>,
    /// The number of bytes of changed pages after which a checkpoint is made.
    pub after_bytes: Option<u64>,
    /// Whether checkpoints are in a file of the user's choice.
    pub is_elsewhere: bool,
    /// Whether a program has chosen this schedule. If no program has, and the pool has no checkpoints because it was
    /// made in memory, it gets the default checkpoints when it is opened on a disk.
    pub is_chosen: bool,
}

/// The checkpoint that a session builds on, as its superblock names it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Base {
    /// The session that made the checkpoint.
    pub(crate) session: [u8; 16],
    /// When the checkpoint was made; zero if any checkpoint of that session may stand for it.
    pub(crate) made: u64,
    /// Whether the pool was closed after the checkpoint was made.
    pub(crate) lags: bool,
}

impl Schedule {
    /// The schedule of a program that wants no checkpoints.
    pub const OFF: Self =
        Self { is_on: false, every: None, after_bytes: None, is_elsewhere: false, is_chosen: true };

    /// Whether the pool has no checkpoints and no program has chosen that.
    pub(crate) fn is_unchosen_off(&self) -> bool {
        !self.is_on && !self.is_chosen
    }

    pub(crate) fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.after_bytes.unwrap_or(0).to_le_bytes());
        // Limited to what the field can hold; an interval of 0 would mean none.
        let every = self.every.map_or(0, |every| every.as_millis().clamp(1, u32::MAX.into()));
        bytes[8..12].copy_from_slice(&(every as u32).to_le_bytes());
        let flags = [(self.is_on, ON), (self.is_elsewhere, ELSEWHERE), (self.is_chosen, CHOSEN)];
        bytes[12] = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum();
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; BYTES]) -> Self {
        let after_bytes = u64::from_le_bytes(std::array::from_fn(|i| bytes[i]));
        let every = u32::from_le_bytes(std::array::from_fn(|i| bytes[8 + i]));
        Self {
            is_on: bytes[12] & ON != 0,
            every: (every != 0).then(|| Duration::from_millis(every.into())),
            after_bytes: (after_bytes != 0).then_some(after_bytes),
            is_elsewhere: bytes[12] & ELSEWHERE != 0,
            is_chosen: bytes[12] & CHOSEN != 0,
        }
    }
}
