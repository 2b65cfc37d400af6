//! Repair of the states that a crash can leave in a node, by the first writer that locks it. Readers do not need it:
//! they read every such state correctly.

use std::cmp::Ordering as Order;

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::{Counted, Guard};
use crate::tree::fast_fair::nodes::locked::Locked;
use crate::tree::fast_fair::nodes::node::SIB;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, DEAD, Link};
use crate::tree::fast_fair_bytes::nodes::shift::{Place, fast_delete};
use crate::tree::fast_fair_bytes::path::right::check_ahead;
use crate::tree::fast_fair_bytes::path::trail::{Separator, Trail};
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::KeyWord;

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// Completes or undoes the primitive that an earlier session left in a node, which is locked for the first time in
    /// this session. Counts the entries of a leaf, if the number of the map's entries is not known.
    pub(crate) fn repair<const W: usize>(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        locked: &mut Locked<'_, M, W>,
    ) -> Result<()> {
        let node = ByteNode::of(locked.node());
        if locked.was_interrupted() {
            // A killed process leaves its last stores in the cache: visible, not yet durable. Later changes rest on
            // them, and must not be durable without them.
            node.flush();
            guard.media().fence();
        }
        match node.link()? {
            // The entries of a node that was replaced are those of other nodes.
            Link::Replaced(_) => return Ok(()),
            Link::Splitting(new) => self.settle_split(guard, trail, &node, new)?,
            Link::Right(_) => {}
        }
        let count = drop_copies(guard, locked)?;
        if node.level() == 0 && self.open.map().counted() != Counted::All {
            self.open.map().add(count as i64);
        }
        Ok(())
    }

    /// Completes a split that was interrupted. But a split whose upper fence did not move is undone: readers have returned
    /// results from the old state, and the entry that was being inserted must not appear now (V11).
    fn settle_split<const W: usize>(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        node: &ByteNode<'_, M, W>,
        new: u64,
    ) -> Result<()> {
        guard.media().mark(Mark::Step("repair.splitting"));
        let other = ByteNode::<M, W>::enter(guard.media(), new, node.level())?;
        // A node that takes no part in the split is not given back: only after damage does a link with this tag lead to one.
        let stays = match node.word_of::<K>(&check_ahead(node, new)?)?.cmp(&node.high()) {
            Order::Equal => true,
            Order::Less => false,
            Order::Greater => {
                return Err(other.corrupt("a sibling that is neither new nor settled"));
            }
        };
        let next = if stays { new } else { other.link()?.at() };
        // The store is Relaxed, and not announced as a primitive: the new link leads to every key to which the old link
        // led.
        node.write(SIB, Link::Right(next).word());
        node.flush_header();
        // The link is durable before the other node can be retired, and before a separator for it can be posted.
        guard.media().fence();
        if stays {
            trail.missing = Some(Separator { child: new, level: node.level() + 1 });
        } else {
            self.open.map().note_retired();
            other.retire(guard)?;
        }
        Ok(())
    }
}

/// Removes the dead copy of an entry that was being moved, and gives the slots behind the used ones a word that no search
/// takes for that of an entry. Returns the number of entries.
fn drop_copies<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    locked: &mut Locked<'_, M, W>,
) -> Result<usize> {
    let node = ByteNode::of(locked.node());
    let (cap, limit) = (ByteNode::<M, W>::CAP, node.limit());
    let mut count = (0..cap).take_while(|&slot| node.is_used(slot)).count();
    if (count..cap).any(|slot| node.is_used(slot)) {
        return Err(node.corrupt("a used slot behind an empty one"));
    }
    let mut has_written = false;
    for slot in count..cap {
        // Its reference is 0: an insert, or a remove, was interrupted there.
        if node.peek_word(slot) < limit {
            // Relaxed: the slot leads nowhere, whatever its word is.
            node.write_word(slot, DEAD);
            // equivalent mutant, without: not seen: it takes leaves of two lines whose entries have equal words, a kill, a
            // repair, a remove and a power loss in a row.
            node.flush_slot_line(slot);
            has_written = true;
        }
    }
    if has_written {
        // Durable before a remove ends with a DEAD in front of these slots. If the old word came back behind that one, a
        // search that begins there, among equal words, would end at the DEAD and find none of them.
        // equivalent mutant, without: not seen: as above.
        guard.media().fence();
    }
    let mut slot = 0;
    while slot + 1 < count {
        if node.peek_reference(slot) == node.peek_reference(slot + 1) {
            guard.media().mark(Mark::Step("repair.copy"));
            fast_delete(guard, locked, Place { count, slot });
            count -= 1;
        } else {
            slot += 1;
        }
    }
    // A wrong hint costs time only: it is noticed, and the slots are counted instead.
    node.set_hint(count);
    Ok(count)
}
