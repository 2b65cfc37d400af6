//! Writes to one leaf: look the key up under the lock, then change one entry.

use crate::media::{Mark, Media};
use crate::pool::Guard;

use super::Tree;
use super::merge::sparse;
use super::node::Node;
use super::route::Trail;
use super::search::{Search, rank};
use super::version::{Kind, Locked};
use crate::tree::Change;
use crate::{Error, Result};

/// Where a key stands in a locked node, or where it would.
pub(super) struct Place {
    /// Live slots of the node.
    pub(super) count: usize,
    /// Its slot.
    pub(super) slot: usize,
    /// Its value, if it is there.
    pub(super) value: Option<u64>,
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Applies what `decide` makes of the present value of `key`, and returns that value.
    ///
    /// The lookup happens under the lock of the leaf, so a present key is never entered twice. `None`
    /// says that this is a child of a fork by now: nothing is stored any more, and the lock is the parent's.
    pub(super) fn write(
        &self,
        key: u64,
        decide: impl FnOnce(Option<u64>) -> Option<Change>,
    ) -> Result<Option<u64>> {
        let guard = self.pin_mut()?;
        guard.media().mark(Mark::Begin);
        let mut trail = Trail::default();
        let at = self.descend_to_leaf(&guard, &mut trail, key)?;
        let mut leaf = self.lock_leaf(&guard, &mut trail, at, key)?;
        let place = self.place(leaf.node(), key)?;
        let Some(change) = decide(place.value) else {
            leaf.leave_to_parent();
            return Err(Error::Forked);
        };
        let (mut split, mut is_sparse) = (None, false);
        match (change, place.value) {
            (Change::Keep, _) | (Change::Remove, None) => {}
            (Change::Put(value), Some(_)) => self.update(&guard, &mut leaf, place.slot, value),
            (Change::Put(value), None) => {
                if place.count < Node::<M, LEAF>::CAP {
                    fast_insert(&guard, &mut leaf, &place, key, value);
                } else {
                    split = Some(self.fair_split(&guard, &mut leaf, &place, key, value)?);
                }
                self.count(key, 1);
            }
            (Change::Remove, Some(_)) => {
                fast_delete(&guard, &mut leaf, &place);
                is_sparse = place.count - 1 < sparse::<M, LEAF>();
                self.count(key, -1);
            }
        }
        drop(leaf);
        // The operation is done and durable. What follows only improves the shape of the tree: if
        // it fails, the next writer that comes by does it.
        for separator in [split, trail.missing].into_iter().flatten() {
            let _ = self.post(&guard, separator);
        }
        if is_sparse {
            let _ = self.fair_merge(&guard, key, 0);
        }
        guard.media().mark(Mark::Acknowledged);
        Ok(place.value)
    }

    /// Locks the leaf that covers `key`; it is the one at `at` or not far from it.
    #[inline]
    pub(super) fn lock_leaf<'g>(
        &self,
        guard: &'g Guard<'g, M>,
        trail: &mut Trail,
        at: u64,
        key: u64,
    ) -> Result<Locked<'g, M, LEAF>> {
        self.lock_covering(guard, trail, at, 0, key)?.ok_or_else(|| self.no_leaf())
    }

    /// Looks `key` up in a node whose lock is held.
    #[inline]
    pub(super) fn place<const W: usize>(&self, node: &Node<'_, M, W>, key: u64) -> Result<Place> {
        let fences = node.fences();
        let rank = rank::<S, _, _>(node, fences, key);
        let present = rank > 0 && node.key(rank - 1) == key;
        let slot = rank - usize::from(present);
        let count = self.live(node);
        if rank > count {
            return Err(node.corrupt("keys out of order"));
        }
        Ok(Place { count, slot, value: present.then(|| node.value(slot)) })
    }

    /// How many slots of a locked node are live. The hint spares the search where it is right.
    #[inline]
    pub(super) fn live<const W: usize>(&self, node: &Node<'_, M, W>) -> usize {
        let (fences, hint) = (node.fences(), node.hint());
        let width = fences.last().wrapping_sub(fences.low);
        let is_live = |slot: usize| node.key(slot).wrapping_sub(fences.low) <= width;
        let cap = Node::<M, W>::CAP;
        let fits =
            hint <= cap && (hint == 0 || is_live(hint - 1)) && (hint == cap || !is_live(hint));
        if fits { hint } else { rank::<S, _, _>(node, fences, fences.last()) }
    }

    /// Replaces one value: one store, one line.
    fn update(
        &self,
        guard: &Guard<'_, M>,
        leaf: &mut Locked<'_, M, LEAF>,
        slot: usize,
        value: u64,
    ) {
        leaf.begin(Kind::Update);
        leaf.node().set_value(slot, value);
        leaf.node().flush_slot(slot);
        // Before the unlock: a reader that finds the leaf quiet does not flush.
        guard.media().drain();
    }
}

