//! The way to a leaf: inner nodes in DRAM that no thread ever waits for.
//!
//! # Structure
//!
//! A partition has one *root word*. It leads to bodies ([`body`](super::body)) of level 2 and above
//! and down to *cells*: words that lead to one body of level 1 each, whose children are leaves. The
//! upper bodies change once in many splits, all of them by one exchange of the root word; a cell
//! changes with each split, alone:
//!
//! ```text
//! root word -> body (level 3) -> body (level 2) -> cell -> body (level 1) -> leaf
//! ```
//!
//! # Changes
//!
//! * A leaf is replaced by others: a new level-1 body, and an exchange of its cell.
//! * The body becomes too large, too small, or the change reaches into the next cell: the cells
//!   that it is about are *frozen* one after the other (a bit in each), after which they do not
//!   change any more. New cells for their children, and copies of the bodies on the way to them,
//!   are made, and one exchange of the root word puts them in place. Nobody has to know what
//!   a frozen cell was frozen for: whoever needs it to change makes new cells for what it holds.
//!
//! Each exchange that fails failed because another succeeded, and no step waits for a thread: the
//! whole is lock-free. Readers do not even notice; a frozen cell is as good as any.
//!
//! What an exchange takes out is retired by the thread that made it. A number that a thread compares
//! with was read by it inside the same pin, so that it cannot have come back in another meaning.

use crate::cpu::byte_search::{Lanes, Narrow, Wide};
use crate::cpu::prefetch::prefetch;
use crate::media::Media;
use crate::pool::Guard;
use crate::sync::{AtomicU64, Ordering};

use super::body::{Body, Child};
use super::key::Local;
use super::leaf::Leaf;
use super::metadata::Metadata;

/// Where a level-1 body hangs.
#[derive(Debug, Default)]
pub(super) struct Cell(AtomicU64);

/// What a cell holds: the number of a body, and whether that is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hold(u64);

impl Hold {
    const FROZEN: u64 = 1 << 63;

    pub(super) fn of(body: u32) -> Self {
        Self(body.into())
    }

    #[inline(always)]
    pub(super) fn body(self) -> u32 {
        self.0 as u32
    }

    pub(super) fn is_frozen(self) -> bool {
        self.0 & Self::FROZEN != 0
    }
}

impl Cell {
    /// Pairs with [`exchange`](Self::exchange): who sees the body's number sees the body.
    #[inline(always)]
    pub(super) fn load(&self) -> Hold {
        Hold(self.0.load(Ordering::Acquire))
    }

    /// Sets a cell that nobody else uses; published with the body that names it.
    pub(super) fn set(&self, hold: Hold) {
        self.0.store(hold.0, Ordering::Relaxed);
    }

