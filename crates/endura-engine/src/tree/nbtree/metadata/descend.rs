//! The descent to a leaf, through inner nodes in DRAM for which no thread ever waits.
//!
//! # Structure
//!
//! A partition has one *root word*. It leads to bodies ([`body`](crate::tree::nbtree::metadata::body)) of level 2 and
//! above, and these lead to *cells*: words that each lead to one body of level 1, whose children are leaves. Most
//! splits change only one cell. One split in many also changes the upper bodies on the path, all by one exchange of the
//! root word:
//!
//! ```text
//! root word -> body (level 3) -> body (level 2) -> cell -> body (level 1) -> leaf
//! ```
//!
//! # Changes
//!
//! * A thread that replaces a leaf by others usually makes a new body of level 1, and puts it in place by an exchange
//!   of the cell.
//! * If the body becomes too large or too small, or if the change extends into the next cell, the thread *freezes* the
//!   cells concerned one after the other (a bit in each), after which they do not change any more. It makes new cells
//!   for their children, and copies of the bodies on the path to them. One exchange of the root word puts all of these
//!   in place. No thread needs to know why a cell was frozen: a thread that has to change a frozen cell makes new cells
//!   for its children.
//!
//! An exchange fails only because another exchange succeeded, and no step waits for a thread. So the changes are
//! lock-free. Readers do not notice a freeze: a frozen cell is as valid as any.
//!
//! The thread that makes an exchange retires what the exchange removes. A thread reads the number of a body or cell and
//! later exchanges a word that has this number, both in one pin, so that the number cannot have been reused in between.

use crate::Result;
use crate::cpu::byte_search::{Lanes, Narrow, Wide};
use crate::media::Media;
use crate::space::Guard;

use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::metadata::body::{Body, Child};
use crate::tree::nbtree::metadata::links::{Hold, Top};
use crate::tree::nbtree::metadata::shared::Metadata;

/// The cell that covers a key, as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Spot<F> {
    pub(crate) top: Top,
    pub(crate) cell: u32,
    /// The keys that the cell covers.
    pub(crate) low: F,
    /// The end of these keys, exclusive.
    pub(crate) high: F,
}

/// The last step of the path to a leaf: a child of a body of level 1.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Turn {
    pub(crate) partition: usize,
    body: u32,
    slot: usize,
}

impl<K: KeyForm> Metadata<K> {
    /// The leaf that covers `key`, or covered it when the inner nodes led to the leaf: the leaf may have been replaced
    /// meanwhile.
    #[inline(always)]
    pub(crate) fn descend<M: Media>(&self, media: &M, top: Top, key: K::Sought<'_>) -> u32 {
        self.descend_to_block(media, top, key).0
    }

    /// As [`descend`](Self::descend); returns also the offset of the leaf's block (`Body::leaf`).
    #[inline(always)]
    pub(crate) fn descend_to_block<M: Media>(
        &self,
        media: &M,
        top: Top,
        key: K::Sought<'_>,
    ) -> (u32, u64) {
        let (_, body, slot) = self.bottom(media, top, key);
        body.leaf(slot)
    }

    /// The last step of the path to the leaf that covers `key`.
    pub(crate) fn descend_to_turn<M: Media>(
        &self,
        media: &M,
        partition: usize,
        top: Top,
        key: K::Sought<'_>,
    ) -> Turn {
        let (body, _, slot) = self.bottom(media, top, key);
        Turn { partition, body, slot }
    }

    /// The leaf to which the last body leads, and the offset of its block (`Body::leaf`).
    #[inline(always)]
    pub(crate) fn leaf_at(&self, turn: Turn) -> (u32, u64) {
        self.bodies.get(turn.body).leaf(turn.slot)
    }

    /// The next leaf in the direction of a scan, if it has the same body.
    #[inline(always)]
    pub(crate) fn turn_beside<const UP: bool>(&self, turn: Turn) -> Option<Turn> {
        let slot = if UP { turn.slot + 1 } else { turn.slot.wrapping_sub(1) };
        (slot < self.bodies.get(turn.body).count()).then_some(Turn { slot, ..turn })
    }

    /// The body of level 1 that covers `key`, with its number, and the slot in it.
    #[inline(always)]
    fn bottom<M: Media>(&self, media: &M, top: Top, key: K::Sought<'_>) -> (u32, &Body<K>, usize) {
        match Wide::detect() {
            Some(wide) => self.bottom_by(media, wide, top, key),
            None => self.bottom_by(media, Narrow, top, key),
        }
    }

    #[inline(always)]
    fn bottom_by<M: Media>(
        &self,
        media: &M,
        lanes: impl Lanes,
        top: Top,
        key: K::Sought<'_>,
    ) -> (u32, &Body<K>, usize) {
        let mut body = self.bodies.get(top.body());
        for passed in 2..top.level() {
            // The upper levels have few bodies, which stay in the caches.
            let level = top.level() + 2 - passed;
            body = self.bodies.get(body.child(self.rank(media, lanes, (body, level), key)));
        }
        let cell = self.cells.get(body.child(self.rank(media, lanes, (body, 2), key)));
        let number = cell.load().body();
        let body = self.bodies.get(number);
        if top.level() > 2 {
            // With only two levels the bodies take less than a megabyte and stay in the core's own caches.
            body.prefetch();
        }
        (number, body, self.rank(media, lanes, (body, 1), key))
    }

    /// The cell that covers `key`.
    pub(crate) fn spot<M: Media>(
        &self,
        media: &M,
        top: Top,
        key: K::Sought<'_>,
    ) -> Result<Spot<K::Fence>> {
        let (mut level, mut at) = (top.level(), top.body());
        // The child behind the path, at the lowest level at which there is one.
        let mut behind = None;
        loop {
            let body = self.bodies.get(at);
            let slot = self.rank(media, Narrow, (body, level), key);
            if slot + 1 < body.count() {
                behind = Some(((body, level), slot + 1));
            }
            if level == 2 {
                let low = self.low_of(media, (body, level), slot)?;
                let high = behind.map(|(body, slot)| self.low_of(media, body, slot)).transpose()?;
                let (cell, high) = (body.child(slot), high.unwrap_or_else(K::end));
                return Ok(Spot { top, cell, low, high });
            }
            at = body.child(slot);
            level -= 1;
        }
    }

    /// The leaf before the one that begins at `low`, which must not be the first of its partition.
    pub(crate) fn before<M: Media>(&self, media: &M, partition: usize, low: &K::Fence) -> u32 {
        self.way_before(media, partition, low).0
    }

    /// As [`before`](Self::before); returns also the offset of the leaf's block (`Body::leaf`).
    pub(crate) fn way_before<M: Media>(
        &self,
        media: &M,
        partition: usize,
        low: &K::Fence,
    ) -> (u32, u64) {
        self.descend_to_block(media, self.roots[partition].load(), K::below(low))
    }

    /// A new body of level `level`, of these children.
    pub(crate) fn new_body<M: Media>(
        &self,
        guard: &Guard<'_, M>,
        level: u32,
        children: &[Child],
    ) -> u32 {
        let number = self.bodies.take(guard.space().now());
        self.fill(guard.media(), (self.bodies.get(number), level), children);
        number
    }

    /// A new cell over a new body of these leaves.
    pub(crate) fn new_cell<M: Media>(&self, guard: &Guard<'_, M>, leaves: &[Child]) -> u32 {
        let body = self.new_body(guard, 1, leaves);
        let number = self.cells.take(guard.space().now());
        self.cells.get(number).set(Hold::of(body));
        number
    }
}
