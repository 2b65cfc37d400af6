//! Per-thread allocator state: cached free chunks, and retired chunks that wait for a grace period.

use std::mem;

use crate::Result;
use crate::media::Media;
use crate::runtime::epoch::RetireTag;
use crate::space::alloc::allocator::Allocator;
use crate::space::alloc::class::{Class, Room};
use crate::space::alloc::limbo::{Chunk, Limbo};

/// After this many retired chunks, or this many bytes of them, a thread tries to advance the epoch and frees what has
/// expired.
const FREE_EVERY: usize = 64;
const FREE_EVERY_BYTES: u64 = 1 << 20;

/// How many bytes of each class a cache may have after a commit for which they were set aside. Other threads take them
/// before the pool grows.
const KEPT_BYTES: u64 = 1 << 20;

/// A limit on what is freed at once. After one thread has stayed inside an operation, any amount may wait. No operation
/// should have to free all of it, or hold a lock for that long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bite {
    /// Chunks.
    pub(crate) chunks: usize,
    /// Bytes; the last chunk may exceed the limit. Chunks of whole pages are freed page by page.
    pub(crate) bytes: u64,
}

impl Bite {
    /// For the own limbo of a thread that retires: four times as many chunks as it has retired since the last time, so
    /// that it catches up.
    pub(crate) const OWN: Self = Self { chunks: 4 * FREE_EVERY, bytes: 64 * FREE_EVERY_BYTES };
    /// For the limbos of other threads that this thread then looks at. The chunks count together, the bytes for each
    /// limbo.
    pub(crate) const OTHERS: Self = Self { chunks: FREE_EVERY, bytes: 64 * FREE_EVERY_BYTES };
    /// For all limbos when space is short: about a millisecond. The chunks count together, the bytes for each limbo.
    pub(crate) const SHORT: Self = Self { chunks: 8 << 10, bytes: 1 << 30 };
    /// Without a limit.
    pub(crate) const ALL: Self = Self { chunks: usize::MAX, bytes: u64::MAX };
}

/// Free chunks of one size.
#[derive(Debug, Default)]
struct Cache {
    /// Chunks to be handed out, from the end of the list.
    ready: Vec<u64>,
    /// Chunks that were freed since the `ready` ones were taken, of any spans. They are handed out when no `ready`
    /// chunk is left; but if the class is sparse by then, they go back to their spans instead. So the new entries of an
    /// emptied pool gather in few of its spans, and are not spread over all of them.
    returned: Vec<u64>,
}

/// What is set aside: the caches by class, and the spans.
type Kept = (Vec<Cache>, Vec<(u64, u64)>);

/// One thread's cache and limbo. They outlive the thread: the next thread with its number continues with them. Any
/// thread may empty them, because the lock of the slot protects both.
#[derive(Debug, Default)]
pub(crate) struct ThreadCache {
    /// The caches by class; allocated when first used.
    caches: Vec<Cache>,
    limbo: Limbo,
    /// Chunks and bytes that were retired since the last attempt to free.
    fresh: usize,
    fresh_bytes: u64,
    /// How many times the owner has looked at other threads' limbos.
    looks: usize,
    /// Whether the chunks in the caches are set aside for a commit of the owner that is under way. Until it ends, they are
    /// handed out to the owner only.
    is_kept: bool,
    /// Spans of their own that are set aside as well, for chunks whose sizes are not known in advance: offset and units.
    runs: Vec<(u64, u64)>,
    /// All that is set aside, while upkeep runs between two changes.
    hidden: Option<Kept>,
}

impl ThreadCache {
    #[inline]
    fn cache(&mut self, class: Class) -> &mut Cache {
        if self.caches.is_empty() {
            self.caches.resize_with(Class::COUNT, Cache::default);
        }
        &mut self.caches[class.index()]
    }

    /// Whether the next chunk of the class has to come from the spans.
    #[inline]
    pub(crate) fn lacks(&mut self, class: Class) -> bool {
        let cache = self.cache(class);
        cache.ready.is_empty() && cache.returned.is_empty()
    }

    /// A cached chunk of the class.
    #[inline]
    pub(crate) fn take_ready(&mut self, class: Class) -> Option<u64> {
        self.cache(class).ready.pop()
    }

    /// A chunk of the class, from the cache or from the spans.
    pub(crate) fn take<M: Media>(
        &mut self,
        media: &M,
        allocator: &Allocator,
        class: Class,
    ) -> Result<Option<u64>> {
        match self.cache(class).ready.pop() {
            None => self.refill(media, allocator, class),
            chunk => Ok(chunk),
        }
    }

