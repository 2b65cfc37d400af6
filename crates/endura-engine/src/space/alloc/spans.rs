//! Spans: taken from runs of free units, and given back to them.
//!
//! A span is taken from the start of a run of free units, or from a free page, which is cut. The rest of the run or of
//! the page becomes one free span, which begins where the new span ends. The header of the free span is durable before
//! the header of the new span is stored.

use crate::media::{Mark, Media, Ordering, Region, STEP};
use crate::space::alloc::class::WHOLE;
use crate::space::alloc::page::header as page_header;
use crate::space::alloc::page::header::PageKind;
use crate::space::alloc::page::table;
use crate::space::alloc::page::table::{FoundSpan, Header, SpanKind};
use crate::space::alloc::pages::{FreeSpace, Pages};
use crate::space::layout::{LENGTH, NEXT_PAGE, PAGE, UNIT, UNITS, first_unit};
use crate::{Error, Result};

/// A place from which a span can be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpanSource {
    /// At the start of the run of free units that begins at this unit.
    Gap(u64),
    /// In this free page.
    Page(u64),
    /// Nowhere yet: the pool has to grow by a page.
    New,
}

impl SpanSource {
    /// The unit at which the place begins, if the pool has `next` pages.
    fn first(self, next: u64) -> u64 {
        match self {
            Self::Gap(first) => first,
            Self::Page(page) => first_unit(page),
            Self::New => first_unit(next),
        }
    }
}

impl Pages {
    /// Takes a span. Its header is durable on return.
    pub(crate) fn take_span<M: Media>(&self, media: &M, header: Header) -> Result<u64> {
        // Relaxed: an estimate for `growth`.
        let loose = self.loose.load(Ordering::Relaxed);
        self.free.lock().take_span(media, header, loose)
    }

    /// Whether the file has to grow for a span of `units` units.
    pub(crate) fn span_would_grow(&self, units: u64) -> bool {
        let free = self.free.lock();
        let place = free.place(units);
        place == SpanSource::New || (place.first(free.next) + units) * UNIT > free.length
    }

    /// Does what [`FreeSpace::give_span`] does.
    pub(crate) fn give_span<M: Media>(&self, media: &M, first: u64, header: Header) -> Result<()> {
        self.free.lock().give_span(media, first, header)
    }

    /// Gives back the span of `run`, and takes one like `header` in its place, which is no larger, and a further one of what
    /// is left. No other thread can take the units meanwhile. Returns the first units of both.
    pub(crate) fn exchange_span<M: Media>(
        &self,
        media: &M,
        (first, run): (u64, u64),
        header: Header,
    ) -> Result<(u64, Option<(u64, u64)>)> {
        // Relaxed: an estimate for `growth`.
        let loose = self.loose.load(Ordering::Relaxed);
        let mut free = self.free.lock();
        free.give_span(media, first, Header { kind: SpanKind::Run, units: run })?;
        let taken = free.take_span(media, header, loose)?;
        let rest = Header { kind: SpanKind::Run, units: run - header.units };
        let rest = match rest.units {
            0 => None,
            units => Some((free.take_span(media, rest, loose)?, units)),
        };
        Ok((taken, rest))
    }

    /// The span in use that contains unit `unit`. O(spans of the page).
    pub(crate) fn find_span<M: Media>(&self, media: &M, unit: u64) -> Result<FoundSpan> {
        // Under the lock, so that the chain is whole.
        self.free.lock().find(media, unit)
    }
}

impl Pages {
    /// The span in use that begins at unit `first`, where one is known to begin.
    pub(crate) fn span_at<M: Media>(&self, media: &M, first: u64) -> Result<FoundSpan> {
        let free = self.free.lock();
        free.check(media, first)?;
        table::read(media, first)
    }

    /// Gives up what lies more than `spare` bytes after the last unit in use, if it is an eighth of the file or more.
    /// Returns the new length of the pool in bytes. NEXT_PAGE and LENGTH are in the line of SAVED_FREE, and are flushed
    /// with it.
    pub(crate) fn shorten<M: Media>(&self, media: &M, spare: u64) -> Result<u64> {
        let mut free = self.free.lock();
        let end = free.end() * UNIT;
        if end > free.length {
            // Damage: LENGTH is too short. Nothing that lies after it may be lost.
            return Ok(end);
        }
        // A growth during which the process was killed may have left a LENGTH that reaches beyond the last page.
        let most = free.length.min(free.next * PAGE);
        let need = end.saturating_add(spare).next_multiple_of(STEP);
        let need = if need > most - most / 8 { most } else { need };
        if need == free.length {
            return Ok(need);
        }
        let next = need.div_ceil(PAGE);
        if next < free.next {
            // Relaxed: the pool is being closed, and LENGTH is stored after it, with Release.
            Region::new(media, NEXT_PAGE, 1)?.store(0, next, Ordering::Relaxed);
            media.mark(Mark::Step("pool.save.next_page"));
            let gone = free.next - next;
            free.pages.remove(next, gone);
            free.next = next;
        }
        free.length = need;
        // Release: LENGTH must reach into the last page. NEXT_PAGE lies in the same line, so the two become durable in
        // this order, whatever a fence does.
        Region::new(media, LENGTH, 1)?.store(0, need, Ordering::Release);
        Ok(need)
    }
}

