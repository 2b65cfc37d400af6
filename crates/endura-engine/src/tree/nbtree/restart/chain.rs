//! The chain of blocks of a partition, as it is in the pool.

use crate::Result;
use crate::media::{Media, Ordering, Region};
use crate::space::Guard;

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::blocks::key::{Local, split};

/// A block of a chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChainBlock {
    pub(crate) low: Local,
    pub(crate) at: u64,
    /// The signpost that led to this block (the replaced block that it replaces), or 0.
    pub(crate) signpost: u64,
    pub(crate) is_frozen: bool,
}

/// A chain of blocks that no thread is changing: the part of it that has been read.
pub(crate) struct Chain {
    partition: usize,
    pub(crate) found: Vec<ChainBlock>,
    /// The next block, and the signpost that led to it, or 0.
    pub(crate) at: u64,
    pub(crate) signpost: u64,
}

impl Chain {
    /// The chain of `partition`, which starts in the word at `head`.
    pub(crate) fn begin<M: Media>(
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

    /// Reads `bite` more blocks; returns whether the chain has ended.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if the blocks are not a chain: if they are not in key order, or are
    /// outside of the partition, or if a signpost leads nowhere or to another signpost.
    pub(crate) fn step<M: Media, const W: usize>(
        &mut self,
        guard: &Guard<'_, M>,
        bite: usize,
    ) -> Result<bool> {
        let (help, end) = (must_help(guard), self.found.len().saturating_add(bite));
        while self.found.len() < end {
            self.read::<M, W>(guard.media(), help)?;
            if self.at == 0 {
                if help {
                    // The flushed words are durable before any thread writes to the blocks found.
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
        self.found.push(ChainBlock { low, at, signpost, is_frozen: next.is_frozen() });
        (self.at, self.signpost) = (next.at(), 0);
        Ok(())
    }

    /// The blocks found, and the key at which each ends.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (&ChainBlock, Local)> {
        let ends = self.found[1..].iter().map(|block| block.low).chain([Local::END]);
        self.found.iter().zip(ends)
    }
}

/// Whether a killed process may have left stores that are visible but not durable. Such stores must become durable
/// before later changes that build on them.
fn must_help<M: Media>(guard: &Guard<'_, M>) -> bool {
    !guard.space().session().clean && guard.media().needs_flush()
}
