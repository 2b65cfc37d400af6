//! The pages of a pool, and the units of those that are cut: which of them are free, and how the pool grows.
//!
//! A page starts FREE: its header is made durable *before* NEXT_PAGE covers the page. It becomes CUT when its table is
//! durable, and LARGE when it begins a run. So in every crash state each page below NEXT_PAGE that does not continue a
//! run has a valid header, each page that is cut has a table that is one chain of spans, and nothing that a crash takes
//! back can be linked.
//!
//! All of this happens under one lock. So a thread never finds a NEXT_PAGE that is large enough but not durable yet,
//! and never links into a page that a crash makes free again. A thread that walks a table holds that lock.
//!
//! # Free is durable
//!
//! A page or a span says FREE, durably, before its units become free in DRAM. What a killed process left visible is
//! flushed by the next open, before its first operation ([`survey`](super::survey)). So each run of free units starts
//! with a durable FREE, and the chain from there ends where the run ends. Units are always taken from the start of a
//! run: the words after them stay as they are, or are not read.

use crate::media::{Mark, Media, Ordering, Region, STEP};
use crate::space::alloc::events::{Event, Events};
use crate::space::alloc::growth;
use crate::space::alloc::page::header;
use crate::space::alloc::page::header::PageKind;
use crate::space::alloc::page::runs::Runs;
use crate::space::alloc::page::units::FreeUnits;
use crate::space::layout::{GROW_TO, LENGTH, NEXT_PAGE, PAGE, UNIT, UNITS, first_unit};
use crate::sync::{AtomicU64, Mutex};
use crate::{Error, Result, SpaceLimit};

/// The pages of a pool.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) free: Mutex<FreeSpace>,
    /// Bytes of free chunks in spans that are in use, as counted by the slabs.
    pub(crate) loose: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct FreeSpace {
    /// The number of pages ever taken; NEXT_PAGE has the same value, durably.
    pub(crate) next: u64,
    /// The least length of the file; LENGTH has the same value.
    pub(crate) length: u64,
    /// The length up to which the file may grow for now: see [`growth`].
    pub(crate) limit: u64,
    /// Whether all free space is known, so that the pool grows only if it must.
    pub(crate) knows_all: bool,
    pub(crate) pages: Runs,
    pub(crate) units: FreeUnits,
    /// One bit for each unit that the pool had at the open, if a leak recovery will follow. The bit is set once the
    /// unit has been free in this session.
    given: Box<[[u64; UNITS as usize / 64]]>,
    /// Receives an event each time the file grows.
    events: Events,
}

impl Pages {
    /// The pages of a formatted medium: all below NEXT_PAGE are in use.
    pub(crate) fn load<M: Media>(media: &M) -> Result<Self> {
        let word = |at| Ok(Region::new(media, at, 1)?.load(0, Ordering::Acquire));
        let (next, length) = (word(NEXT_PAGE)?, word(LENGTH)?);
        check(media.len(), next, length)?;
        let free = FreeSpace {
            next,
            length,
            limit: u64::MAX,
            knows_all: false,
            pages: Runs::default(),
            units: FreeUnits::default(),
            given: Box::default(),
            events: Events::default(),
        };
        Ok(Self { free: Mutex::new(free), loose: AtomicU64::new(0) })
    }

    /// Fails if there are pages that NEXT_PAGE does not count. The first of them would be taken a second time.
    pub(crate) fn check_end<M: Media>(&self, media: &M, is_clean: bool) -> Result<()> {
        let free = self.free.lock();
        if free.length <= free.next * PAGE {
            return Ok(());
        }
        // A close leaves no such length. A growth that was cut short leaves free pages there, because their headers are
        // durable before LENGTH is stored.
        let used = matches!(header::read(media, free.next), Ok(PageKind::Cut | PageKind::Large(_)));
        if is_clean || used {
            let what = "a length that is more than that of all pages";
            return Err(Error::Corrupt { offset: NEXT_PAGE, what });
        }
        Ok(())
    }

    /// The number of pages ever taken, including page 0.
    pub(crate) fn next(&self) -> u64 {
        self.free.lock().next
    }

