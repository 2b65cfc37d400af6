//! Whole pages: the free ones, and growth.
//!
//! A page is born FREE: its header is made durable as such *before* NEXT_PAGE comes to cover it.
//! Hence every page below NEXT_PAGE that is no continuation of a run has a valid header in every
//! crash state, and no page number can be linked that a crash takes back.
//!
//! All of this happens under one lock. A thread can therefore never find NEXT_PAGE already large
//! enough but not yet durable, and link into a page that a crash makes free again.
//!
//! Pages are always taken from the start of a run of free pages, and the new header is durable before they leave the
//! run. So the header of a free page need not be durable. A crash may show an older header instead, that of a run which
//! ended: it covers only free pages until the page itself is taken, with a new header. FREE is written all the same when
//! a page becomes free, because after a killed process the next open knows the page by it. Nothing durable leads into a
//! free page, so FREE is true whenever it becomes durable, which is before another thread can take the page. The header
//! with which the page is taken is a later store to the same word, and is durable before anything is linked.

use std::collections::BTreeMap;

use crate::media::{Mark, Media, Ordering, Region};
use crate::pool::alloc::events::{Event, Events};
use crate::pool::alloc::growth;
use crate::pool::alloc::header;
use crate::pool::alloc::header::PageKind;
use crate::pool::layout::{GROW_TO, NEXT_PAGE, PAGE};
use crate::sync::{AtomicU64, Mutex};
use crate::{Error, Result};

/// The pages of a pool.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) runs: Mutex<FreeRuns>,
    /// Bytes of free chunks in pages that are in use, as the slabs count them.
    pub(crate) loose: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct FreeRuns {
    /// The number of pages ever taken; NEXT_PAGE says the same, durably.
    pub(crate) next: u64,
    /// How many there may be for now: see [`growth`].
    pub(crate) limit: u64,
    /// Whether all free space is known, so that growth is a need.
    pub(crate) knows_all: bool,
    /// Free pages: first page of a run -> its length. Neighbouring runs are one run.
    by_first: BTreeMap<u64, u64>,
    /// One bit for each page that was there at the open: set once it was free in this session.
    given: Box<[u64]>,
    /// How many those are.
    old: u64,
    /// Receives growth.
    events: Events,
}

impl Pages {
    /// The pages of a formatted medium: all below NEXT_PAGE are in use.
    pub(crate) fn load<M: Media>(media: &M) -> Result<Self> {
        let next = Region::new(media, NEXT_PAGE, 1)?.load(0, Ordering::Acquire);
        if next == 0 {
            return Err(Error::Corrupt {
                offset: NEXT_PAGE,
                what: "a pool without its first page",
            });
        }
        match next.checked_mul(PAGE) {
            Some(need) if need <= media.len() => {
                let given = vec![0; next.div_ceil(64) as usize].into();
                let runs = FreeRuns {
                    next,
                    limit: u64::MAX,
                    knows_all: false,
                    by_first: BTreeMap::new(),
                    given,
                    old: next,
                    events: Events::default(),
                };
                Ok(Self { runs: Mutex::new(runs), loose: AtomicU64::new(0) })
            }
            Some(need) => Err(Error::Truncated { have: media.len(), need }),
            None => Err(Error::Corrupt { offset: NEXT_PAGE, what: "an impossible page count" }),
        }
    }

    /// Pages ever taken, page 0 included.
    pub(crate) fn next(&self) -> u64 {
        self.runs.lock().next
    }

    /// Free pages.
    pub(crate) fn free(&self) -> u64 {
        self.runs.lock().free()
    }

    /// Whether `count` neighbouring pages can be had only by growing.
    pub(crate) fn would_grow(&self, count: u64) -> bool {
        self.runs.lock().fit(count).is_none()
    }

    /// The runs of free pages: first page and length, ascending.
    pub(crate) fn runs(&self) -> Vec<(u64, u64)> {
        self.runs.lock().by_first.iter().map(|(&first, &count)| (first, count)).collect()
    }

    /// Whether the page is below NEXT_PAGE and in use.
    pub(crate) fn is_taken(&self, page: u64) -> bool {
        let runs = self.runs.lock();
        (1..runs.next).contains(&page) && !runs.is_free(page)
    }

    /// The kind of the page, if it has not been free in this session: its header is then as the last session left it.
    /// The page must not be inside a run.
    pub(crate) fn left_over<M: Media>(&self, media: &M, page: u64) -> Result<Option<PageKind>> {
        // Under the lock, so that no run is half freed.
        let runs = self.runs.lock();
        runs.is_left_over(page).then(|| header::read(media, page)).transpose()
    }

    /// Whether the page was there at the open and has not been free in this session.
    pub(crate) fn is_left_over(&self, page: u64) -> bool {
        self.runs.lock().is_left_over(page)
    }

