//! The control word of a leaf: its phase, which says what may change in the block, and the claimed slots.

use crate::tree::nbtree::blocks::claims::Claims;

/// The phase of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Unread,
    Open,
    Splitting,
    /// The leaf absorbs its right neighbour, whose number and stamp these are.
    Merging(u32, u8),
    /// The leaf is absorbed by its left neighbour, whose number this is.
    Captured(u32),
}

/// A control word. That of an OPEN leaf has the claims of the leaf. That of a leaf that merges has the number of the
/// other leaf (bits 0..32) and the stamp of that leaf (32..40). Every control word has the stamp (48..56) and the phase
/// (56..64) of its own leaf.
///
/// The stamp distinguishes the uses of one leaf's memory. A thread inside one operation sees at most two uses, because
/// the grace period before the third use waits for the thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Control(pub(crate) u64);

const PHASE_SHIFT: u32 = 56;
const UNREAD: u64 = 0;
const OPEN: u64 = 1 << PHASE_SHIFT;
const SPLITTING: u64 = 2 << PHASE_SHIFT;
const MERGING: u64 = 3 << PHASE_SHIFT;
const CAPTURED: u64 = 4 << PHASE_SHIFT;
const PHASE: u64 = 0xff << PHASE_SHIFT;
const STAMP_SHIFT: u32 = 48;
const STAMP: u64 = 0xff << STAMP_SHIFT;
const OTHER_STAMP_SHIFT: u32 = 32;

impl Control {
    /// The control word of a leaf that is UNREAD.
    pub(crate) fn unread(stamp: u8) -> Self {
        Self(u64::from(stamp) << STAMP_SHIFT | UNREAD)
    }

    pub(crate) fn phase(self) -> Phase {
        let other = self.0 as u32;
        match self.0 & PHASE {
            UNREAD => Phase::Unread,
            OPEN => Phase::Open,
            MERGING => Phase::Merging(other, (self.0 >> OTHER_STAMP_SHIFT) as u8),
            CAPTURED => Phase::Captured(other),
            _ => Phase::Splitting,
        }
    }

    #[inline(always)]
    pub(crate) fn is_unread(self) -> bool {
        self.0 & PHASE == UNREAD
    }

    #[inline(always)]
    pub(crate) fn is_open(self) -> bool {
        self.0 & PHASE == OPEN
    }

    /// The claimed slots, if the leaf is OPEN: no other slot has an entry.
    #[inline(always)]
    pub(crate) fn claims(self) -> Option<Claims> {
        self.is_open().then_some(Claims(self.0 & Claims::MASK))
    }

    pub(crate) fn stamp(self) -> u8 {
        (self.0 >> STAMP_SHIFT) as u8
    }

    /// Claims one more slot, of `slots`, in line `home` or after it. `None` if no slot can be claimed.
    #[inline(always)]
    pub(crate) fn with_claim(self, home: usize, slots: usize) -> Option<(Self, usize)> {
        let (claims, slot) = self.claims()?.claim(home, slots)?;
        Some((Self(self.0 & !Claims::MASK | claims.0), slot))
    }

    /// The same leaf, OPEN, with these slots claimed.
    pub(crate) fn opened(self, claims: Claims) -> Self {
        Self(self.0 & STAMP | OPEN | claims.0)
    }

    /// The same leaf in another phase, in which no further slot is claimed.
    pub(crate) fn closing(self, phase: Phase) -> Self {
        let (bits, other, stamp) = match phase {
            Phase::Merging(right, stamp) => (MERGING, right, stamp),
            Phase::Captured(left) => (CAPTURED, left, 0),
            Phase::Splitting | Phase::Open | Phase::Unread => (SPLITTING, 0, 0),
        };
        Self(self.0 & STAMP | bits | u64::from(stamp) << OTHER_STAMP_SHIFT | u64::from(other))
    }
}
