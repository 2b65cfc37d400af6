//! Slabs: spans of chunks of one size class.
//!
//! One lock per class protects the bitmaps of its spans. A chunk that is not free in the bitmap of its span counts as
//! in use there, whether a map links it, a thread has it in its cache, or it waits for a grace period. So if all chunks
//! of a span are free in its bitmap, none of them is anywhere else, and the span can be given away: no cache still
//! holds a chunk of it.
//!
//! A span that this session has not met (it is older than the last crash, or was full at the last close) has no bitmap.
//! All its chunks count as used. The first of its chunks that is freed adds the span.
//!
//! A chunk in the tail of its span is allocated only after the tail in the header has become shorter, durably. That
//! holds for every way in which the chunk became free: a new span, the tails of an open after a kill, the list of a
//! clean close, or a sweep.

use crate::media::Media;
use crate::numbered::{Numbered, Numbers};
use crate::space::alloc::bitmap::Bitmap;
use crate::space::alloc::class::{Class, SMALL, WHOLE};
use crate::space::alloc::marks::Marks;
use crate::space::alloc::page::table;
use crate::space::alloc::page::table::{FoundSpan, Header, SpanKind};
use crate::space::alloc::pages::Pages;
use crate::space::layout::UNIT;
use crate::sync::{AtomicBool, Mutex, Ordering};
use crate::{Error, Result};

/// Wholly free spans that a class keeps. Without them a program that frees and allocates at the edge of a span would
/// rewrite its header each time.
const SPARES: usize = 1;
/// The least size of a class that keeps a spare, in spans of few units. In a small pool, a spare of each class would
/// take a large part.
const KEEPS_SPARES: u64 = 8;

/// All spans of chunks.
#[derive(Debug)]
pub(crate) struct Slabs {
    /// On the heap, because a thread that opens a pool may have a small stack.
    classes: Box<[Mutex<ClassSpans>]>,
    /// For each class, whether it [is sparse](ClassSpans::is_sparse); written under the lock of the class.
    sparse: [AtomicBool; Class::COUNT],
}

#[derive(Debug, Default)]
struct ClassSpans {
    /// The spans, by their first unit.
    slabs: Numbered<Slab>,
    /// The spans with a free chunk. The lowest is used first, so that the highest become empty.
    partial: Numbers,
    /// How many spans are wholly free.
    empty: usize,
    /// Free chunks in all spans.
    free: usize,
    /// Chunks of all spans.
    chunks: usize,
    /// Units of all spans of the class, including those that were not met yet, as far as they are known.
    units: u64,
    /// Units in spans of few units. After an open, the first units of a class are assumed to be in such spans.
    in_few: u64,
}

/// How a size of chunk uses its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SizeUse {
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// Bytes of the spans that have chunks of this size. (They are unknown in a read-only session of a pool that was
    /// not closed.)
    pub span_bytes: u64,
    /// Bytes of the free chunks in those spans, without chunks in caches of threads. Only requests of this size can use
    /// them, until all chunks of a span are free.
    pub free_bytes: u64,
}

/// A span of the class.
#[derive(Debug)]
struct Slab {
    units: u64,
    bitmap: Bitmap,
    /// Chunks from this number on lie in the tail, and were never handed out.
    tail: usize,
}

impl Slabs {
    pub(crate) fn new() -> Self {
        Self {
            classes: Class::all().map(|_| Mutex::default()).collect(),
            sparse: std::array::from_fn(|_| AtomicBool::new(false)),
        }
    }

    /// Changes the spans of a class under its lock, and counts the chunks that the change made free, or used.
    fn change<R>(
        &self,
        pages: &Pages,
        class: Class,
        change: impl FnOnce(&mut ClassSpans) -> R,
    ) -> R {
        let mut own = self.classes[class.index()].lock();
        let before = own.free;
        let result = change(&mut own);
        if own.free != before {
            let bytes = |chunks| chunks as u64 * class.size();
            pages.count_loose(bytes(before), bytes(own.free));
            // Relaxed: a hint that may be out of date.
            self.sparse[class.index()].store(own.is_sparse(class), Ordering::Relaxed);
        }
        result
    }

    /// Whether some spans of the class would be wholly free if its chunks lay side by side, and enough of its chunks
    /// are free to make it worth while to gather the chunks in use.
    #[inline]
    pub(crate) fn is_sparse(&self, class: Class) -> bool {
        // Relaxed, as where the flag is written.
        self.sparse[class.index()].load(Ordering::Relaxed)
    }

