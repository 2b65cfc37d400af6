//! Restart: the metadata layer is made anew, as far as it is needed.
//!
//! Nothing is made when a pool is opened. The first operation on a partition walks along its chain
//! of blocks, one line of each, and makes the leaves and the inner nodes; the other partitions do
//! not matter to it. What the keys of a block are is learnt when a leaf is used for the first time
//! ([`read_block`](Tree::read_block)), by whoever uses it. Nothing is written to the pool, and no pin lasts
//! for the whole of it.
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

/// Blocks that are read, or leaves that are made, in one pin.
const BITE: usize = 64;

/// A chain of blocks to which nobody writes, as far as it was read.
pub(super) struct Chain {
    partition: usize,
    pub(super) found: Vec<Found>,
    /// The next block, and the signpost that led to it, or 0.
    at: u64,
    signpost: u64,
}

impl Chain {
    /// The chain that begins in the word at `head`, which is that of `partition`.
    pub(super) fn begin<M: Media>(
        guard: &Guard<'_, M>,
        head: u64,
        partition: usize,
    ) -> Result<Self> {
        let first = Region::new(guard.media(), head, 1)?;
        if must_help(guard) {
            first.flush(0, 1);
        }
        let at = first.load(0, Ordering::Acquire);
        Ok(Self { partition, found: Vec::new(), at, signpost: 0 })
    }

    /// Reads so many blocks more; whether that was the end.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if it is no chain: blocks that are not in key order, or
    /// outside of the partition, or signposts that lead nowhere.
    pub(super) fn step<M: Media, const W: usize>(
        &mut self,
        guard: &Guard<'_, M>,
        bite: usize,
    ) -> Result<bool> {
        let (help, end) = (must_help(guard), self.found.len().saturating_add(bite));
        while self.found.len() < end {
            self.read::<M, W>(guard.media(), help)?;
            if self.at == 0 {
                if help {
                    // Before anybody writes to what was found.
                    guard.media().fence();
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the next block.
    fn read<M: Media, const W: usize>(&mut self, media: &M, help: bool) -> Result<()> {
        let (at, signpost) = (self.at, self.signpost);
        let block = Block::<M, W>::at(media, at)?;
        if help {
            block.flush_next();
        }
        let (next, (place, low)) = (block.next(), split(block.low()));
        let follows = match self.found.last() {
            None => low == Local(0),
            Some(before) => before.low < low,
        };
        if place != self.partition || !follows {
            return Err(block.corrupt("a block out of key order"));
        }
        if next.is_forward() {
            if signpost != 0 {
                return Err(block.corrupt("a replaced block that leads to another"));
            }
            (self.at, self.signpost) = (next.at(), at);
            return match next.at() {
                0 => Err(block.corrupt("a replaced block that leads nowhere")),
                to if to == at => Err(block.corrupt("a block that replaces itself")),
                _ => Ok(()),
            };
        }
        if signpost != 0 && split(Block::<M, W>::at(media, signpost)?.low()).1 != low {
            return Err(block.corrupt("a replacement with another lowest key"));
        }
        self.found.push(Found { low, at, signpost, is_frozen: next.is_frozen() });
        (self.at, self.signpost) = (next.at(), 0);
        Ok(())
    }

    /// What was found, and where each block ends.
    pub(super) fn spans(&self) -> impl Iterator<Item = (&Found, Local)> {
        let ends = self.found[1..].iter().map(|block| block.low).chain([Local::END]);
        self.found.iter().zip(ends)
    }
}

/// Whether a killed process left stores that are seen and not durable; what follows builds on them.
fn must_help<M: Media>(guard: &Guard<'_, M>) -> bool {
    !guard.space().session().clean && guard.media().needs_flush()
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// Makes the leaves and inner nodes of a partition, unless another thread has.
    ///
    /// To be called outside of pins: it takes one after the other, for it may take long. Nobody changes the partition
    /// before it is made, so that what was read in one pin is there in the next, unless the map is dropped.
    #[cold]
    #[inline(never)]
    pub(super) fn restart(&self, partition: usize) -> Result<Top> {
        // A child of a fork waits for no lock: whoever had this one may be none of its threads.
        drop(self.pin()?);
        let _alone = self.meta.restarting[partition].lock();
        let top = self.meta.roots[partition].load();
        if top != Top::NONE {
            return Ok(top);
        }
        let mut chain = Chain::begin(&self.pin()?, self.head(partition), partition)?;
        while !chain.step::<M, W>(&self.pin()?, BITE)? {}
        let mut leaves = Vec::with_capacity(chain.found.len());
        let mut spans = chain.spans();
        while leaves.len() < chain.found.len() {
            let guard = self.pin()?;
            leaves.extend(spans.by_ref().take(BITE).map(|(block, high)| {
                Child::leaf(block.low, self.found_leaf(&guard, block, high), block.at)
            }));
        }
        self.meta.blocks_found.fetch_add(leaves.len() as u64, Ordering::Relaxed);
        let cell =
            |part: &[Child]| Ok(Child::inner(part[0].low, self.meta.new_cell(&self.pin()?, part)));
        let mut children = self.meta.divided(&leaves).map(cell).collect::<Result<Vec<Child>>>()?;
        let mut level = 2;
        while children.len() > self.meta.fanout {
            let body = |part: &[Child]| {
                Ok(Child::inner(part[0].low, self.meta.new_body(&self.pin()?, part)))
            };
            children = self.meta.divided(&children).map(body).collect::<Result<Vec<Child>>>()?;
            level += 1;
        }
        let top = Top::new(level, self.meta.new_body(&self.pin()?, &children));
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
