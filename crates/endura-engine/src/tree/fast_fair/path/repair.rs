//! Repair of the states that a crash can leave in a node, by the first writer that locks it. Readers do not need it:
//! they read every such state correctly.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::tree::fast_fair::nodes::header::{Sibling, Tag};
use crate::tree::fast_fair::nodes::locked::Locked;
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::Search;
use crate::tree::fast_fair::nodes::shift::{KeySlot, fast_delete};
use crate::tree::fast_fair::path::trail::Separator;
use crate::tree::fast_fair::path::trail::Trail;
use crate::tree::fast_fair::tree::Tree;

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Completes or undoes the primitive that an earlier session left in a node, which is locked for the first time in
    /// this session.
    pub(crate) fn repair<const W: usize>(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        locked: &mut Locked<'_, M, W>,
    ) -> Result<()> {
        if locked.was_interrupted() {
            // A killed process leaves its last stores in the cache: visible, not yet durable. Later changes rest on
            // them, and must not be durable without them.
            locked.node().flush();
            guard.media().fence();
        }
        self.settle_sibling(guard, trail, locked)?;
        self.drop_duplicates(guard, locked);
        Ok(())
    }

    /// Completes a split or a merge that was interrupted. But a split whose upper fence did not move is undone: readers
    /// have returned results from the old state, and the entry that was being inserted must not appear now (V11).
    fn settle_sibling<const W: usize>(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        locked: &Locked<'_, M, W>,
    ) -> Result<()> {
        let node = *locked.node();
        let sibling = node.sibling()?;
        if sibling.tag == Tag::Normal {
            return Ok(());
        }
        let other = Node::<M, W>::enter(guard.media(), sibling.at, node.level())?;
        let high = node.high();
        // Whether the other node owns the keys from `high` on. Otherwise the other node owns no keys, and the new link
        // passes over it.
        let stays = match sibling.tag {
            Tag::Splitting => high == other.low(),
            _ => high != other.high(),
        };
        let step =
            if sibling.tag == Tag::Splitting { "repair.splitting" } else { "repair.merging" };
        guard.media().mark(Mark::Step(step));
        let next = if stays { sibling.at } else { other.sibling()?.at };
        // The store is Relaxed, and not announced as a primitive: the new link leads to every key to which the old link
        // led.
        node.write_sibling(Sibling::normal(next));
        node.flush_header();
        // The link is durable before the other node can be retired, and before a separator for it can be posted.
        guard.media().fence();
        if stays {
            trail.missing =
                Some(Separator { key: high, child: sibling.at, level: node.level() + 1 });
        } else {
            self.open.map().note_retired();
            guard.retire(sibling.at, Node::<M, W>::BYTES);
        }
        Ok(())
    }

    /// Removes the dead copy of an entry that was being moved.
    fn drop_duplicates<const W: usize>(&self, guard: &Guard<'_, M>, locked: &mut Locked<'_, M, W>) {
        let node = *locked.node();
        let mut slot = 0;
        let mut count = self.live(&node);
        while slot + 1 < count {
            if node.key(slot) == node.key(slot + 1) {
                guard.media().mark(Mark::Step("repair.duplicate"));
                fast_delete(guard, locked, &KeySlot { count, slot, value: None });
                count -= 1;
            } else {
                slot += 1;
            }
        }
    }
}