    /// The least length of the file in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.free.lock().length
    }

    /// Bytes of the pool that are in use: all except free pages and free units.
    pub(crate) fn bytes_in_use(&self) -> u64 {
        self.free.lock().bytes_in_use()
    }

    /// Whether the file has to grow for `count` neighbouring pages.
    pub(crate) fn would_grow(&self, count: u64) -> bool {
        let free = self.free.lock();
        free.pages.fit(count).is_none_or(|first| (first + count) * PAGE > free.length)
    }

    /// The runs of free pages in units, as first unit and end, ascending.
    pub(crate) fn free_pages(&self) -> Vec<(u64, u64)> {
        let runs = |(first, count)| (first * UNITS, (first + count) * UNITS);
        self.free.lock().pages.iter().map(runs).collect()
    }

    /// The runs of free units in pages that are cut, as first unit and end, ascending.
    pub(crate) fn free_units(&self) -> Vec<(u64, u64)> {
        self.free.lock().units.runs().collect()
    }

    /// Bytes of the longest piece of free space, if the file can grow by `growth` bytes. O(number of pieces).
    pub(crate) fn longest_piece(&self, growth: u64) -> u64 {
        let (file, next) = (self.length().saturating_add(growth), self.next() * UNITS);
        let length = |(first, end): (u64, u64)| (end * UNIT).min(file).saturating_sub(first * UNIT);
        // New pages follow the last one. A chunk of more than one page takes whole pages.
        let pages = self.free_pages().into_iter().chain([(next, next)]);
        let pages =
            pages.map(|(first, end)| (first, if end == next { u64::MAX / UNIT } else { end }));
        let whole = |bytes: u64| if bytes < PAGE { bytes } else { bytes - bytes % PAGE };
        let units = self.free_units().into_iter().map(length);
        pages.map(length).map(whole).chain(units).max().unwrap_or(0)
    }

    /// Begins to record, for each unit that the pool has now, whether the unit has been free since.
    pub(crate) fn watch(&self) {
        let mut free = self.free.lock();
        free.given = vec![[0; UNITS as usize / 64]; free.next as usize].into();
        let pages: Vec<_> = free.pages.iter().collect();
        pages.into_iter().for_each(|(page, count)| free.note(page * UNITS, (page + count) * UNITS));
        let units: Vec<_> = free.units.runs().collect();
        units.into_iter().for_each(|(first, end)| free.note(first, end));
    }

    /// Whether the unit was in use at the open and has not been free in this session.
    pub(crate) fn is_left_over(&self, unit: u64) -> bool {
        self.free.lock().is_left_over(unit)
    }

    /// Takes `count` neighbouring pages for one chunk. The header of the first page is durable on return.
    pub(crate) fn take_large<M: Media>(&self, media: &M, count: u64) -> Result<u64> {
        // Relaxed: an estimate for `growth`.
        let loose = self.loose.load(Ordering::Relaxed);
        let mut free = self.free.lock();
        let first = match free.pages.fit(count) {
            Some(first) => {
                free.reach(media, (first + count) * PAGE, loose)?;
                first
            }
            None => {
                let more = count - free.pages.count_before(free.next);
                let end = free.next.saturating_add(more).saturating_mul(PAGE);
                free.append(media, more, end, loose)?;
                free.next - count
            }
        };
        header::write(media, first, PageKind::Large(count))?;
        media.mark(Mark::Step("pool.large.take"));
        // Before the chunk can be linked: after a crash a walk over the pages must see the run that the link refers to.
        // A drain, because another thread may link the chunk. It gets the chunk through locks in DRAM, which do not
        // make this thread's stores durable.
        media.drain();
        free.pages.remove(first, count);
        Ok(first)
    }

    /// The number of pages of the run that begins at page `first`, which is in use.
    pub(crate) fn find_large<M: Media>(&self, media: &M, first: u64) -> Result<u64> {
        let free = self.free.lock();
        let damage = |what| Err(Error::Corrupt { offset: first.saturating_mul(PAGE), what });
        if first == 0 || first >= free.next {
            return damage("a chunk outside of the pages in use");
        }
        if free.pages.has(first) {
            return damage("a chunk in free space");
        }
        match header::read(media, first)? {
            PageKind::Large(count) => Ok(count),
            _ => damage("a large chunk without a run of its size"),
        }
    }

    /// Frees the run of one large chunk.
    ///
    /// The later pages of the run have data in place of headers. Their headers become FREE first, while the first
    /// header still covers them. Once the later headers are durable, the first header becomes FREE.
    pub(crate) fn give_large<M: Media>(&self, media: &M, first: u64, count: u64) -> Result<()> {
        let mut free = self.free.lock();
        let damage = |what| Err(Error::Corrupt { offset: first.saturating_mul(PAGE), what });
        let inside = first > 0 && first.checked_add(count).is_some_and(|end| end <= free.next);
        if !inside || free.pages.touches(first, first + count) {
            return damage("a freed large chunk that is not in use");
        }
        if header::read(media, first)? != PageKind::Large(count) {
            return damage("a freed large chunk whose header says otherwise");
        }
        for page in first + 1..first + count {
            header::write(media, page, PageKind::Free)?;
        }
        media.mark(Mark::Step("pool.large.free.rest"));
        // Before the first header stops covering the others.
        media.fence();
        header::write(media, first, PageKind::Free)?;
        media.mark(Mark::Step("pool.large.free.first"));
        // Before another thread can take a page. With a store buffer in front of the durable memory, this header could
        // otherwise become durable after the next owner's, because only a lock in DRAM orders the two stores. Pairs
        // with the store of the header in `take_large` and of the table in `take_span`.
        media.drain();
        free.insert_pages(first, count);
        Ok(())
    }

    /// Makes pages free that a previous session left free, as their headers or the list of its close say. Returns
    /// `false` and changes nothing if there are no such pages, or if one of them is free already.
    #[must_use]
    pub(crate) fn restore_pages(&self, first: u64, count: u64) -> bool {
        let mut free = self.free.lock();
        let end = first.checked_add(count);
        let sound = first > 0
            && count > 0
            && end.is_some_and(|end| end <= free.next && !free.pages.touches(first, end));
        if sound {
            free.insert_pages(first, count);
        }
        sound
    }

    /// Does what [`restore_pages`](Self::restore_pages) does, for the units `first..end` of a page that is cut.
    #[must_use]
    pub(crate) fn restore_units(&self, first: u64, end: u64) -> bool {
        let mut free = self.free.lock();
        let page = first / UNITS;
        let sound = first < end
            && (first_unit(page)..=(page + 1) * UNITS).contains(&first)
            && end <= (page + 1) * UNITS
            && page < free.next
            && !free.pages.has(page)
            && !free.units.touches(first, end);
        if sound {
            free.insert_units(first, end);
        }
        sound
    }

    /// Forgets all free space, as if none were free.
    pub(crate) fn forget(&self) {
        let mut free = self.free.lock();
        free.pages.clear();
        free.units = FreeUnits::default();
        free.given = Box::default();
    }
}

