//! The words that lead to bodies: one for each partition, and one for each body whose children are leaves.

use crate::sync::{AtomicU64, Ordering};

/// The word that leads to a level-1 body.
#[derive(Debug, Default)]
pub(crate) struct Cell(AtomicU64);

/// The content of a cell: the number of a body, and whether the cell is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hold(pub(crate) u64);

impl Hold {
    const FROZEN: u64 = 1 << 63;

    pub(crate) fn of(body: u32) -> Self {
        Self(body.into())
    }

    #[inline(always)]
    pub(crate) fn body(self) -> u32 {
        self.0 as u32
    }

    pub(crate) fn is_frozen(self) -> bool {
        self.0 & Self::FROZEN != 0
    }
}

impl Cell {
    /// Acquire pairs with [`exchange`](Self::exchange): a thread that sees the body's number sees the body.
    #[inline(always)]
    pub(crate) fn load(&self) -> Hold {
        Hold(self.0.load(Ordering::Acquire))
    }

    /// Sets a cell that no other thread uses. The cell is published with the body that refers to it.
    pub(crate) fn set(&self, hold: Hold) {
        self.0.store(hold.0, Ordering::Relaxed);
    }

    pub(crate) fn exchange(&self, old: Hold, new: Hold) -> bool {
        self.0.compare_exchange(old.0, new.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Freezes the cell, and returns its final content.
    pub(crate) fn freeze(&self) -> Hold {
        Hold(self.0.fetch_or(Hold::FROZEN, Ordering::AcqRel) | Hold::FROZEN)
    }
}

/// A root word: the number of the topmost body, and its level, at least 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Top(u64);

impl Top {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn new(level: u32, body: u32) -> Self {
        Self(u64::from(level) << 32 | u64::from(body))
    }

    #[inline(always)]
    pub(crate) fn body(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    pub(crate) fn level(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// The root word of a partition; [`Top::NONE`] until its index is made.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Root(AtomicU64);

impl Root {
    /// Acquire pairs with [`exchange`](Self::exchange): a thread that sees the number of a body sees all bodies below
    /// it.
    #[inline(always)]
    pub(crate) fn load(&self) -> Top {
        Top(self.0.load(Ordering::Acquire))
    }

    pub(crate) fn exchange(&self, old: Top, new: Top) -> bool {
        self.0.compare_exchange(old.0, new.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