/// Enters `(key, value)` at `place.slot` by shifting what is right of it (FAST, section 3.1).
///
/// I3 copies entries one to the right, last first; while an entry stands twice, the right copy
/// counts. I4 writes value, then key: the key is the commit. Lines become durable from the right
/// to the left, so that no entry is overwritten before its copy is safe.
pub(super) fn fast_insert<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    locked: &mut Locked<'_, M, W>,
    place: &Place,
    key: u64,
    value: u64,
) {
    locked.begin(Kind::Insert);
    let (node, media) = (*locked.node(), guard.media());
    // Asked once: where stores are durable in their order, nothing has to be done between lines.
    let flushes = media.needs_flush();
    for slot in (place.slot..place.count).rev() {
        node.set_value(slot + 1, node.value(slot));
        node.set_key(slot + 1, node.key(slot));
        if flushes && (slot + 1) % super::node::PER_LINE == 0 {
            node.flush_slot(slot + 1);
            // Before the next store, which overwrites the entry just copied to another line.
            media.fence();
        }
        media.mark(Mark::Step("fast_insert.shift"));
    }
    node.set_value(place.slot, value);
    node.set_key(place.slot, key);
    media.mark(Mark::Step("fast_insert.commit"));
    node.flush_slot(place.slot);
    // Before the unlock: a reader that finds the node quiet does not flush.
    media.drain();
    // equivalent mutant, without: costs time only: a hint is checked before it is used, and else slots are counted.
    node.set_hint(place.count + 1);
}

/// Takes out the entry at `place.slot` by shifting what is right of it to the left.
///
/// D2 is the commit: the key becomes its right neighbour's, and of two equal keys the right one
/// counts. D3 moves the others, value before key; a line is durable before the next one gives up
/// the entry that was copied into it. (The published order flushes a line when its *first* entry
/// is written and never the last line: it loses other keys, and completed deletes.)
pub(super) fn fast_delete<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    locked: &mut Locked<'_, M, W>,
    place: &Place,
) {
    // equivalent mutant, relaxed: not seen: one function begins all primitives, and the insert after a split
    // needs its order.
    locked.begin(Kind::Delete);
    let (node, media) = (*locked.node(), guard.media());
    let flushes = media.needs_flush();
    let dead = node.fences().dead();
    let last = place.count - 1;
    node.set_key(place.slot, node.key_or_dead(place.slot + 1, dead));
    media.mark(Mark::Step("fast_delete.commit"));
    for slot in place.slot..last {
        node.set_value(slot, node.value(slot + 1));
        if flushes && (slot + 1) % super::node::PER_LINE == 0 {
            node.flush_slot(slot);
            // Before the next store, by which the copy in this line becomes the one that counts.
            media.fence();
        }
        node.set_key(slot + 1, node.key_or_dead(slot + 2, dead));
        media.mark(Mark::Step("fast_delete.shift"));
    }
    node.flush_slot(last);
    // Before the unlock, as in `fast_insert`.
    media.drain();
    // equivalent mutant, without: costs time only: a hint is checked before it is used, and else slots are counted.
    node.set_hint(last);
}