    /// Units of the span that the class needs for its next chunk; `None` if it has a free chunk.
    pub(crate) fn lacks(&self, pages: &Pages, class: Class) -> Option<u64> {
        let own = self.classes[class.index()].lock();
        own.partial.is_empty().then(|| own.next_units(pages, class))
    }

    /// Adds between one and `want` free chunks to `out`. Takes a new span, or a part of a tail, only if it must.
    pub(crate) fn take<M: Media>(
        &self,
        media: &M,
        pages: &Pages,
        class: Class,
        want: usize,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        self.change(pages, class, |own| {
            if own.partial.is_empty() {
                own.take_span(media, pages, class)?;
            }
            let end = out.len() + want;
            while out.len() < end {
                let must = out.len() + want == end;
                if own.take(media, class, must, end - out.len(), out)? == 0 {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Adds as many chunks to `out` as there are in a span of few units, which is taken in place of `run`. No other thread
    /// can take them meanwhile. Returns what is left of the run.
    pub(crate) fn take_of_run<M: Media>(
        &self,
        media: &M,
        pages: &Pages,
        class: Class,
        run: (u64, u64),
        out: &mut Vec<u64>,
    ) -> Result<Option<(u64, u64)>> {
        self.change(pages, class, |own| {
            let rest = own.take_span_of_run(media, pages, class, run)?;
            let end = out.len() + class.chunks(class.few_units());
            while out.len() < end && own.take(media, class, true, end - out.len(), out)? > 0 {}
            Ok(rest)
        })
    }

    /// Frees chunks. A chunk that turns out not to be in use is left alone; the first such error is returned after all
    /// others have been freed.
    pub(crate) fn give<M: Media>(
        &self,
        media: &M,
        pages: &Pages,
        class: Class,
        chunks: impl IntoIterator<Item = u64>,
    ) -> Result<()> {
        self.change(pages, class, |own| {
            let mut result = Ok(());
            for at in chunks {
                let given = own.give(media, pages, class, at);
                result = result.and(given);
            }
            result
        })
    }

    /// Gives back the wholly free spans, including the spare ones.
    pub(crate) fn release_spares<M: Media>(&self, media: &M, pages: &Pages) -> Result<()> {
        Class::all().try_for_each(|class| {
            self.change(pages, class, |own| own.release_spares(media, pages, class))
        })
    }

    /// Adds a span that the last session left partly used, as its header describes it. Returns `false` if the span was
    /// added before.
    #[must_use]
    pub(crate) fn restore(
        &self,
        pages: &Pages,
        class: Class,
        found: FoundSpan,
        free: Bitmap,
    ) -> bool {
        self.change(pages, class, |own| {
            let is_new = !own.slabs.contains(found.first);
            if is_new {
                own.insert(class, found, free);
            }
            is_new
        })
    }

    /// Adds to the count of units of the spans that the class has.
    pub(crate) fn count_units(&self, class: Class, units: u64) {
        let mut own = self.classes[class.index()].lock();
        own.units += units;
        own.in_few = own.units.min(SMALL);
    }

    /// Sets how many units the spans of the class have.
    pub(crate) fn set_units(&self, class: Class, units: u64) {
        let mut own = self.classes[class.index()].lock();
        (own.units, own.in_few) = (units, units.min(SMALL));
    }

    /// Units of all spans of the class, as far as they are known.
    pub(crate) fn units(&self, class: Class) -> u64 {
        self.classes[class.index()].lock().units
    }

    /// Frees the chunks of a span that have no mark, and returns their bytes. Does nothing if the span is no longer the
    /// one that the last session left. This does not change meanwhile, because a span leaves its class only under the
    /// lock that is held here.
    pub(crate) fn sweep<M: Media>(
        &self,
        media: &M,
        pages: &Pages,
        marks: &Marks,
        class: Class,
        first: u64,
    ) -> Result<u64> {
        self.change(pages, class, |own| own.sweep(media, pages, marks, class, first))
    }

    /// Forgets all bitmaps, as if every chunk were in use.
    pub(crate) fn forget(&self, pages: &Pages) {
        for class in Class::all() {
            self.change(pages, class, |own| *own = ClassSpans::default());
        }
    }

    /// The use of each class that has spans.
    pub(crate) fn sizes(&self) -> Vec<SizeUse> {
        let use_of = |class: Class| {
            let own = self.classes[class.index()].lock();
            SizeUse {
                chunk_bytes: class.size(),
                span_bytes: own.units * UNIT,
                free_bytes: own.free as u64 * class.size(),
            }
        };
        Class::all().map(use_of).filter(|class| class.span_bytes > 0).collect()
    }

    /// Calls `look` with each span that has a free chunk: its class, its units, its first unit, and which chunks are
    /// free.
    pub(crate) fn for_each_partial(&self, mut look: impl FnMut(Class, u64, u64, &Bitmap)) {
        for class in Class::all() {
            let own = self.classes[class.index()].lock();
            for (first, ()) in own.partial.iter() {
                if let Some(slab) = own.slabs.get(first) {
                    look(class, slab.units, first, &slab.bitmap);
                }
            }
        }
    }
}

impl ClassSpans {
    /// Adds a span. The field `units` counts its units already.
    fn insert(&mut self, class: Class, found: FoundSpan, bitmap: Bitmap) {
        let tail = class.first_from(found.tail);
        if bitmap.free() > 0 {
            self.partial.insert(found.first, ());
        }
        self.empty += usize::from(bitmap.is_empty());
        self.free += bitmap.free();
        self.chunks += bitmap.chunks();
        self.slabs.insert(found.first, Slab { units: found.header.units, bitmap, tail });
    }

    fn remove(&mut self, first: u64) -> Option<Slab> {
        self.partial.remove(first);
        let slab = self.slabs.remove(first)?;
        self.free -= slab.bitmap.free();
        self.chunks -= slab.bitmap.chunks();
        Some(slab)
    }

    /// Units of the next span. If the pool would have to grow for a span of a whole page, but has a gap for a span of
    /// few units, the class takes a span of few units, provided that it has given such spans back before. (A class has
    /// no more spans of few units than it began with, because an open after a kill reads the header of each span.)
    fn next_units(&self, pages: &Pages, class: Class) -> u64 {
        let (units, few) = (class.next_units(self.units), class.few_units());
        let fills_gap = units == WHOLE
            && class.next_units(self.in_few) == few
            && pages.span_would_grow(WHOLE)
            && !pages.span_would_grow(few);
        if fills_gap { few } else { units }
    }

    /// Takes a new span. If there is no space for one of a whole page, takes one of few units.
    fn take_span<M: Media>(&mut self, media: &M, pages: &Pages, class: Class) -> Result<()> {
        let header = |units| Header { kind: SpanKind::Slab(class), units };
        let units = self.next_units(pages, class);
        let (first, units) = match pages.take_span(media, header(units)) {
            Err(Error::Full { .. }) if units == WHOLE => {
                (pages.take_span(media, header(class.few_units()))?, class.few_units())
            }
            taken => (taken?, units),
        };
        self.add_span(media, class, (first, units))
    }

    /// Takes a span of few units in place of `run`. Returns what is left of that.
    fn take_span_of_run<M: Media>(
        &mut self,
        media: &M,
        pages: &Pages,
        class: Class,
        run: (u64, u64),
    ) -> Result<Option<(u64, u64)>> {
        let units = class.few_units();
        let header = Header { kind: SpanKind::Slab(class), units };
        let (first, rest) = pages.exchange_span(media, run, header)?;
        self.add_span(media, class, (first, units)).map(|()| rest)
    }

    fn add_span<M: Media>(
        &mut self,
        media: &M,
        class: Class,
        (first, units): (u64, u64),
    ) -> Result<()> {
        self.units += units;
        self.in_few += if units == WHOLE { 0 } else { units };
        let found = table::read(media, first)?;
        self.insert(class, found, Bitmap::all_free(class.chunks(units)));
        Ok(())
    }

    /// Gives back a span none of whose chunks is in use.
    fn give_span<M: Media>(
        &mut self,
        media: &M,
        pages: &Pages,
        class: Class,
        first: u64,
        units: u64,
    ) -> Result<()> {
        self.units = self.units.saturating_sub(units);
        self.in_few = self.in_few.saturating_sub(if units == WHOLE { 0 } else { units });
        pages.give_span(media, first, Header { kind: SpanKind::Slab(class), units })
    }

    /// Whether more than half of the chunks are free, and at least as many as a span of few units has. With fewer
    /// nothing could be gained.
    fn is_sparse(&self, class: Class) -> bool {
        self.free >= class.chunks(class.few_units()) && 2 * self.free > self.chunks
    }

    fn keeps_spare(&self, class: Class) -> bool {
        self.empty < SPARES && self.units >= KEEPS_SPARES * class.few_units()
    }

    fn release_spares<M: Media>(&mut self, media: &M, pages: &Pages, class: Class) -> Result<()> {
        if self.empty == 0 {
            return Ok(());
        }
        let is_empty =
            |first: &u64| self.slabs.get(*first).is_some_and(|slab| slab.bitmap.is_empty());
        let empty: Vec<u64> =
            self.partial.iter().map(|(first, ())| first).filter(is_empty).collect();
        self.empty = 0;
        empty.into_iter().try_for_each(|first| match self.remove(first) {
            Some(slab) => self.give_span(media, pages, class, first, slab.units),
            None => Ok(()),
        })
    }

    /// Does what [`Slabs::sweep`] does, under the lock of the class.
    fn sweep<M: Media>(
        &mut self,
        media: &M,
        pages: &Pages,
        marks: &Marks,
        class: Class,
        first: u64,
    ) -> Result<u64> {
        if !pages.is_left_over(first) {
            return Ok(0);
        }
        let Some(unmarked) = marks.unmarked(first) else { return Ok(0) };
        if unmarked.free() == 0 {
            return Ok(0);
        }
        let bytes = unmarked.free() as u64 * class.size();
        let free = match self.slabs.get(first) {
            None => unmarked,
            Some(given) => given.bitmap.with(&unmarked).ok_or(Error::Corrupt {
                offset: first * UNIT,
                what: "a free chunk without a mark",
            })?,
        };
        // The span was not wholly free before, because the `unmarked` chunks were not in its bitmap.
        self.remove(first);
        let found = table::read(media, first)?;
        match free.is_empty() {
            true => self.give_span(media, pages, class, first, found.header.units)?,
            false => self.insert(class, found, free),
        }
        Ok(bytes)
    }

    /// Adds up to `want` chunks to `out`, the lowest free ones of one span. Takes only the first part of a tail, and
    /// only if it `must`. Returns how many chunks it added.
    fn take<M: Media>(
        &mut self,
        media: &M,
        class: Class,
        must: bool,
        want: usize,
        out: &mut Vec<u64>,
    ) -> Result<usize> {
        let Some(first) = self.partial.first() else { return Ok(0) };
        let Some(slab) = self.slabs.get_mut(first) else { return Ok(0) };
        let (was_empty, before) = (slab.bitmap.is_empty(), out.len());
        while out.len() < before + want
            && let Some(chunk) = slab.bitmap.lowest()
        {
            let place = class.place(chunk);
            if chunk >= slab.tail {
                if !must || out.len() > before {
                    // A kill loses the chunks of a cache. So the rest of a batch does not use a further part of the
                    // span.
                    break;
                }
                let header = Header { kind: SpanKind::Slab(class), units: slab.units };
                let tail = table::shorten_tail(media, first, header, place)?;
                slab.tail = class.first_from(tail);
            }
            slab.bitmap.take();
            out.push(first * UNIT + place);
        }
        let taken = out.len() - before;
        self.free -= taken;
        self.empty -= usize::from(was_empty && taken > 0);
        if slab.bitmap.free() == 0 {
            self.partial.remove(first);
        }
        Ok(taken)
    }

    /// The first unit of the span that has a chunk at `at`. Adds the span if this session has not met it yet.
    fn meet<M: Media>(&mut self, media: &M, pages: &Pages, class: Class, at: u64) -> Result<u64> {
        let unit = at / UNIT;
        if let Some((first, slab)) = self.slabs.at_most(unit)
            && unit < first + slab.units
        {
            return Ok(first);
        }
        let found = pages.find_span(media, unit)?;
        if found.header.kind != SpanKind::Slab(class) {
            let what = "a chunk in a span that has none of its size";
            return Err(Error::Corrupt { offset: at, what });
        }
        self.insert(class, found, Bitmap::all_used(class.chunks(found.header.units)));
        Ok(found.first)
    }

    fn give<M: Media>(&mut self, media: &M, pages: &Pages, class: Class, at: u64) -> Result<()> {
        let damage = |what| Error::Corrupt { offset: at, what };
        let first = self.meet(media, pages, class, at)?;
        let slab = self.slabs.get_mut(first).ok_or(damage("a freed chunk without a span"))?;
        let chunk = class.number(at - first * UNIT);
        let chunk = chunk.ok_or(damage("a freed chunk that starts nowhere"))?;
        if chunk >= slab.bitmap.chunks() {
            return Err(damage("a freed chunk that starts nowhere"));
        }
        if chunk >= slab.tail {
            return Err(damage("a freed chunk that was never handed out"));
        }
        if !slab.bitmap.give(chunk) {
            return Err(damage("a chunk freed twice"));
        }
        self.free += 1;
        if slab.bitmap.free() == 1 {
            self.partial.insert(first, ());
        }
        if slab.bitmap.is_empty() {
            let units = slab.units;
            if self.keeps_spare(class) {
                self.empty += 1;
            } else {
                self.remove(first);
                self.give_span(media, pages, class, first, units)?;
            }
        }
        Ok(())
    }
}