    /// Takes `count` neighbouring pages, whose first header says `kind`, durably, on return.
    pub(crate) fn take<M: Media>(&self, media: &M, count: u64, kind: PageKind) -> Result<u64> {
        let mut runs = self.runs.lock();
        let first = match runs.fit(count) {
            Some(first) => first,
            None => {
                let at_end = runs.free_at_end();
                // Relaxed: a figure for `growth`.
                runs.append(media, count - at_end, self.loose.load(Ordering::Relaxed))?;
                runs.next - count
            }
        };
        header::write(media, first, kind)?;
        media.mark(Mark::Step("pool.page.take"));
        // Before any chunk of the page can be linked: after a crash a walk over the pages must see the page that
        // the link refers to. A drain, because another thread may link it, which got the chunk through locks in DRAM:
        // nothing else says that this thread's stores are out.
        media.drain();
        runs.remove(first, count);
        Ok(first)
    }

    /// Gives a page back that is none of a run: its header says FREE from now on.
    pub(crate) fn give<M: Media>(&self, media: &M, page: u64) -> Result<()> {
        let mut runs = self.runs.lock();
        if page == 0 || page >= runs.next || runs.is_free(page) {
            let what = "a page freed that is not in use";
            return Err(Error::Corrupt { offset: page.saturating_mul(PAGE), what });
        }
        header::write(media, page, PageKind::Free)?;
        media.mark(Mark::Step("pool.page.free"));
        // Before another thread can take the page: with a store buffer in front of the durable memory, this header
        // would otherwise come behind the next owner's, which a lock in DRAM alone puts after it. Pairs with
        // the store of the header in `take`.
        media.drain();
        runs.insert(page, 1);
        Ok(())
    }

    /// Makes pages free that a previous session left free, by their headers or by the list of its close;
    /// `false` and no change if they are not pages or already free.
    #[must_use]
    pub(crate) fn give_checked(&self, first: u64, count: u64) -> bool {
        let mut runs = self.runs.lock();
        let end = first.checked_add(count);
        let sound = first > 0
            && count > 0
            && end.is_some_and(|end| end <= runs.next && !runs.touches(first, end));
        if sound {
            runs.insert(first, count);
        }
        sound
    }

    /// Takes back all runs, as if nothing were free.
    pub(crate) fn forget(&self) {
        let mut runs = self.runs.lock();
        runs.by_first.clear();
        runs.given.fill(0);
    }

    /// Gives back the run of one large chunk.
    ///
    /// Its later pages have data in place of headers. Their headers become FREE first, while the first header still
    /// covers them. When those are durable, the first header becomes FREE. That one need not be durable: the first page
    /// is the first to be taken again.
    pub(crate) fn give_large<M: Media>(&self, media: &M, first: u64, count: u64) -> Result<()> {
        let mut runs = self.runs.lock();
        let damage = |what| Err(Error::Corrupt { offset: first.saturating_mul(PAGE), what });
        let inside = first > 0 && first.checked_add(count).is_some_and(|end| end <= runs.next);
        if !inside || runs.is_free(first) {
            return damage("a freed large chunk that is not in use");
        }
        if header::read(media, first)? != PageKind::Large(count) {
            return damage("a freed large chunk whose header says otherwise");
        }
        for page in first + 1..first + count {
            header::write(media, page, PageKind::Free)?;
        }
        media.mark(Mark::Step("pool.run.free.rest"));
        // Before the first header stops covering the others.
        media.fence();
        header::write(media, first, PageKind::Free)?;
        media.mark(Mark::Step("pool.run.free.first"));
        // Before the next owner's header, as in `give`.
        media.drain();
        runs.insert(first, count);
        Ok(())
    }
}

impl FreeRuns {
    /// Free pages.
    pub(crate) fn free(&self) -> u64 {
        self.by_first.values().sum()
    }

    fn run_before(&self, page: u64) -> Option<(u64, u64)> {
        self.by_first.range(..=page).next_back().map(|(&first, &count)| (first, first + count))
    }

    fn is_free(&self, page: u64) -> bool {
        self.run_before(page).is_some_and(|(_, end)| page < end)
    }

    /// Whether a page of `first..end` is free.
    fn touches(&self, first: u64, end: u64) -> bool {
        self.run_before(end - 1).is_some_and(|(_, run_end)| first < run_end)
    }

    /// The lowest place where `count` free pages lie together.
    fn fit(&self, count: u64) -> Option<u64> {
        self.by_first.iter().find(|&(_, &length)| length >= count).map(|(&first, _)| first)
    }

    /// How many pages are free at the very end.
    fn free_at_end(&self) -> u64 {
        let last = self.by_first.last_key_value();
        last.filter(|&(first, count)| first + count == self.next).map_or(0, |(_, &count)| count)
    }

