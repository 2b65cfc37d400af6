//! The second half of a structure modification (SMO): its commit, and the removal of the old leaf.
//!
//! | step | what | from here on |
//! | --- | --- | --- |
//! | S5 | the old block's `next` becomes the link to the new blocks; durable | the change is committed, also for a crash |
//! | S6 | the inner nodes lead to the new leaves | no new search finds the old leaf; writers use the new ones; the block of an absorbed leaf is retired, because nothing has led to it since S5 |
//! | S7 | the block before the old block, or the head of the chain, leads to the first new block; durable | the old block is out of the chain |
//! | S8 | the new leaves forget the old leaf; the old leaf and its block are retired | |
//!
//! In the published tree, and in many like it, one store in the *preceding* block commits the change. Then two
//! neighbours that change at the same time depend on each other: the right one links its new block into a block that is
//! being replaced, or that is not linked itself yet, and an acknowledged write is lost. In this tree the old block
//! becomes a *signpost* to the new ones: S5 stores only into the old block, and S7 only makes its space reusable.
//!
//! A change of a leaf begins (S0) only when the change that made the leaf has ended (S8). So no signpost leads to
//! another signpost, and no step of an old change can undo one of a later change: a thread that was stopped in the
//! middle finds each remaining step done, because its comparison fails.

use crate::Result;
use crate::media::{Mark, Media, Region};
use crate::space::Guard;

use crate::tree::nbtree::blocks::block::{Block, Next};
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::metadata::body::Child;
use crate::tree::nbtree::metadata::reroute::Exchange;
use crate::tree::nbtree::read::lookup::Fence;
use crate::tree::nbtree::tree::Tree;