    pub(super) fn exchange(&self, old: Hold, new: Hold) -> bool {
        self.0.compare_exchange(old.0, new.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Lets the cell change no more; what it holds for ever.
    pub(super) fn freeze(&self) -> Hold {
        Hold(self.0.fetch_or(Hold::FROZEN, Ordering::AcqRel) | Hold::FROZEN)
    }
}

/// A root word: the number of the topmost body, and its level, at least 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Top(u64);

impl Top {
    pub(super) const NONE: Self = Self(0);

    pub(super) fn new(level: u32, body: u32) -> Self {
        Self(u64::from(level) << 32 | u64::from(body))
    }

    #[inline(always)]
    pub(super) fn body(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    pub(super) fn level(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// The root word of a partition; [`Top::NONE`] until its index was made.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Root(AtomicU64);

impl Root {
    /// Pairs with [`exchange`](Self::exchange): who sees a body's number sees all below.
    #[inline(always)]
    pub(super) fn load(&self) -> Top {
        Top(self.0.load(Ordering::Acquire))
    }

    pub(super) fn exchange(&self, old: Top, new: Top) -> bool {
        self.0.compare_exchange(old.0, new.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// The cell that covers a key, as it was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    pub(super) top: Top,
    pub(super) cell: u32,
    /// The keys that the cell covers.
    pub(super) low: Local,
    /// Exclusive.
    pub(super) high: Local,
}

impl Metadata {
    /// The leaf that covers `key`, or that did: it may have been replaced meanwhile.
    #[inline(always)]
    pub(super) fn descend(&self, top: Top, key: Local) -> u32 {
        self.descend_to_block(top, key).0
    }

    /// As [`descend`](Self::descend), and where the leaf's block is ([`Body::leaf`]).
    #[inline(always)]
    pub(super) fn descend_to_block(&self, top: Top, key: Local) -> (u32, u64) {
        let (body, slot) = self.bottom(top, key);
        body.leaf(slot)
    }

    /// As [`descend_to_block`](Self::descend_to_block), and where the block of the leaf is that comes next in the
    /// direction of a scan, if the same body leads to it.
    pub(super) fn descend_ahead<const UP: bool>(
        &self,
        top: Top,
        key: Local,
    ) -> ((u32, u64), Option<u64>) {
        let (body, slot) = self.bottom(top, key);
        let (leaf, block) = body.leaf(slot);
        prefetch::<Leaf>(self.leaves.get(leaf));
        let next = if UP { Some(slot + 1) } else { slot.checked_sub(1) };
        let next = next.filter(|&slot| slot < body.count()).map(|slot| {
            let (leaf, block) = body.leaf(slot);
            prefetch::<Leaf>(self.leaves.get(leaf));
            block
        });
        ((leaf, block), next)
    }

    /// The body of level 1 that covers `key`, and the slot in it.
    #[inline(always)]
    fn bottom(&self, top: Top, key: Local) -> (&Body, usize) {
        let body = self.bottom_body(top, key);
        (body, body.slot(key))
    }

    /// The body of level 1 that covers `key`, asked for.
    #[inline(always)]
    pub(super) fn bottom_body(&self, top: Top, key: Local) -> &Body {
        match Wide::detect() {
            Some(wide) => self.bottom_by(wide, top, key),
            None => self.bottom_by(Narrow, top, key),
        }
    }

    #[inline(always)]
    fn bottom_by(&self, lanes: impl Lanes, top: Top, key: Local) -> &Body {
        let mut body = self.bodies.get(top.body());
        for _ in 2..top.level() {
            // The upper levels are few, and stay in the caches.
            body = self.bodies.get(body.child(body.rank(lanes, key)));
        }
        let cell = self.cells.get(body.child(body.rank(lanes, key)));
        let body = self.bodies.get(cell.load().body());
        body.prefetch();
        body
    }

    /// The cell that covers `key`.
    pub(super) fn spot(&self, top: Top, key: Local) -> Spot {
        let (mut level, mut at) = (top.level(), top.body());
        let (mut low, mut high) = (Local(0), Local::END);
        loop {
            let body = self.bodies.get(at);
            let slot = body.rank(Narrow, key);
            low = low.max(body.key(slot));
            high = body.end(slot).unwrap_or(high);
            at = body.child(slot);
            if level == 2 {
                return Spot { top, cell: at, low, high };
            }
            level -= 1;
        }
    }

    /// The leaf that covers the key before `low`; `low` is not the first of its partition.
    pub(super) fn before(&self, partition: usize, low: Local) -> u32 {
        self.way_before(partition, low).0
    }

    /// As [`before`](Self::before), and where the leaf's block is ([`Body::leaf`]).
    pub(super) fn way_before(&self, partition: usize, low: Local) -> (u32, u64) {
        self.descend_to_block(self.roots[partition].load(), Local(low.0 - 1))
    }

    /// A new body of these children.
    pub(super) fn new_body<M: Media>(&self, guard: &Guard<'_, M>, children: &[Child]) -> u32 {
        let number = self.bodies.take(guard.space().now());
        self.bodies.get(number).fill(children);
        number
    }

    /// A new cell over a new body of these leaves.
    pub(super) fn new_cell<M: Media>(&self, guard: &Guard<'_, M>, leaves: &[Child]) -> u32 {
        let body = self.new_body(guard, leaves);
        let number = self.cells.take(guard.space().now());
        self.cells.get(number).set(Hold::of(body));
        number
    }
}
