//! FAST: a node is changed by 8-byte stores that shift its entries, while concurrent readers miss none.

use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::tree::fast_fair::nodes::lock_word::Primitive;
use crate::tree::fast_fair::nodes::locked::Locked;
use crate::tree::fast_fair::nodes::node::PER_LINE;

/// The slot of a key in a locked node, or the slot in which it would be inserted.
pub(crate) struct KeySlot {
    /// The number of live slots of the node.
    pub(crate) count: usize,
    /// The slot of the key, or the one in which it would be inserted.
    pub(crate) slot: usize,
    /// The value of the key, if the key is present.
    pub(crate) value: Option<u64>,
}

/// Inserts `(key, value)` at `place.slot`. The entries from this slot on are shifted to the right (FAST: section 3.3 of
/// the paper, algorithm 1).
///
/// Step I3 copies entries one slot to the right, the last entry first. While an entry has two copies, the right one
/// counts. Step I4 writes the value, then the key: the key is the commit. Lines become durable from right to left, so
/// that no entry is overwritten before its copy is durable.
pub(crate) fn fast_insert<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    locked: &mut Locked<'_, M, W>,
    place: &KeySlot,
    key: u64,
    value: u64,
) {
    locked.begin(Primitive::Insert);
    let (node, media) = (*locked.node(), guard.media());
    // The medium is asked once for all slots. If it ignores flushes, no flush is needed. If its stores are durable
    // without a flush, no flush is needed between lines.
    let hears = media.hears_flushes();
    let flushes = hears && media.needs_flush();
    for slot in (place.slot..place.count).rev() {
        node.set_value(slot + 1, node.value(slot));
        node.set_key(slot + 1, node.key(slot));
        if flushes && (slot + 1) % PER_LINE == 0 {
            node.flush_slot(slot + 1);
            // The fence is before the next store, which overwrites the entry just copied to another line.
            media.fence();
        }
        media.mark(Mark::Step("fast_insert.shift"));
    }
    node.set_value(place.slot, value);
    node.set_key(place.slot, key);
    media.mark(Mark::Step("fast_insert.commit"));
    if hears {
        node.flush_slot(place.slot);
    }
    // The drain is before the unlock: a reader that finds the node quiet does not flush.
    media.drain();
    // equivalent mutant, without: costs time only: a wrong hint is noticed, and the slots are counted instead.
    node.set_hint(place.count + 1);
}

/// Removes the entry at `place.slot`. The entries after this slot are shifted to the left (section 3.5 of the paper).
///
/// Step D2 is the commit: the key is overwritten with that of its right neighbour, and of two equal keys the right one
/// counts. Step D3 moves the other entries, value before key. An entry that moves to another line is overwritten only
/// when the line with its copy is durable. (The order in the paper flushes a line when its *first* entry is written,
/// and never flushes the last line: that order loses other keys, and completed deletes.)
pub(crate) fn fast_delete<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    locked: &mut Locked<'_, M, W>,
    place: &KeySlot,
) {
    // equivalent mutant, relaxed: not seen: one function begins all primitives, and the insert after a split
    // needs its order.
    locked.begin(Primitive::Delete);
    let (node, media) = (*locked.node(), guard.media());
    let hears = media.hears_flushes();
    let flushes = hears && media.needs_flush();
    let dead = node.fences().dead();
    let last = place.count - 1;
    node.set_key(place.slot, node.key_or_dead(place.slot + 1, dead));
    media.mark(Mark::Step("fast_delete.commit"));
    for slot in place.slot..last {
        node.set_value(slot, node.value(slot + 1));
        if flushes && (slot + 1) % PER_LINE == 0 {
            node.flush_slot(slot);
            // The fence is before the next store, after which the copy in this line is the one that counts.
            media.fence();
        }
        node.set_key(slot + 1, node.key_or_dead(slot + 2, dead));
        media.mark(Mark::Step("fast_delete.shift"));
    }
    if hears {
        node.flush_slot(last);
    }
    // The drain is before the unlock, as in `fast_insert`.
    media.drain();
    // equivalent mutant, without: costs time only: a wrong hint is noticed, and the slots are counted instead.
    node.set_hint(last);
}
