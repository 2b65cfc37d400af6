//! The word of a slot: its state, and the image of its key.
//!
//! | state | bits 62 and 61..0 | what it is | becomes |
//! | --- | --- | --- | --- |
//! | EMPTY | 0, 0 | never used | PENDING |
//! | PENDING | 1, image + 1 | an insert that is not decided | LIVE or KILLED |
//! | LIVE | 0, image + 1 | an entry | DEAD |
//! | DEAD | 0, all ones | an entry that was removed | |
//! | KILLED | 1, all ones | an insert that did not become an entry: it lost against another of the same key, a pop came first, or there was no space | |
//!
//! Bit 63 is FROZEN: the slot does not change any more. A slot never returns to an earlier state, so that a word that
//! compares equal has not changed in between. The image of a number is its local part, without the partition, at most
//! 2^61 - 1: no key and no value is reserved. The image of a byte string is its [key word](crate::tree::key_word).

use crate::tree::nbtree::keys::key::Local;

/// The word of a slot: its state and its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

/// The state of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Empty,
    Pending(Local),
    Live(Local),
    Dead,
    Killed,
}

impl Word {
    const FROZEN: u64 = 1 << 63;
    const PENDING: u64 = 1 << 62;
    const GONE: u64 = (1 << 62) - 1;

    pub(crate) const EMPTY: Self = Self(0);
    pub(crate) const DEAD: Self = Self(Self::GONE);
    pub(crate) const KILLED: Self = Self(Self::PENDING | Self::GONE);

    pub(crate) fn pending(key: Local) -> Self {
        Self(Self::PENDING | (key.0 + 1))
    }

    #[inline(always)]
    pub(crate) fn live(key: Local) -> Self {
        Self(key.0 + 1)
    }

    #[inline(always)]
    pub(crate) fn is_frozen(self) -> bool {
        self.0 & Self::FROZEN != 0
    }

    /// The word with the FROZEN bit.
    pub(crate) fn frozen(self) -> Self {
        Self(self.0 | Self::FROZEN)
    }

    /// The word without the FROZEN bit.
    #[inline(always)]
    pub(crate) fn thawed(self) -> Self {
        Self(self.0 & !Self::FROZEN)
    }

    #[inline(always)]
    pub(crate) fn state(self) -> State {
        match self.thawed() {
            Self::EMPTY => State::Empty,
            Self::DEAD => State::Dead,
            // Also a PENDING word without a key, which no run writes.
            Self::KILLED | Self(Self::PENDING) => State::Killed,
            Self(word) if word & Self::PENDING != 0 => State::Pending(Self::key(word)),
            Self(word) => State::Live(Self::key(word)),
        }
    }

    /// The key of a LIVE slot.
    #[inline(always)]
    pub(crate) fn live_key(self) -> Option<Local> {
        // EMPTY is 0; DEAD, PENDING and KILLED are `GONE` and above.
        let key = self.thawed().0.wrapping_sub(1);
        (key < Self::GONE - 1).then_some(Local(key))
    }

    /// The distance of the key of a LIVE slot from `low`. For any other state, or a key below `low`, a number larger
    /// than every distance.
    #[inline(always)]
    pub(crate) fn distance(self, low: Local) -> u64 {
        self.thawed().0.wrapping_sub(1).wrapping_sub(low.0)
    }

    fn key(word: u64) -> Local {
        Local((word & Self::GONE) - 1)
    }
}
