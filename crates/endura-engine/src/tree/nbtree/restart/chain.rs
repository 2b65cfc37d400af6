//! The chain of blocks of a partition, as it is in the pool.

use crate::Result;
use crate::media::{Media, Ordering, Region};
use crate::space::Guard;

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::keys::form::{Extent, KeyForm};

/// A block of a chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChainBlock {
    extent: Extent,
    pub(crate) at: u64,
    /// The signpost that led to this block (the replaced block that it replaces), or 0.
    pub(crate) signpost: u64,
    pub(crate) is_frozen: bool,
}

impl ChainBlock {
    /// The offset of the chunk beside the block, if it has one.
    pub(crate) fn beside<M: Media, K: KeyForm>(&self, media: &M) -> Result<Option<u64>> {
        Ok(K::beside(media, self.at)?.map(|(at, _)| at))
    }
}

/// A chain of blocks that no thread is changing: the part of it that has been read.
pub(crate) struct Chain<F> {
    partition: usize,
    /// The fences of the block found last; the upper one, if its header has it.
    last: Option<(F, Option<F>)>,
    pub(crate) found: Vec<ChainBlock>,
    /// The next block, and the signpost that led to it, or 0.
    pub(crate) at: u64,
    pub(crate) signpost: u64,
}

impl<F: Ord> Chain<F> {
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
        Ok(Self { partition, last: None, found: Vec::new(), at, signpost: 0 })
    }

    /// Reads `bite` more blocks; returns whether the chain has ended.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if the blocks are not a chain: if they are not in key order, or are
    /// outside of the partition, or if a signpost leads nowhere or to another signpost.
    pub(crate) fn step<M: Media, const W: usize, K: KeyForm<Fence = F>>(
        &mut self,
        guard: &Guard<'_, M>,
        bite: usize,
    ) -> Result<bool> {
        let (help, end) = (must_help(guard), self.found.len().saturating_add(bite));
        while self.found.len() < end {
            self.read::<M, W, K>(guard.media(), help)?;
            if self.at == 0 {
                self.check_end::<M, W, K>(guard.media())?;
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
    fn read<M: Media, const W: usize, K: KeyForm<Fence = F>>(
        &mut self,
        media: &M,
        help: bool,
    ) -> Result<()> {
        let (at, signpost) = (self.at, self.signpost);
        let block = Block::<M, W, K>::at(media, at)?;
        if help {
            block.flush_next();
        }
        let (next, fences) = (block.next(), K::fences(media, at)?);
        let follows = match &self.last {
            None => fences.low == K::first(),
            Some((low, None)) => *low < fences.low,
            Some((low, Some(high))) => *low < fences.low && *high == fences.low,
        };
        if fences.partition != self.partition || !follows {
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
        if signpost != 0 && K::fences(media, signpost)?.low != fences.low {
            return Err(block.corrupt("a replacement with another lowest key"));
        }
        let extent = match &fences.high {
            Some(high) if *high <= fences.low => {
                return Err(block.corrupt("a block out of key order"));
            }
            high => K::extent(&fences.low, high.as_ref().unwrap_or(&K::end())),
        };
        self.last = Some((fences.low, fences.high));
        self.found.push(ChainBlock { extent, at, signpost, is_frozen: next.is_frozen() });
        (self.at, self.signpost) = (next.at(), 0);
        Ok(())
    }

    /// Checks the end of the chain.
    fn check_end<M: Media, const W: usize, K: KeyForm<Fence = F>>(&self, media: &M) -> Result<()> {
        match (&self.last, self.found.last()) {
            (Some((_, Some(high))), Some(found)) if *high != K::end() => {
                Err(Block::<M, W, K>::at(media, found.at)?.corrupt("a last block that has an end"))
            }
            _ => Ok(()),
        }
    }

    /// The blocks found, and the extents of their leaves.
    pub(crate) fn extents<K: KeyForm<Fence = F>>(
        &self,
    ) -> impl Iterator<Item = (&ChainBlock, Extent)> {
        let next = self.found[1..].iter().map(|block| Some(block.extent)).chain([None]);
        self.found
            .iter()
            .zip(next)
            .map(|(block, next)| (block, K::extent_before(block.extent, next)))
    }
}

/// Whether a killed process may have left stores that are visible but not durable. Such stores must become durable
/// before later changes that build on them.
fn must_help<M: Media>(guard: &Guard<'_, M>) -> bool {
    !guard.space().session().clean && guard.media().needs_flush()
}
