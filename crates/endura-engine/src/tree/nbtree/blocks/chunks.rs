//! Allocation of chunks for new blocks, also when the pool is full.
//!
//! A change allocates its chunks before it frees any. In a full pool no change would be possible: leaves full of
//! removed entries could not even be copied into fewer leaves, and a leaf that was frozen for a change (by a suspended
//! thread, or before a crash) could not be written to. So each map keeps two chunks in reserve, for changes that do not
//! increase the number of blocks. Every change can be such a change, because the entries of a block fit into one block.
//!
//! The reserve is in the map's directory entry, beside the heads of the chains: one word for each chunk, 0 = none. A
//! thread that takes a chunk clears the word, durably, before it uses the chunk; a crash in between strands the chunk.
//! A thread with an unused chunk stores it in an empty word.

use std::marker::PhantomData;

use crate::media::{Media, Region};
use crate::space::{Guard, MapState};
use crate::sync::Ordering;
use crate::{Error, Result, SpaceLimit};

use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::keys::key::PARTITIONS;

/// The number of chunks in reserve.
pub(crate) const RESERVE: usize = 2;

/// The words of a map's reserve.
pub(crate) fn reserve<'m, M: Media>(media: &'m M, map: &MapState) -> Result<Region<'m, M>> {
    Region::new(media, map.spare() + 8 * PARTITIONS as u64, RESERVE)
}

/// Chunks for two blocks. Unused chunks go to the reserve, or are freed.
pub(crate) struct Chunks<'g, 's, M: Media> {
    guard: &'g Guard<'s, M>,
    map: &'g MapState,
    bytes: u64,
    at: Vec<u64>,
}

impl<'g, 's, M: Media> Chunks<'g, 's, M> {
    /// Allocates two chunks of `bytes` bytes. If there is no space for two and `one_block_will_do`, allocates one, from the
    /// reserve if necessary.
    pub(crate) fn take(
        guard: &'g Guard<'s, M>,
        map: &'g MapState,
        bytes: u64,
        one_block_will_do: bool,
    ) -> Result<Self> {
        let mut chunks = Self { guard, map, bytes, at: Vec::with_capacity(2) };
        while chunks.at.len() < 2 {
            match guard.alloc(bytes) {
                Ok(at) => chunks.at.push(at),
                Err(full @ Error::Full { .. }) if one_block_will_do => {
                    if chunks.at.is_empty() {
                        let kept = chunks.withdraw()?.ok_or(full)?;
                        chunks.at.push(kept);
                    }
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(chunks)
    }

    /// Allocates chunks until there are `count`, from the reserve if necessary: for a change that can no longer be
    /// undone.
    pub(crate) fn hold(&mut self, count: usize) -> Result<()> {
        while self.at.len() < count {
            let at = match self.guard.alloc(self.bytes) {
                Err(full @ Error::Full { .. }) => self.withdraw()?.ok_or(full)?,
                taken => taken?,
            };
            self.at.push(at);
        }
        Ok(())
    }

    /// Prefetches all chunks, so that the cache misses of the stores to their lines overlap.
    pub(crate) fn ask_for(&self) {
        self.at.iter().for_each(|&at| self.guard.media().prefetch(at, self.bytes));
    }

    /// The number of chunks left.
    pub(crate) fn count(&self) -> usize {
        self.at.len()
    }

    pub(crate) fn next(&mut self) -> Result<u64> {
        let (need, limit) = (self.bytes, SpaceLimit::MaxSize);
        self.at.pop().ok_or(Error::full(need, 0, limit))
    }

    /// Takes back a chunk that no other thread has seen.
    pub(crate) fn put_back(&mut self, at: u64) {
        self.at.push(at);
    }

    /// Takes a chunk from the reserve.
    fn withdraw(&self) -> Result<Option<u64>> {
        let media = self.guard.media();
        let words = reserve(media, self.map)?;
        for i in 0..RESERVE {
            let at = words.load(i, Ordering::Acquire);
            if at != 0 {
                // The chunk is marked as in use before it leaves the reserve: it may be linked where the walk of a leak
                // recovery has already passed.
                self.guard.keep(at, self.bytes);
            }
            if at != 0 && words.compare_exchange(i, at, 0).is_ok() {
                words.flush(i, 1);
                // The fence is before the chunk is linked anywhere: the chunk must not have two owners.
                // equivalent mutant, without: the drain after the copy waits for it; a chunk that comes back unused is
                // in the cache of one thread, where others find it only when space is short.
                media.fence();
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Stores a chunk in the reserve; `false` if the reserve is full.
    fn deposit(&self, at: u64) -> bool {
        let Ok(words) = reserve(self.guard.media(), self.map) else { return false };
        for i in 0..RESERVE {
            let is_empty = words.load(i, Ordering::Acquire) == 0;
            if is_empty && words.compare_exchange(i, 0, at).is_ok() {
                // The word is not fenced: if a crash loses it, the chunk is stranded, and nothing else is lost.
                // equivalent mutant, without: the next leak recovery frees what a crash strands.
                words.flush(i, 1);
                return true;
            }
        }
        false
    }
}

impl<M: Media> Drop for Chunks<'_, '_, M> {
    fn drop(&mut self) {
        for at in std::mem::take(&mut self.at) {
            if !self.deposit(at) {
                self.guard.discard(at, self.bytes);
            }
        }
    }
}

/// The chunk beside a new block whose fences do not fit into its header. It is freed unless the block is written.
pub(crate) struct BesideChunk<'g, 's, M: Media, K> {
    guard: &'g Guard<'s, M>,
    chunk: Option<(u64, u64)>,
    keys: PhantomData<K>,
}

impl<'g, 's, M: Media, K: KeyForm> BesideChunk<'g, 's, M, K> {
    /// Allocates the chunk, if a block with these fences needs one.
    pub(crate) fn take(
        guard: &'g Guard<'s, M>,
        (low, high): (&K::Fence, &K::Fence),
    ) -> Result<Self> {
        let take = |bytes| guard.alloc(bytes).map(|at| (at, bytes));
        let chunk = K::beside_bytes(low, high).map(take).transpose()?;
        Ok(Self { guard, chunk, keys: PhantomData })
    }

    /// The offset of the chunk; 0 if there is none.
    pub(crate) fn at(&self) -> u64 {
        self.chunk.map_or(0, |(at, _)| at)
    }

    /// The block has been written: the chunk is its own now.
    pub(crate) fn linked(mut self) {
        self.chunk = None;
    }
}

impl<M: Media, K> Drop for BesideChunk<'_, '_, M, K> {
    fn drop(&mut self) {
        if let Some((at, bytes)) = self.chunk {
            self.guard.discard(at, bytes);
        }
    }
}
