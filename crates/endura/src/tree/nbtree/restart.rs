//! Restart: the metadata layer is made anew, as far as it is needed.
//!
//! Nothing is made when a pool is opened. The first operation on a partition walks along its chain
//! of blocks, one line of each, and makes the leaves and the inner nodes; the other partitions do
//! not matter to it. What the keys of a block are is learnt when a leaf is used for the first time
//! ([`read_block`](Tree::read_block)), by whoever uses it. Nothing is written to the pool.
//!
//! A block that is a signpost (`next` is FORWARD) was replaced; its leaf is made all the same, as
//! the origin of the one that it leads to, so that a later change completes what was left undone. A
//! block that is frozen and no signpost is in use: the first who wants to write to it copies it.

use crate::Result;
use crate::media::{Media, Ordering, Region};
use crate::pool::Guard;

use super::Tree;
use super::block::Block;
use super::body::Child;
use super::control::Phase;
use super::design::Design;
use super::key::{Local, split};
use super::leaf::Birth;
use super::route::Top;

/// A block of a chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) low: Local,
    pub(super) at: u64,
    /// The signpost that led here, or 0.
    pub(super) signpost: u64,
    pub(super) is_frozen: bool,
}

/// Reads the chain of blocks that begins in the word at `head`, which is that of `partition`.
///
/// # Errors
///
/// [`Error::Corrupt`](crate::Error::Corrupt) if it is none: blocks that are not in key order, or
/// outside of the partition, or signposts that lead nowhere.
pub(super) fn walk<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    head: u64,
    partition: usize,
) -> Result<Vec<Found>> {
    let media = guard.media();
    // A killed process leaves stores that are seen and not durable; what follows builds on them.
    let help = !guard.space().session().clean && media.needs_flush();
    let mut found: Vec<Found> = Vec::new();
    let first = Region::new(media, head, 1)?;
    if help {
        first.flush(0, 1);
    }
    let (mut at, mut signpost) = (first.load(0, Ordering::Acquire), 0);
    loop {
        let block = Block::<M, W>::at(media, at)?;
        if help {
            block.flush_next();
        }
        let (next, (place, low)) = (block.next(), split(block.low()));
        let follows = match (found.last(), signpost) {
            (None, _) => low == Local(0),
            (Some(before), _) => before.low < low,
        };
        if place != partition || !follows {
            return Err(block.corrupt("a block out of key order"));
        }
        if next.is_forward() {
            if signpost != 0 {
                return Err(block.corrupt("a replaced block that leads to another"));
            }
            (at, signpost) = (next.at(), at);
            if at == signpost {
                return Err(block.corrupt("a block that replaces itself"));
            }
            continue;
        }
        if signpost != 0 && split(Block::<M, W>::at(media, signpost)?.low()).1 != low {
            return Err(block.corrupt("a replacement with another lowest key"));
        }
        found.push(Found { low, at, signpost, is_frozen: next.is_frozen() });
        (at, signpost) = (next.at(), 0);
        if at == 0 {
            break;
        }
    }
    if help {
        // Before anybody writes to what was found.
        media.fence();
    }
    Ok(found)
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// Makes the leaves and inner nodes of a partition, unless another thread has.
    #[cold]
    pub(super) fn restart(&self, guard: &Guard<'_, M>, partition: usize) -> Result<Top> {
        let _alone = self.meta.restarting[partition].lock();
        let top = self.meta.roots[partition].load();
        if top != Top::NONE {
            return Ok(top);
        }
        let blocks = walk::<M, W>(guard, self.head(partition), partition)?;
        let ends = blocks[1..].iter().map(|block| block.low).chain([Local::END]);
        let leaves: Vec<Child> = blocks
            .iter()
            .zip(ends)
            .map(|(block, high)| {
                Child::leaf(block.low, self.found_leaf(guard, block, high), block.at)
            })
            .collect();
        self.meta.blocks_found.fetch_add(blocks.len() as u64, Ordering::Relaxed);
        let cells = |part: &[Child]| Child::inner(part[0].low, self.meta.new_cell(guard, part));
        let mut children: Vec<Child> = self.meta.divided(&leaves).map(cells).collect();
        let mut level = 2;
        while children.len() > self.meta.fanout {
            let bodies =
                |part: &[Child]| Child::inner(part[0].low, self.meta.new_body(guard, part));
            children = self.meta.divided(&children).map(bodies).collect();
            level += 1;
        }
        let top = Top::new(level, self.meta.new_body(guard, &children));
        // Alone: it cannot fail.
        self.meta.roots[partition].exchange(Top::NONE, top);
        Ok(top)
    }

    /// The leaf of a block of an earlier session.
    fn found_leaf(&self, guard: &Guard<'_, M>, block: &Found, high: Local) -> u32 {
        let leaves = &self.meta.leaves;
        let number = leaves.take(guard.space().now());
        let mut birth =
            Birth { low: block.low, high, block: block.at, origin: 0, absorbed: 0, twin: 0 };
        if block.signpost != 0 {
            // Before anything leads past it, as in S5.
            guard.keep(block.signpost, Block::<M, W>::BYTES);
            birth.origin = leaves.take(guard.space().now());
            let origin = leaves.get(birth.origin);
            origin.begin(Birth { block: block.signpost, origin: 0, ..birth });
            let control = origin.control();
            origin.exchange_control(control, control.closing(Phase::Splitting));
            origin.set_committed();
            origin.replace_by(number);
        }
        leaves.get(number).begin(birth);
        number
    }
}