/// Fails unless a file of `have` bytes can hold a pool of `next` pages and of this length.
pub(crate) fn check(have: u64, next: u64, length: u64) -> Result<()> {
    let damage = |offset, what| Err(Error::Corrupt { offset, what });
    // All pages but the last are whole.
    let Some(before) = next.checked_sub(1).and_then(|pages| pages.checked_mul(PAGE)) else {
        return damage(NEXT_PAGE, "an impossible number of pages");
    };
    if before.checked_add(PAGE).is_none() {
        return damage(NEXT_PAGE, "an impossible number of pages");
    }
    if length <= before || !length.is_multiple_of(STEP) {
        return damage(LENGTH, "an impossible length of the pool");
    }
    if have < length {
        return Err(Error::Truncated { have, need: length, checkpoint: None });
    }
    Ok(())
}

impl FreeSpace {
    /// Bytes of all pages that are not free.
    pub(crate) fn bytes_in_use(&self) -> u64 {
        ((self.next - self.pages.count()) * UNITS - self.units.count()) * UNIT
    }

    pub(crate) fn is_left_over(&self, unit: u64) -> bool {
        let page = self.given.get((unit / UNITS) as usize);
        page.is_some_and(|page| {
            let unit = unit % UNITS;
            page[(unit / 64) as usize] >> (unit % 64) & 1 == 0
        })
    }

    /// Notes that the units `first..end` became free.
    fn note(&mut self, first: u64, end: u64) {
        for unit in first..end {
            let Some(page) = self.given.get_mut((unit / UNITS) as usize) else { return };
            page[(unit % UNITS / 64) as usize] |= 1 << (unit % 64);
        }
    }

    pub(crate) fn insert_pages(&mut self, first: u64, count: u64) {
        self.note(first * UNITS, (first + count) * UNITS);
        self.pages.insert(first, count);
    }

    pub(crate) fn insert_units(&mut self, first: u64, end: u64) {
        self.note(first, end);
        self.units.set(first, end, true);
    }

    /// Makes the file reach to byte `end`, which is at most the end of the last page. `loose` is the bytes of free
    /// chunks.
    pub(crate) fn reach<M: Media>(&mut self, media: &M, end: u64, loose: u64) -> Result<()> {
        if end <= self.length {
            return Ok(());
        }
        let most = self.next * PAGE;
        self.grow(media, end, most)?;
        if self.knows_all {
            growth::allow(media, self.in_use(loose))?;
        }
        self.store_length(media)?;
        // The caller fences where it takes the span for which the file grows.
        Region::new(media, LENGTH, 1)?.flush(0, 1);
        Ok(())
    }

