//! What a thread keeps in a pool: chunks to hand out, and chunks that wait for a grace period.

use std::collections::VecDeque;

use super::alloc::{Allocator, Class};
use crate::Result;
use crate::media::Media;

/// After so many retired chunks, or so many bytes of them, a thread tries to move the epoch and
/// frees what is ripe.
const RIPEN_EVERY: usize = 64;
const RIPEN_EVERY_BYTES: u64 = 1 << 20;

/// A chunk that is unlinked, durably, but may still be read.
#[derive(Debug, Clone, Copy)]
struct Retired {
    tag: u64,
    at: u64,
    bytes: u64,
}

/// One thread's cache and limbo. It outlives the thread: the next one with its number goes on with
/// it, and any thread may empty it when space is short, for all of it is under the slot's lock.
#[derive(Debug, Default)]
pub(crate) struct Stock {
    /// By class; made when first used. The newest chunk is handed out first, for it is warm.
    caches: Vec<Vec<u64>>,
    /// Oldest first; tags never fall.
    limbo: VecDeque<Retired>,
    limbo_bytes: u64,
    /// Retired since the last attempt to free.
    fresh: usize,
    fresh_bytes: u64,
}

impl Stock {
    fn cache(&mut self, class: Class) -> &mut Vec<u64> {
        if self.caches.is_empty() {
            self.caches = vec![Vec::new(); Class::COUNT];
        }
        &mut self.caches[class.index()]
    }

    /// A chunk of the class, from the cache or from the pages.
    pub(crate) fn take<M: Media>(
        &mut self,
        media: &M,
        allocator: &Allocator,
        class: Class,
    ) -> Result<Option<u64>> {
        let cache = self.cache(class);
        if cache.is_empty() {
            allocator.take(media, class, cache)?;
            // The lowest chunk goes first, and the next one lies behind it.
            cache.reverse();
        }
        Ok(cache.pop())
    }

    /// Where the next chunk of the class would take a page that was never used: gives all caches back
    /// before, which may be all that keeps pages of sizes that are no longer asked for. What turns out not
    /// to be a chunk in use is the error.
    pub(crate) fn spare_a_page<M: Media>(
        &mut self,
        media: &M,
        allocator: &Allocator,
        class: Class,
    ) -> Result<()> {
        if self.cache(class).is_empty() && allocator.would_grow(class) {
            self.empty_caches(media, allocator)?;
            allocator.release_spares();
        }
        Ok(())
    }

    /// Makes a chunk free that nobody can reach.
    pub(crate) fn give<M: Media>(
        &mut self,
        media: &M,
        allocator: &Allocator,
        at: u64,
        bytes: u64,
    ) -> Result<()> {
        let Some(class) = Class::of(bytes) else {
            return allocator.give_large(media, at, bytes);
        };
        let cache = self.cache(class);
        cache.push(at);
        if cache.len() > 2 * class.batch() {
            // The oldest, which are the coldest.
            return allocator.give(media, class, cache.drain(..class.batch()));
        }
        Ok(())
    }

    /// Keeps a chunk until the epoch is `tag + 2`; `true` if it is time to look for ripe ones.
    #[must_use]
    pub(crate) fn retire(&mut self, tag: u64, at: u64, bytes: u64) -> bool {
        self.limbo.push_back(Retired { tag, at, bytes });
        self.limbo_bytes = self.limbo_bytes.saturating_add(bytes);
        self.fresh += 1;
        self.fresh_bytes = self.fresh_bytes.saturating_add(bytes);
        self.fresh >= RIPEN_EVERY || self.fresh_bytes >= RIPEN_EVERY_BYTES
    }

    /// Frees what is ripe at epoch `now`; how many chunks that were.
    pub(crate) fn ripen<M: Media>(
        &mut self,
        media: &M,
        allocator: &Allocator,
        now: u64,
    ) -> Result<usize> {
        (self.fresh, self.fresh_bytes) = (0, 0);
        let mut freed = 0;
        let mut result = Ok(());
        while let Some(&Retired { tag, at, bytes }) = self.limbo.front()
            && tag.saturating_add(2) <= now
        {
            self.limbo.pop_front();
            self.limbo_bytes = self.limbo_bytes.saturating_sub(bytes);
            freed += 1;
            result = result.and(self.give(media, allocator, at, bytes));
        }
        result.map(|()| freed)
    }

    /// Gives all cached chunks back to their pages.
    pub(crate) fn empty_caches<M: Media>(
        &mut self,
        media: &M,
        allocator: &Allocator,
    ) -> Result<()> {
        let mut result = Ok(());
        for (class, cache) in Class::all().zip(&mut self.caches) {
            result = result.and(allocator.give(media, class, cache.drain(..)));
        }
        result
    }

    /// Bytes that wait for a grace period.
    pub(crate) fn limbo_bytes(&self) -> u64 {
        self.limbo_bytes
    }

    /// Chunks that wait for a grace period: where, and how many bytes.
    pub(crate) fn limbo(&self) -> impl Iterator<Item = (u64, u64)> {
        self.limbo.iter().map(|retired| (retired.at, retired.bytes))
    }

    /// Chunks in the caches.
    pub(crate) fn cached(&self) -> impl Iterator<Item = (Class, u64)> {
        Class::all()
            .zip(&self.caches)
            .flat_map(|(class, cache)| cache.iter().map(move |&at| (class, at)))
    }
}