impl FreeSpace {
    /// Takes a span. Its header is durable on return. `loose` is an estimate for [`growth`](super::growth).
    fn take_span<M: Media>(&mut self, media: &M, header: Header, loose: u64) -> Result<u64> {
        let place = self.place(header.units);
        let first = place.first(self.next);
        let end = first.saturating_add(header.units).saturating_mul(UNIT);
        match place {
            SpanSource::Gap(_) | SpanSource::Page(_) => self.reach(media, end, loose)?,
            SpanSource::New => self.append(media, 1, end, loose)?,
        }
        match place {
            SpanSource::Gap(_) => self.take_from_gap(media, first, header)?,
            SpanSource::Page(_) | SpanSource::New => self.cut(media, first / UNITS, header)?,
        }
        Ok(first)
    }

    /// Gives back a span that begins at unit `first` and is in use. Its header says FREE from now on; if nothing else
    /// in its page is in use, the header of the page says FREE instead.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if there is no such span. Nothing is changed then.
    fn give_span<M: Media>(&mut self, media: &M, first: u64, header: Header) -> Result<()> {
        let found = self.find(media, first)?;
        if found.first != first || found.header != header {
            let what = "a freed span whose header says otherwise";
            return Err(Error::Corrupt { offset: first.saturating_mul(UNIT), what });
        }
        let page = first / UNITS;
        if header.units + self.units.count_in(page) == WHOLE {
            page_header::write(media, page, PageKind::Free)?;
            media.mark(Mark::Step("pool.page.free"));
            // Before the page can be taken: its table is written then, and this header must be durable before that.
            media.drain();
            self.units.forget(page);
            self.insert_pages(page, 1);
            return Ok(());
        }
        table::write(media, first, Header { kind: SpanKind::Free, units: header.units })?;
        media.mark(Mark::Step("pool.span.free"));
        // Before another thread can take the units. With a store buffer in front of the durable memory, this word could
        // otherwise become durable after the next owner's, because only a lock in DRAM orders the two stores. Pairs
        // with the stores of `take_from_gap`.
        media.drain();
        self.insert_units(first, first + header.units);
        Ok(())
    }

    /// The unit after the last one in use.
    fn end(&self) -> u64 {
        let page = self.next - self.pages.count_before(self.next);
        let last = self.units.last_run();
        last.filter(|&(_, end)| end == page * UNITS).map_or(page * UNITS, |(first, _)| first)
    }

    /// Where a span of `units` units is taken from: the lowest gap, if the file has it, else the lowest free page, else
    /// a gap that the file does not have yet.
    fn place(&self, units: u64) -> SpanSource {
        let gap = self.units.fit(units);
        let in_file = gap.filter(|gap| (gap + units) * UNIT <= self.length).map(SpanSource::Gap);
        in_file
            .or_else(|| self.pages.fit(1).map(SpanSource::Page))
            .or_else(|| gap.map(SpanSource::Gap))
            .unwrap_or(SpanSource::New)
    }

    /// Takes a span from the start of the run of free units that begins at `first`.
    fn take_from_gap<M: Media>(&mut self, media: &M, first: u64, header: Header) -> Result<()> {
        let (rest, end) = (first + header.units, self.units.end_of_run(first));
        if rest < end {
            table::write(media, rest, Header { kind: SpanKind::Free, units: end - rest })?;
            media.mark(Mark::Step("pool.span.rest"));
            // Before the header of the new span says that a span begins at `rest`. Until then that unit lies inside a
            // free span, and its word is not read.
            media.fence();
        }
        table::write(media, first, header)?;
        media.mark(Mark::Step("pool.span.take"));
        // Before any chunk of the span can be linked: after a crash a walk must see the span that the link refers to. A
        // drain, because another thread may link the chunk, which it gets through locks in DRAM.
        media.drain();
        self.units.set(first, rest, false);
        Ok(())
    }

    /// Turns a free page into a page of spans, whose first span has this header.
    fn cut<M: Media>(&mut self, media: &M, page: u64, header: Header) -> Result<()> {
        let first = first_unit(page);
        let (rest, end) = (first + header.units, (page + 1) * UNITS);
        if rest < end {
            table::write(media, rest, Header { kind: SpanKind::Free, units: end - rest })?;
        }
        table::write(media, first, header)?;
        media.mark(Mark::Step("pool.page.cut.table"));
        // Before the page's header says that the table is valid.
        media.fence();
        page_header::write(media, page, PageKind::Cut)?;
        media.mark(Mark::Step("pool.page.cut"));
        // Before any chunk of the span can be linked, as in `take_from_gap`.
        media.drain();
        self.pages.remove(page, 1);
        if rest < end {
            self.units.set(rest, end, true);
        }
        Ok(())
    }

    /// Whether all units in use lie below LENGTH, as far as is known.
    pub(crate) fn has_all_in_file(&self) -> bool {
        self.end() * UNIT <= self.length
    }

    /// Does what [`Pages::find_span`] does, under the lock that is held.
    fn find<M: Media>(&self, media: &M, unit: u64) -> Result<FoundSpan> {
        self.check(media, unit)?;
        table::find(media, unit)
    }

    /// Fails if the unit cannot be part of a span in use.
    fn check<M: Media>(&self, media: &M, unit: u64) -> Result<()> {
        let damage = |what| Err(Error::Corrupt { offset: unit.saturating_mul(UNIT), what });
        let page = unit / UNITS;
        if page >= self.next || unit < first_unit(page) {
            return damage("a chunk outside of the pages in use");
        }
        if self.pages.has(page) || self.units.is_free(unit) {
            return damage("a chunk in free space");
        }
        if page_header::read(media, page)? != PageKind::Cut {
            return damage("a chunk in a page that has none of its size");
        }
        Ok(())
    }
}
