//! Merges: the entries of a sparse leaf and of its right neighbour are copied into one block.
//!
//! | step | what |
//! | --- | --- |
//! | M0 | the changes that made the two leaves have ended, both leaves are open, and together they have few entries |
//! | M1 | the left leaf: OPEN to MERGING(right) |
//! | M2 | the right leaf: OPEN to CAPTURED(left), by any thread; if another change has closed the right leaf meanwhile, the left leaf is copied alone (SPLITTING) |
//! | S1.. | as for one leaf, with the entries of both; S5 replaces the left block, and thereby also takes the right block out of the chain |
//!
//! One exchange of the right leaf's control word decides M2 for ever. The left leaf refers to the right leaf by number
//! and *stamp*. If the right leaf is retired and its memory becomes another leaf while a thread is still about to
//! capture the right leaf, the stamp differs.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::metadata::control::Phase;
use crate::tree::nbtree::read::lookup::{CurrentLeaf, Fence, Sought};
use crate::tree::nbtree::tree::Tree;

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// Merges the leaf of `key` with a neighbour, and repeats this as long as a neighbour is suitable: when the leaf
    /// became sparse, its neighbours may have been full.
    #[cold]
    pub(crate) fn try_merge(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        key: Sought<'_, D>,
    ) -> Result<()> {
        let (meta, media) = (&self.meta, guard.media());
        loop {
            let top = self.top(partition)?;
            let number = meta.descend(media, top, key);
            let [low, high] = self.fences(guard, number)?;
            let right =
                (high < D::Keys::end()).then(|| meta.descend(media, top, D::Keys::at(&high)));
            let left = (low > D::Keys::first()).then(|| meta.before(media, partition, &low));
            let merged = match right {
                Some(right) => self.merge(guard, partition, number, right)?,
                None => false,
            };
            if !merged && !matches!(left, Some(left) if self.merge(guard, partition, left, number)?)
            {
                return Ok(());
            }
        }
    }

    /// The fences of a leaf.
    pub(crate) fn fences(&self, guard: &Guard<'_, M>, number: u32) -> Result<[Fence<D>; 2]> {
        let leaf = self.meta.leaves.get(number);
        CurrentLeaf::<M, W, D>::of(guard.media(), number, leaf, 0)?.fences()
    }

    /// Merges two leaves if they are current neighbours whose entries fill at most half a block.
    fn merge(&self, guard: &Guard<'_, M>, partition: usize, left: u32, right: u32) -> Result<bool> {
        let leaves = [left, right].map(|number| self.meta.leaves.get(number));
        for (number, leaf) in [left, right].into_iter().zip(leaves) {
            if leaf.successor() != 0 {
                return Ok(false);
            }
            self.ensure_read(guard, leaf)?;
            // The preceding block may still lead to the block of a new leaf through the old block.
            self.settle_origin(guard, partition, number)?;
        }
        let controls = leaves.map(|leaf| leaf.control());
        let [Some(left_entries), Some(right_entries)] =
            [0, 1].map(|side| leaves[side].entries::<D::Keys>(controls[side]))
        else {
            return Ok(false);
        };
        if left_entries + right_entries > Block::<M, W, D::Keys>::CAPACITY / 2
            || self.fences(guard, left)?[1] != self.fences(guard, right)?[0]
        {
            return Ok(false);
        }
        let merging = controls[0].closing(Phase::Merging(right, controls[1].stamp()));
        guard.media().mark(Mark::Step("merge.M1"));
        if !leaves[0].exchange_control(controls[0], merging) {
            return Ok(false);
        }
        guard.media().mark(Mark::Step("merge.M2"));
        // The capture is before any step that can fail. After the capture the left leaf no longer depends on the stamp
        // of the right leaf.
        self.capture(left, right, controls[1].stamp());
        self.change(guard, partition, left)?;
        Ok(true)
    }
}
