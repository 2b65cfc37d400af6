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

/// Inserts `(key, value)` at `place.slot` by shifting the entries from there on to the right (FAST: section 3.3 of the
/// paper, algorithm 1).
///
/// I3 copies entries one slot to the right, last first; while an entry has two copies, the right one counts. I4 writes
/// the value, then the key: the key is the commit. Lines become durable from right to left, so that no entry is
/// overwritten before its copy is durable.
pub(crate) fn fast_insert<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    locked: &mut Locked<'_, M, W>,
    place: &KeySlot,
    key: u64,
    value: u64,
) {
    locked.begin(Primitive::Insert);
    let (node, media) = (*locked.node(), guard.media());
    // Asked once for all slots. If the medium ignores flushes, none is needed; if stores are durable without a flush,
    // none is needed between lines.
    let hears = media.hears_flushes();
    let flushes = hears && media.needs_flush();
    for slot in (place.slot..place.count).rev() {
        node.set_value(slot + 1, node.value(slot));
        node.set_key(slot + 1, node.key(slot));
        if flushes && (slot + 1) % PER_LINE == 0 {
            node.flush_slot(slot + 1);
            // Before the next store, which overwrites the entry just copied to another line.
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
    // Before the unlock: a reader that finds the node quiet does not flush.
    media.drain();
    // equivalent mutant, without: costs time only: a wrong hint is noticed, and the slots are counted instead.
    node.set_hint(place.count + 1);
}

/// Removes the entry at `place.slot` by shifting the entries to its right to the left (section 3.5 of the paper).
///
/// D2 is the commit: the key is overwritten with that of its right neighbour, and of two equal keys the right one
/// counts. D3 moves the others, value before key. A line is durable before the next line overwrites the entry that was
/// copied into it. (The published order flushes a line when its *first* entry is written, and never the last line: it
/// loses other keys, and completed deletes.)
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
            // Before the next store, after which the copy in this line is the one that counts.
            media.fence();
        }
        node.set_key(slot + 1, node.key_or_dead(slot + 2, dead));
        media.mark(Mark::Step("fast_delete.shift"));
    }
    if hears {
        node.flush_slot(last);
    }
    // Before the unlock, as in `fast_insert`.
    media.drain();
    // equivalent mutant, without: costs time only: a wrong hint is noticed, and the slots are counted instead.
    node.set_hint(last);
}