    fn refill<M: Media>(
        &mut self,
        media: &M,
        allocator: &Allocator,
        class: Class,
    ) -> Result<Option<u64>> {
        let is_kept = self.is_kept;
        let cache = self.cache(class);
        if !cache.returned.is_empty() {
            if is_kept || !allocator.is_sparse(class) {
                // The newest is handed out first, because it is still in the processor's cache.
                mem::swap(&mut cache.ready, &mut cache.returned);
                return Ok(cache.ready.pop());
            }
            allocator.give(media, class, cache.returned.drain(..))?;
        }
        allocator.take(media, class, &mut cache.ready)?;
        // The lowest chunk is handed out first, and the next one lies after it.
        cache.ready.reverse();
        Ok(cache.ready.pop())
    }

    /// Sets aside what is in the caches, for a commit that is about to be decided.
    pub(crate) fn begin_keeping(&mut self) {
        self.is_kept = true;
    }

    /// Whether chunks like this are set aside.
    pub(crate) fn keeps(&mut self, room: Room) -> bool {
        self.is_kept
            && match room {
                Room::Slab(class) if !self.lacks(class) => true,
                room => self.run_for(room).is_some(),
            }
    }

    /// The smallest span that is set aside and has enough units, by its place in the list.
    fn run_for(&self, room: Room) -> Option<usize> {
        let units = match room {
            Room::Slab(class) => class.few_units(),
            Room::Run(units) => units,
            Room::Large(_) => return None,
        };
        let runs = self.runs.iter().enumerate().filter(|(_, run)| run.1 >= units);
        runs.min_by_key(|(_, run)| run.1).map(|(place, _)| place)
    }

    /// A chunk in a span that was set aside, of which the rest stays set aside.
    pub(crate) fn take_of_run<M: Media>(
        &mut self,
        media: &M,
        allocator: &Allocator,
        room: Room,
    ) -> Result<Option<u64>> {
        let Some(place) = self.run_for(room) else { return Ok(None) };
        let run = self.runs.swap_remove(place);
        let (taken, rest) = match room {
            Room::Slab(class) => {
                let ready = &mut self.cache(class).ready;
                let rest = allocator.take_of_run(media, class, run, ready)?;
                (ready.pop(), rest)
            }
            Room::Run(units) => {
                let (at, rest) = allocator.shorten_run(media, run, units)?;
                (Some(at), rest)
            }
            Room::Large(_) => (None, Some(run)),
        };
        self.runs.extend(rest);
        Ok(taken)
    }

    /// Hides what is set aside, for upkeep that must take nothing of it. Returns whether there is something.
    pub(crate) fn hide_kept(&mut self) -> bool {
        if self.is_kept {
            self.hidden = Some((mem::take(&mut self.caches), mem::take(&mut self.runs)));
            self.is_kept = false;
            return true;
        }
        false
    }

    /// Ends [`hide_kept`](Self::hide_kept).
    pub(crate) fn show_kept(&mut self) {
        let Some((caches, runs)) = self.hidden.take() else { return };
        let others = mem::replace(&mut self.caches, caches);
        for (class, cache) in Class::all().zip(others) {
            self.cache(class).returned.extend(cache.ready.into_iter().chain(cache.returned));
        }
        (self.runs, self.is_kept) = (runs, true);
    }

    /// How many more chunks of the class the cache needs to have `count`.
    pub(crate) fn lacking(&mut self, class: Class, count: usize) -> usize {
        let Cache { ready, returned } = self.cache(class);
        ready.append(returned);
        count.saturating_sub(ready.len())
    }

    /// Fills the cache of a class up to `count` chunks.
    pub(crate) fn fill<M: Media>(
        &mut self,
        media: &M,
        allocator: &Allocator,
        class: Class,
        count: usize,
    ) -> Result<()> {
        let Cache { ready, .. } = self.cache(class);
        let mut fresh = Vec::new();
        let mut filled = Ok(());
        while filled.is_ok() && ready.len() + fresh.len() < count {
            filled = allocator.take(media, class, &mut fresh);
        }
        // The lowest is handed out first, as in `refill`, and after those that were there before.
        fresh.reverse();
        fresh.append(ready);
        *ready = fresh;
        filled
    }

    /// Sets aside a span of its own.
    pub(crate) fn add_run(&mut self, at: u64, units: u64) {
        self.runs.push((at, units));
    }

    /// Ends the keeping: frees the spans, and the chunks beyond what a cache may have.
    pub(crate) fn end_keeping<M: Media>(&mut self, media: &M, allocator: &Allocator) -> Result<()> {
        self.is_kept = false;
        let mut result = Ok(());
        for (at, units) in mem::take(&mut self.runs) {
            result = result.and(allocator.give_alone(media, at, Room::Run(units)));
        }
        for (class, Cache { ready, returned }) in Class::all().zip(&mut self.caches) {
            let most = (KEPT_BYTES / class.size()) as usize;
            if ready.len() + returned.len() > most {
                returned.append(ready);
                mem::swap(ready, returned);
                // The last ones are handed out next.
                let surplus = ready.len() - most;
                result = result.and(allocator.give(media, class, ready.drain(..surplus)));
            }
        }
        result
    }

