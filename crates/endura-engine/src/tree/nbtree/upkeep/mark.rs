//! A walk over all blocks for a leak recovery, while other threads change the tree.
//!
//! # Why every block that stays is met, or marked by another thread
//!
//! A walk goes along the chain of one partition by `next`. Let X be a block that existed before the walk started and
//! that stays in the chain. The `next` of a block in the chain leads to the following block. A block that was replaced
//! keeps the `next` that it had when it was frozen, or leads to its replacement, whose chain continues with that
//! `next`. So no `next` leads beyond X. The walk has reached every block that it meets inside this pin, so that the
//! block is still intact.
//!
//! A later pin continues from the leaf that covers the `low` of the last block met. If the partition has no leaves yet,
//! no thread has changed it, and the walk continues at the block where it stopped.
//!
//! A replaced block may be retired much later than it is taken out of the chain, and by another thread. So it is marked
//! before any link leads past it: before S5 if it was replaced in this session, and otherwise when the leaves of the
//! partition are made. A block of the reserve may move to a part of the chain that the walk has passed. So it is marked
//! before it leaves the reserve.
//!
//! The walk flushes the words that it follows, because words that a killed process stored may not be durable.

use crate::Result;
use crate::media::{Media, Ordering, Region};
use crate::space::{Guard, LeakWalk, Seat};
use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::blocks::chunks::{RESERVE, reserve};
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::metadata::links::Top;
use crate::tree::nbtree::read::lookup::Fence;
use crate::tree::nbtree::tree::Tree;

/// The most blocks without new keys that the walk visits in one pin: the one at which it continues, and blocks that
/// replace one another ahead of it. Other threads may replace blocks any number of times.
const MOST_AGAIN: usize = 64;

/// A walk over the blocks of a partition.
struct Marking<M: Media, const W: usize, const FANOUT: usize, D: Design> {
    tree: Tree<M, W, FANOUT, D>,
    partition: usize,
    /// The block at which to continue.
    seat: Seat<u64>,
    /// The offset of this block. It is valid while the partition has no leaves, because no block is removed then.
    unchanged: Option<u64>,
    /// The `low` of the last block met.
    last: Option<Fence<D>>,
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// Walks that cover all blocks, for a [`LeakRecoverer`](crate::space::LeakRecoverer).
    pub fn marking(&self) -> Vec<Box<dyn LeakWalk<M>>> {
        let walk = |partition| {
            let tree = self.clone();
            Box::new(Marking {
                tree,
                partition,
                seat: Seat::default(),
                unchanged: None,
                last: None,
            }) as Box<dyn LeakWalk<M>>
        };
        (0..D::Keys::PARTITIONS).map(walk).collect()
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> LeakWalk<M>
    for Marking<M, W, FANOUT, D>
{
    fn step(
        &mut self,
        guard: &Guard<'_, M>,
        visit: &mut dyn FnMut(u64, u64) -> Result<()>,
        mut bite: usize,
    ) -> Result<bool> {
        if self.tree.open.map().is_dropped() {
            return Ok(true);
        }
        let media = guard.media();
        if self.last.is_none() && self.partition == 0 {
            let words = reserve(media, self.tree.open.map())?;
            words.flush(0, RESERVE);
            for at in (0..RESERVE).map(|i| words.load(i, Ordering::Acquire)) {
                if at != 0 {
                    visit(at, Block::<M, W, D::Keys>::BYTES)?;
                }
            }
        }
        let mut at = self.place(guard)?;
        let mut before: Option<(Fence<D>, bool)> = None;
        let mut again = MOST_AGAIN;
        while at != 0 {
            let block = Block::<M, W, D::Keys>::at(media, at)?;
            let fences = D::Keys::fences(media, at)?;
            let low = fences.low;
            let follows = before.as_ref().is_none_or(|(before, by_forward)| match by_forward {
                true => low == *before,
                false => low > *before,
            });
            if fences.partition != self.partition || !follows {
                return Err(block.corrupt("a block out of key order"));
            }
            visit(at, Block::<M, W, D::Keys>::BYTES)?;
            if let Some((beside, bytes)) = D::Keys::beside(media, at)? {
                visit(beside, bytes)?;
            }
            if media.needs_flush() {
                block.flush_next();
            }
            let next = block.next();
            let replaces = before.is_some_and(|(_, by_forward)| by_forward);
            if next.is_forward() && replaces && !self.has_leaves() {
                return Err(block.corrupt("a replaced block that leads to another"));
            }
            if next.is_forward() && next.at() == 0 {
                return Err(block.corrupt("a replaced block that leads nowhere"));
            }
            at = next.at();
            before = Some((low.clone(), next.is_forward()));
            if self.last.as_ref().is_none_or(|last| low > *last) {
                self.last = Some(low);
                bite = bite.saturating_sub(1);
            } else {
                again -= 1;
            }
            if (bite == 0 || again == 0) && at != 0 {
                (self.seat, self.unchanged) = (Seat::take(guard, at), Some(at));
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Marking<M, W, FANOUT, D> {
    /// Whether the partition has its leaves. Before the leaves are made, no thread changes the chain, and the chain has
    /// no two signposts in a row, because no earlier session leaves them. The thread that makes the leaves checks that.
    fn has_leaves(&self) -> bool {
        self.tree.meta.roots[self.partition].load() != Top::NONE
    }

    /// The block at which to continue.
    fn place(&self, guard: &Guard<'_, M>) -> Result<u64> {
        let Some(last) = &self.last else {
            let head = Region::new(guard.media(), self.tree.head(self.partition), 1)?;
            head.flush(0, 1);
            return Ok(head.load(0, Ordering::Acquire));
        };
        let meta = &self.tree.meta;
        if let Some(&at) = self.seat.within(guard) {
            return Ok(at);
        }
        match (self.unchanged, meta.roots[self.partition].load()) {
            (Some(at), Top::NONE) => Ok(at),
            (_, top) => {
                Ok(meta.leaves.get(meta.descend(guard.media(), top, D::Keys::at(last))).block())
            }
        }
    }
}