    /// Makes the file longer, so that it has byte `end`, and has up to `most` bytes if the medium has space.
    fn grow<M: Media>(&mut self, media: &M, end: u64, most: u64) -> Result<()> {
        let need = end.saturating_sub(self.length);
        let at_least = end.next_multiple_of(STEP).min(most);
        if at_least > self.limit {
            return Err(Error::full(need, 0, SpaceLimit::MaxSize));
        }
        let want = growth::length_for(self.length, end).min(most).min(self.limit.max(at_least));
        let full = |error| match error {
            Error::Full { free, limit, .. } => Error::full(need, free, limit),
            other => other,
        };
        self.length = match media.grow(want) {
            Err(Error::Full { .. }) => media.grow(at_least).map(|()| at_least).map_err(full)?,
            grown => grown.map(|()| want)?,
        };
        let file_bytes = self.length;
        self.events.tell(|| Event::Grew { file_bytes });
        Ok(())
    }

    /// Stores the length of the file. The caller flushes a word of the line.
    fn store_length<M: Media>(&self, media: &M) -> Result<()> {
        // Relaxed: the lock is held, and at the next open no other thread runs.
        Region::new(media, LENGTH, 1)?.store(0, self.length, Ordering::Relaxed);
        Ok(())
    }

    /// Appends `count` free pages to the pool. The file need not have the part of these pages beyond byte `end`.
    /// `loose` is the bytes of free chunks in the other pages.
    pub(crate) fn append<M: Media>(
        &mut self,
        media: &M,
        count: u64,
        end: u64,
        loose: u64,
    ) -> Result<()> {
        let need = count.saturating_mul(PAGE);
        let full = Error::full(need, 0, SpaceLimit::MaxSize);
        let next = self.next.checked_add(count).filter(|next| next.checked_mul(PAGE).is_some());
        let next = next.ok_or(full)?;
        if end > self.length {
            self.grow(media, end, next * PAGE)?;
        }
        for page in self.next..next {
            header::write(media, page, PageKind::Free)?;
        }
        media.mark(Mark::Step("pool.grow.headers"));
        // Before LENGTH and NEXT_PAGE cover these pages.
        media.fence();
        self.store_length(media)?;
        if self.knows_all {
            let more = end.saturating_sub(self.next * PAGE);
            growth::allow(media, self.in_use(loose).saturating_add(more))?;
        }
        let word = Region::new(media, NEXT_PAGE, 1)?;
        // Release, and in the line of LENGTH: so it is not durable before LENGTH is. Its flush covers what `growth` has
        // stored in that line.
        word.store(0, next, Ordering::Release);
        word.flush(0, 1);
        media.mark(Mark::Step("pool.grow.next_page"));
        // Before anything in these pages can be linked. No other thread has seen the new value, because the lock is
        // held. A thread that sees the value later sees a durable one.
        media.fence();
        let first = std::mem::replace(&mut self.next, next);
        self.insert_pages(first, count);
        Ok(())
    }

    /// Bytes in use, including caches of threads and chunks in limbo, without the `loose` bytes of free chunks.
    fn in_use(&self, loose: u64) -> u64 {
        // The counts of other threads may lag a little.
        self.bytes_in_use().saturating_sub(loose)
    }
}

impl Pages {
    /// Limits the growth of the pool to GROW_TO from now on.
    pub(crate) fn hold_back<M: Media>(&self, media: &M) -> Result<()> {
        // Relaxed: the word was written by another session, or by this thread.
        let limit = Region::new(media, GROW_TO, 1)?.load(0, Ordering::Relaxed);
        let limit = limit.checked_next_multiple_of(STEP).filter(|&limit| limit > 0);
        self.free.lock().limit = limit.unwrap_or(u64::MAX);
        Ok(())
    }

    /// Whether the growth of the pool is limited: see [`hold_back`](Self::hold_back).
    pub(crate) fn is_held_back(&self) -> bool {
        self.free.lock().limit != u64::MAX
    }

    /// Reports growth to `events` from now on.
    pub(crate) fn set_listener(&self, events: Events) {
        self.free.lock().events = events;
    }

    /// Lifts the limit of growth.
    pub(crate) fn let_grow(&self) {
        self.free.lock().limit = u64::MAX;
    }

    /// Records that all free space is known in this session.
    pub(crate) fn know_all(&self) {
        let mut free = self.free.lock();
        (free.knows_all, free.limit) = (true, u64::MAX);
    }

    /// Stores how far the next session may grow the file if this one, which knows all free space, ends here.
    pub(crate) fn allow_growth<M: Media>(&self, media: &M) -> Result<()> {
        let free = self.free.lock();
        // Relaxed: an estimate.
        growth::allow(media, free.in_use(self.loose.load(Ordering::Relaxed)))
    }

    /// Counts the free chunks of spans in use: `before` and `after` a change, in bytes.
    pub(crate) fn count_loose(&self, before: u64, after: u64) {
        // Relaxed: an estimate.
        if after > before {
            self.loose.fetch_add(after - before, Ordering::Relaxed);
        } else if before > after {
            self.loose.fetch_sub(before - after, Ordering::Relaxed);
        }
    }
}