/// A part of an SMO, for the leaf with this number; [`smo`](crate::tree::nbtree::write::smo) runs them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Task {
    /// S0 to S8.
    Change(u32),
    /// S0 to S6.
    Advance(u32),
    /// S7 and S8, for a leaf that was replaced and linked.
    Detach(u32),
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// S5 and S6.
    pub(crate) fn link(&self, guard: &Guard<'_, M>, partition: usize, replaced: u32) -> Result<()> {
        let leaves = &self.meta.leaves;
        let (old, number) = (leaves.get(replaced), leaves.get(replaced).successor());
        let first = leaves.get(number);
        let absorbed = first.absorbed();
        if absorbed != 0 {
            // The successor is set before any thread writes to the new leaf: readers of the absorbed leaf must go
            // there.
            leaves.get(absorbed).replace_by(number);
        }
        if !old.is_committed() {
            // The old blocks are marked as in use before any link leads past them, because another thread may retire
            // them, much later.
            Block::<M, W, D::Keys>::keep(guard, old.block())?;
            if absorbed != 0 {
                Block::<M, W, D::Keys>::keep(guard, leaves.get(absorbed).block())?;
            }
            let block = Block::<M, W, D::Keys>::at(guard.media(), old.block())?;
            let forward = Next::forward(first.block());
            loop {
                let next = block.next();
                if next.is_forward() || block.exchange_next(next, forward) {
                    break;
                }
            }
            guard.media().mark(Mark::Step("settle.S5"));
            block.flush_next();
            // The fence is before a write that only the new blocks hold is acknowledged.
            guard.media().fence();
            old.set_committed();
        }
        // Once the block of the absorbed leaf is retired, S6 is done. A later pin does not protect that block, and must not
        // read its fences.
        if first.origin() != replaced || old.is_settled() {
            return Ok(());
        }
        let twin = first.twin();
        let child = |number| {
            let leaf = leaves.get(number);
            Child::leaf(leaf.extent().low(), number, leaf.block())
        };
        let low = |number| {
            let leaf = leaves.get(number);
            D::Keys::low(guard.media(), leaf.extent(), leaf.block())
        };
        let new = [child(number), child(twin)];
        let old_low = low(replaced)?;
        let absorbed_low = if absorbed != 0 { Some(low(absorbed)?) } else { None };
        let exchange = Exchange {
            partition,
            old: (child(replaced), &old_low),
            absorbed: absorbed_low.as_ref().map(|low| (child(absorbed), low)),
            new: if twin == 0 { &new[..1] } else { &new },
        };
        self.meta.reroute(guard, exchange)?;
        guard.media().mark(Mark::Step("settle.S6"));
        if absorbed != 0 && old.claim_absorbed() {
            // This block is not retired together with the old block in S8: S7 may have to wait for free space, and the
            // next session would not know of this block.
            self.open.map().note_retired();
            Block::<M, W, D::Keys>::retire(guard, leaves.get(absorbed).block())?;
        }
        Ok(())
    }

    /// S7 and S8. If another leaf has to be replaced first, does nothing and returns that leaf.
    pub(crate) fn detach(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        replaced: u32,
    ) -> Result<Option<u32>> {
        let leaves = &self.meta.leaves;
        let old = leaves.get(replaced);
        let first = leaves.get(old.successor());
        if first.origin() != replaced {
            return Ok(None);
        }
        let bypass = Bypass { from: old.block(), to: first.block() };
        let low = D::Keys::low(guard.media(), old.extent(), old.block())?;
        let frozen = self.unlink(guard, partition, &low, bypass)?;
        if frozen.is_some() {
            return Ok(frozen);
        }
        guard.media().mark(Mark::Step("settle.S7"));
        let twin = first.twin();
        if twin != 0 {
            leaves.get(twin).leave(replaced);
        }
        let absorbed = first.absorbed();
        if first.leave(replaced) {
            guard.media().mark(Mark::Step("settle.S8"));
            // The retirement is noted before the tag is read: a thread that misses this note is inside a pin that keeps
            // the leaf's number from being reused.
            self.open.map().note_retired();
            let (tag, now) = (guard.space().tag(), guard.space().now());
            for number in [replaced, absorbed].into_iter().filter(|&number| number != 0) {
                leaves.retire(tag, now, number);
            }
            Block::<M, W, D::Keys>::retire(guard, old.block())?;
        }
        Ok(None)
    }

    /// S7: takes the block at `bypass.from`, which covers keys from `low` on, out of the chain. Returns the preceding
    /// leaf if its block is frozen and leads to the removed block: a copy of the preceding block gets the same `next`,
    /// so that this copy has to be made first.
    fn unlink(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        low: &Fence<D>,
        bypass: Bypass,
    ) -> Result<Option<u32>> {
        if *low == D::Keys::first() {
            let head = Region::new(guard.media(), self.head(partition), 1)?;
            // If the exchange fails, another thread has made it. Every thread makes the head durable before the thread
            // continues.
            let _ = head.compare_exchange(0, bypass.from, bypass.to);
            head.flush(0, 1);
            guard.media().fence();
            return Ok(None);
        }
        loop {
            let number = self.meta.before(guard.media(), partition, low);
            let leaf = self.meta.leaves.get(number);
            if leaf.successor() != 0 {
                if let Some(replaced) = self.replaced_with(number) {
                    self.link(guard, partition, replaced)?;
                }
                continue;
            }
            let block = Block::<M, W, D::Keys>::at(guard.media(), leaf.block())?;
            let next = block.next();
            if next.is_forward() {
                // The leaf has been replaced in the meantime.
                continue;
            }
            if next.at() == bypass.from {
                if next.is_frozen() {
                    return Ok(Some(number));
                }
                guard.media().mark(Mark::Step("settle.unlink"));
                if !block.exchange_next(next, Next(bypass.to)) {
                    continue;
                }
            }
            // The unlink, by this thread or another, must be durable before the old block can be reused.
            block.flush_next();
            guard.media().fence();
            return Ok(None);
        }
    }

    /// The leaf whose change replaced leaf `number`: that leaf itself, or the leaf that absorbed it. `None` if the
    /// change has ended; the caller's next look then finds its result. (An absorbed leaf must not be taken for the
    /// replaced leaf: the block of an absorbed leaf is not a signpost, because it covers other keys than the new
    /// block.)
    fn replaced_with(&self, number: u32) -> Option<u32> {
        let first = self.meta.leaves.get(self.meta.leaves.get(number).successor());
        Some(first.origin()).filter(|&origin| origin != 0)
    }
}

/// A block that is removed, and the link that replaces it.
#[derive(Debug, Clone, Copy)]
struct Bypass {
    from: u64,
    to: u64,
}
