//! FAST: a node is changed by 8-byte stores that shift its slots, while concurrent readers miss none.
//!
//! The reference commits, as the pointer does in the paper (section 3.1), because different keys can have equal words. Of
//! two neighbours with the same reference, the right one counts, if it is used.

use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::tree::fast_fair::nodes::lock_word::Primitive;
use crate::tree::fast_fair::nodes::locked::Locked;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, DEAD, PER_LINE};

/// A slot of a locked node that has `count` used slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) count: usize,
    pub(crate) slot: usize,
}

/// Inserts an entry at `place.slot`. The entries from this slot on are shifted to the right.
///
/// Step I3 copies entries one slot to the right, the last entry first, and of each the word before the reference: until
/// the reference is copied, the slot leads to the entry that was there, or nowhere. (A reference that an earlier change
/// left behind the last used slot is emptied first: its record may be gone, and the word that follows would bring it to
/// life.) Step I4 writes the word, then the reference: that is the commit. Lines become durable from right to left, so that
/// no entry is overwritten before its copy is durable.
pub(crate) fn fast_insert<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    locked: &mut Locked<'_, M, W>,
    place: Place,
    word: u64,
    reference: u64,
) {
    locked.begin(Primitive::Insert);
    let (node, media) = (ByteNode::of(locked.node()), guard.media());
    // The medium is asked once for all slots, as in the tree of numbers.
    let hears = media.hears_flushes();
    let flushes = hears && media.needs_flush();
    if node.peek_reference(place.count) != 0 {
        // Relaxed: the word that is stored next is Release, and in the same line.
        node.write_reference(place.count, 0);
        media.mark(Mark::Step("fast_insert.empty"));
    }
    for slot in (place.slot..place.count).rev() {
        node.set_word(slot + 1, node.peek_word(slot));
        node.set_reference(slot + 1, node.peek_reference(slot));
        if flushes && (slot + 1) % PER_LINE == 0 {
            node.flush_slot_line(slot + 1);
            // The fence is before the next store, which overwrites the entry just copied to another line.
            media.fence();
        }
        media.mark(Mark::Step("fast_insert.shift"));
    }
    node.set_word(place.slot, word);
    node.set_reference(place.slot, reference);
    media.mark(Mark::Step("fast_insert.commit"));
    if hears {
        node.flush_slot_line(place.slot);
    }
    // The drain is before the unlock: a reader that finds the node quiet does not flush.
    media.drain();
    // A wrong hint costs time only: it is noticed, and the slots are counted instead.
    node.set_hint(place.count + 1);
}

/// Removes the entry at `place.slot`. The entries behind it are shifted to the left.
///
/// Step D2 is the commit: the reference is overwritten with that of the right neighbour, or with 0. Step D3 moves the
/// other entries, word before reference. An entry that moves to another line is overwritten only when the line with its
/// copy is durable. Step D4 gives the slot that became free the word DEAD, so that words ascend again for every search.
pub(crate) fn fast_delete<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    locked: &mut Locked<'_, M, W>,
    place: Place,
) {
    locked.begin(Primitive::Delete);
    let (node, media) = (ByteNode::of(locked.node()), guard.media());
    let hears = media.hears_flushes();
    let flushes = hears && media.needs_flush();
    let last = place.count - 1;
    let reference = |slot: usize| if slot <= last { node.peek_reference(slot) } else { 0 };
    node.set_reference(place.slot, reference(place.slot + 1));
    media.mark(Mark::Step("fast_delete.commit"));
    for slot in place.slot..last {
        node.set_word(slot, node.peek_word(slot + 1));
        if flushes && (slot + 1) % PER_LINE == 0 {
            node.flush_slot_line(slot);
            // The fence is before the next store, after which the copy in this line is the one that counts.
            media.fence();
        }
        node.set_reference(slot + 1, reference(slot + 2));
        media.mark(Mark::Step("fast_delete.shift"));
    }
    node.set_word(last, DEAD);
    if hears {
        node.flush_slot_line(last);
    }
    // The drain is before the unlock, as in `fast_insert`.
    media.drain();
    // A wrong hint costs time only: it is noticed, and the slots are counted instead.
    node.set_hint(last);
}

/// Replaces one reference, by one store.
pub(crate) fn fast_update<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    locked: &mut Locked<'_, M, W>,
    slot: usize,
    reference: u64,
) {
    locked.begin(Primitive::Update);
    let node = ByteNode::of(locked.node());
    node.set_reference(slot, reference);
    node.flush_slot_line(slot);
    // The drain is before the unlock, as in `fast_insert`.
    guard.media().drain();
}