    /// Frees a chunk that is unreachable.
    pub(crate) fn give<M: Media>(
        &mut self,
        media: &M,
        allocator: &Allocator,
        at: u64,
        bytes: u64,
    ) -> Result<()> {
        let class = match Room::of(bytes) {
            Room::Slab(class) => class,
            room => return allocator.give_alone(media, at, room),
        };
        let batch = class.batch();
        let is_kept = self.is_kept;
        let Cache { ready, returned } = self.cache(class);
        returned.push(at);
        if is_kept || returned.len() < batch || ready.len() + returned.len() <= 2 * batch {
            return Ok(());
        }
        if allocator.is_sparse(class) {
            return allocator.give(media, class, ready.drain(..).chain(returned.drain(..)));
        }
        // The oldest chunks go back, because they are least likely to be in the processor's cache.
        allocator.give(media, class, returned.drain(..batch))
    }

    /// Keeps a chunk until its tag expires. Returns `true` if it is time to look for chunks that have expired.
    #[must_use]
    pub(crate) fn retire(&mut self, tag: RetireTag, at: u64, bytes: u64) -> bool {
        self.limbo.push(tag, Chunk { at, bytes });
        self.fresh += 1;
        self.fresh_bytes = self.fresh_bytes.saturating_add(bytes);
        self.fresh >= FREE_EVERY || self.fresh_bytes >= FREE_EVERY_BYTES
    }

    /// Frees at most a bite of what has expired at epoch `now`. Returns how many chunks it freed.
    pub(crate) fn free_expired<M: Media>(
        &mut self,
        media: &M,
        allocator: &Allocator,
        now: u64,
        bite: Bite,
    ) -> Result<usize> {
        (self.fresh, self.fresh_bytes) = (0, 0);
        let (mut freed, mut freed_bytes) = (0, 0);
        let mut result = Ok(());
        while freed < bite.chunks
            && freed_bytes < bite.bytes
            && let Some(Chunk { at, bytes }) = self.limbo.pop_expired(now)
        {
            freed += 1;
            freed_bytes = bytes.saturating_add(freed_bytes);
            result = result.and(self.give(media, allocator, at, bytes));
        }
        result.map(|()| freed)
    }

    /// Moves chunks that have expired at epoch `now` from limbo to `expired`, for the caller to free: at most the bytes
    /// of a bite, and only until `expired` has the chunks of a bite.
    pub(crate) fn take_expired(&mut self, now: u64, bite: Bite, expired: &mut Vec<(u64, u64)>) {
        let mut taken_bytes = 0_u64;
        while expired.len() < bite.chunks
            && taken_bytes < bite.bytes
            && let Some(Chunk { at, bytes }) = self.limbo.pop_expired(now)
        {
            taken_bytes = taken_bytes.saturating_add(bytes);
            expired.push((at, bytes));
        }
    }

    /// Counts the looks at other threads' limbos; the number tells whose turn it is.
    pub(crate) fn next_look(&mut self) -> usize {
        self.looks = self.looks.wrapping_add(1);
        self.looks
    }

    /// Frees all cached chunks to their spans, unless they are set aside for a commit.
    pub(crate) fn empty_caches<M: Media>(
        &mut self,
        media: &M,
        allocator: &Allocator,
    ) -> Result<()> {
        let mut result = Ok(());
        if self.is_kept {
            return result;
        }
        for (class, Cache { ready, returned }) in Class::all().zip(&mut self.caches) {
            if !ready.is_empty() || !returned.is_empty() {
                let chunks = ready.drain(..).chain(returned.drain(..));
                result = result.and(allocator.give(media, class, chunks));
            }
        }
        result
    }

    /// Whether the thread has neither cached nor retired chunks.
    pub(crate) fn is_empty(&self) -> bool {
        self.limbo.is_empty() && self.cached().next().is_none()
    }

    /// Bytes that wait for a grace period.
    pub(crate) fn limbo_bytes(&self) -> u64 {
        self.limbo.bytes()
    }

    /// Chunks that wait for a grace period, as offset and bytes.
    pub(crate) fn limbo(&self) -> impl Iterator<Item = (u64, u64)> {
        self.limbo.iter().map(|chunk| (chunk.at, chunk.bytes))
    }

    /// Chunks in the caches.
    pub(crate) fn cached(&self) -> impl Iterator<Item = (Class, u64)> {
        Class::all().zip(&self.caches).flat_map(|(class, cache)| {
            cache.ready.iter().chain(&cache.returned).map(move |&at| (class, at))
        })
    }
}