    fn is_left_over(&self, page: u64) -> bool {
        (1..self.old).contains(&page) && self.given[(page / 64) as usize] >> (page % 64) & 1 == 0
    }

    fn insert(&mut self, first: u64, count: u64) {
        for page in first..(first + count).min(self.old) {
            self.given[(page / 64) as usize] |= 1 << (page % 64);
        }
        let (mut start, mut end) = (first, first + count);
        if let Some((before, run_end)) = self.run_before(first)
            && run_end == first
        {
            start = before;
        }
        if let Some(after) = self.by_first.remove(&end) {
            end += after;
        }
        self.by_first.insert(start, end - start);
    }

    /// Takes `count` pages from `first` on out of the run that holds them.
    fn remove(&mut self, first: u64, count: u64) {
        if let Some((start, end)) = self.run_before(first) {
            self.by_first.remove(&start);
            if start < first {
                self.by_first.insert(start, first - start);
            }
            if first + count < end {
                self.by_first.insert(first + count, end - first - count);
            }
        }
    }

    /// Lets the pool grow by `count` free pages. `loose`: bytes of free chunks in the others.
    fn append<M: Media>(&mut self, media: &M, count: u64, loose: u64) -> Result<()> {
        let full = |free| Error::Full { need: count.saturating_mul(PAGE), free };
        let end = self.next.checked_add(count).ok_or(full(0))?;
        let bytes = end.checked_mul(PAGE).ok_or(full(0))?;
        if end > self.limit {
            return Err(full(0));
        }
        media.grow(bytes).map_err(|error| match error {
            Error::Full { free, .. } => full(free),
            other => other,
        })?;
        for page in self.next..end {
            header::write(media, page, PageKind::Free)?;
        }
        media.mark(Mark::Step("pool.grow.headers"));
        // Before NEXT_PAGE covers these pages.
        media.fence();
        if self.knows_all {
            growth::allow(media, in_use(self, loose).saturating_add(count * PAGE))?;
        }
        let word = Region::new(media, NEXT_PAGE, 1)?;
        // Its flush takes along what `growth` has stored in the line.
        word.store(0, end, Ordering::Release);
        word.flush(0, 1);
        media.mark(Mark::Step("pool.grow.next_page"));
        // Before anything in these pages can be linked. No other thread has seen the new value, because the lock is
        // held: a thread that sees it sees it durable.
        media.fence();
        let first = std::mem::replace(&mut self.next, end);
        self.insert(first, count);
        self.events.tell(|| Event::Grew { file_bytes: bytes });
        Ok(())
    }
}

/// Bytes in use, caches of threads and what waits in limbo among them; `loose` are free chunks.
pub(crate) fn in_use(runs: &FreeRuns, loose: u64) -> u64 {
    // The counts of other threads may be a little behind.
    ((runs.next - runs.free()) * PAGE).saturating_sub(loose)
}

impl Pages {
    /// From now on the pool grows up to GROW_TO only.
    pub(crate) fn hold_back<M: Media>(&self, media: &M) -> Result<()> {
        // Relaxed: it was written by another session, or by this thread.
        let limit = Region::new(media, GROW_TO, 1)?.load(0, Ordering::Relaxed);
        self.runs.lock().limit = if limit == 0 { u64::MAX } else { limit };
        Ok(())
    }

    /// Whether the pool is held back: see [`hold_back`](Self::hold_back).
    pub(crate) fn is_held_back(&self) -> bool {
        self.runs.lock().limit != u64::MAX
    }

    /// Reports growth to `events` from now on.
    pub(crate) fn tell_to(&self, events: Events) {
        self.runs.lock().events = events;
    }

    /// Lets the pool grow as it must.
    pub(crate) fn let_grow(&self) {
        self.runs.lock().limit = u64::MAX;
    }

    /// Says that all free space is known in this session.
    pub(crate) fn know_all(&self) {
        let mut runs = self.runs.lock();
        (runs.knows_all, runs.limit) = (true, u64::MAX);
    }

    /// Stores how far the next session may grow if this one, which knows all free space, ends here.
    pub(crate) fn allow_growth<M: Media>(&self, media: &M) -> Result<()> {
        let runs = self.runs.lock();
        // Relaxed: a figure.
        growth::allow(media, in_use(&runs, self.loose.load(Ordering::Relaxed)))
    }

    /// Counts bytes of chunks that came to be free in a page in use, or no longer are.
    pub(crate) fn count_loose(&self, before: u64, after: u64) {
        // Relaxed: a figure.
        if after > before {
            self.loose.fetch_add(after - before, Ordering::Relaxed);
        } else if before > after {
            self.loose.fetch_sub(before - after, Ordering::Relaxed);
        }
    }
}
