//! All references of a node, as they are at one moment.

use crate::Result;
use crate::media::Media;
use crate::tree::fast_fair::nodes::lock_word::Direction;
use crate::tree::fast_fair_bytes::nodes::node::ByteNode;
use crate::tree::fast_fair_bytes::nodes::search::used;

/// Passes the references of the live slots of a node from slot `from` on to `each`, in order. The node is quiet, or locked
/// by the caller; what was passed counts if its version is confirmed afterwards.
#[inline(always)]
pub(crate) fn each_live<M: Media, const W: usize>(
    node: &ByteNode<'_, M, W>,
    from: usize,
    mut each: impl FnMut(u64),
) {
    let (cap, limit) = (ByteNode::<M, W>::CAP, node.limit());
    let mut last = 0;
    for slot in from..cap {
        let (word, reference) = (node.peek_word(slot), node.peek_reference(slot));
        if word >= limit || reference == 0 {
            break;
        }
        // Of two copies of an entry, the one on the right counts. They are equal.
        if reference != last {
            each(reference);
        }
        last = reference;
    }
}

/// The references of a locked node that was repaired: all its used slots are live.
pub(crate) fn references<M: Media, const W: usize>(node: &ByteNode<'_, M, W>) -> Result<Vec<u64>> {
    let mut all = Vec::with_capacity(ByteNode::<M, W>::CAP + 1);
    each_live(node, 0, |reference| all.push(reference));
    match all.len() == used(node) {
        true => Ok(all),
        false => Err(node.corrupt("an empty slot among used ones")),
    }
}

/// The references of the live slots of a node in which entries may be moving, in order. The scan moves in the direction
/// of the entries, so that it meets each of them at its old or its new place. What it returns counts if `high` and the
/// version of the node are confirmed afterwards.
#[cold]
pub(crate) fn references_while_moving<M: Media, const W: usize>(
    node: &ByteNode<'_, M, W>,
    high: u64,
    direction: Direction,
) -> Vec<u64> {
    // The word is loaded before the reference, as in a search.
    let look = |slot: usize| match node.word(slot) < high {
        true => Some(node.reference(slot)).filter(|&reference| reference != 0),
        false => None,
    };
    let slots = 0..ByteNode::<M, W>::CAP;
    let mut all: Vec<u64> = match direction {
        Direction::Right => slots.filter_map(look).collect(),
        Direction::Left => {
            let mut all: Vec<u64> = slots.rev().filter_map(look).collect();
            all.reverse();
            all
        }
    };
    all.dedup();
    all
}

/// Whether an entry of a node has two copies, or a dead slot may lie among those that a search takes for used: after a
/// crash, until a writer locks the node.
pub(crate) fn has_copies<M: Media, const W: usize>(node: &ByteNode<'_, M, W>) -> bool {
    let (cap, limit) = (ByteNode::<M, W>::CAP, node.limit());
    let is_in_range = |slot: usize| slot < cap && node.peek_word(slot) < limit;
    (0..cap).take_while(|&slot| is_in_range(slot)).any(|slot| {
        let reference = node.peek_reference(slot);
        reference == 0 || is_in_range(slot + 1) && node.peek_reference(slot + 1) == reference
    })
}
