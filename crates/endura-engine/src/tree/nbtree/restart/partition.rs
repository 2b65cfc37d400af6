//! Restart: rebuilding the parts of the metadata layer that are needed.
//!
//! Opening a pool rebuilds nothing. The first operation on a partition walks along its chain of blocks, reads one line
//! of each, and makes the leaves and the inner nodes; it does not touch the other partitions. The keys of a block are
//! read when a thread first uses its leaf ([`read_block`](Tree::read_block)). Nothing is written to the pool, and no
//! pin lasts for the whole rebuild.
//!
//! A block that is a signpost (`next` is FORWARD) was replaced. It still gets a leaf, as the origin of the leaf of its
//! replacement, so that a later change completes the interrupted one. A block that is frozen and not a signpost is in
//! use: the first thread that has to write to it copies it.

use crate::Result;
use crate::media::{Media, Ordering};
use crate::space::Guard;

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::keys::form::Extent;
use crate::tree::nbtree::metadata::body::Child;
use crate::tree::nbtree::metadata::control::Phase;
use crate::tree::nbtree::metadata::leaf::Birth;
use crate::tree::nbtree::metadata::links::Top;
use crate::tree::nbtree::restart::chain::{Chain, ChainBlock};
use crate::tree::nbtree::tree::Tree;

/// The most blocks read, or leaves made, in one pin.
const BITE: usize = 64;

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// Makes the leaves and inner nodes of a partition, unless another thread has made them.
    ///
    /// Called outside of pins: it may take long, and takes one pin after the other. No thread changes the partition
    /// before its index is made, so that blocks read in one pin exist in the next, unless the map is dropped.
    #[cold]
    #[inline(never)]
    pub(crate) fn restart(&self, partition: usize) -> Result<Top> {
        // This pin fails in the child of a fork. The child must not wait for a lock, whose holder may not exist in the
        // child.
        drop(self.open.pin()?);
        let _alone = self.meta.restarting[partition].lock();
        let top = self.meta.roots[partition].load();
        if top != Top::NONE {
            return Ok(top);
        }
        let mut chain = Chain::begin(&self.open.pin()?, self.head(partition), partition)?;
        while !chain.step::<M, W, D::Keys>(&self.open.pin()?, BITE)? {}
        let mut leaves = Vec::with_capacity(chain.found.len());
        let mut extents = chain.extents::<D::Keys>();
        while leaves.len() < chain.found.len() {
            let guard = self.open.pin()?;
            for (block, extent) in extents.by_ref().take(BITE) {
                let number = self.found_leaf(&guard, block, extent)?;
                leaves.push(Child::leaf(extent.low(), number, block.at));
            }
        }
        self.meta.blocks_found.fetch_add(leaves.len() as u64, Ordering::Relaxed);
        let cell = |part: &[Child]| {
            Ok(Child::inner(part[0].low, self.meta.new_cell(&self.open.pin()?, part)))
        };
        let mut children = self.meta.divided(&leaves).map(cell).collect::<Result<Vec<Child>>>()?;
        let mut level = 2;
        while children.len() > self.meta.fanout {
            let body = |part: &[Child]| {
                Ok(Child::inner(part[0].low, self.meta.new_body(&self.open.pin()?, level, part)))
            };
            children = self.meta.divided(&children).map(body).collect::<Result<Vec<Child>>>()?;
            level += 1;
        }
        let top = Top::new(level, self.meta.new_body(&self.open.pin()?, level, &children));
        // No other thread changes the root word, so that the exchange cannot fail.
        self.meta.roots[partition].exchange(Top::NONE, top);
        Ok(top)
    }

    /// The leaf of a block of an earlier session.
    fn found_leaf(&self, guard: &Guard<'_, M>, block: &ChainBlock, extent: Extent) -> Result<u32> {
        let leaves = &self.meta.leaves;
        let number = leaves.take(guard.space().now());
        let mut birth = Birth { extent, block: block.at, origin: 0, absorbed: 0, twin: 0 };
        if block.signpost != 0 {
            // The signpost is marked as in use before any link leads past it, as in S5.
            Block::<M, W, D::Keys>::keep(guard, block.signpost)?;
            birth.origin = leaves.take(guard.space().now());
            let origin = leaves.get(birth.origin);
            origin.begin(Birth { block: block.signpost, origin: 0, ..birth });
            let control = origin.control();
            origin.exchange_control(control, control.closing(Phase::Splitting));
            origin.set_committed();
            origin.replace_by(number);
        }
        leaves.get(number).begin(birth);
        Ok(number)
    }
}
