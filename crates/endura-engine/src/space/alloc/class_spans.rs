//! The spans of one size class, under its lock.

use crate::media::Media;
use crate::numbered::{Numbered, Numbers};
use crate::space::alloc::bitmap::Bitmap;
use crate::space::alloc::class::{Class, WHOLE};
use crate::space::alloc::marks::Marks;
use crate::space::alloc::page::table;
use crate::space::alloc::page::table::{FoundSpan, Header, SpanKind};
use crate::space::alloc::pages::Pages;
use crate::space::layout::UNIT;
use crate::{Error, Result};

/// Wholly free spans that a class keeps. Without them a program that frees and allocates at the edge of a span would
/// rewrite its header each time.
const SPARES: usize = 1;
/// The least size of a class that keeps a spare, in spans of few units. In a small pool, a spare of each class would
/// take a large part.
const KEEPS_SPARES: u64 = 8;

/// The spans of a class.
#[derive(Debug, Default)]
pub(super) struct ClassSpans {
    /// The spans, by their first unit.
    pub(super) slabs: Numbered<Slab>,
    /// The spans with a free chunk. The lowest is used first, so that the highest become empty.
    pub(super) partial: Numbers,
    /// How many spans are wholly free.
    pub(super) empty: usize,
    /// Free chunks in all spans.
    pub(super) free: usize,
    /// Chunks of all spans.
    pub(super) chunks: usize,
    /// Units of all spans of the class, including those that were not met yet, as far as they are known.
    pub(super) units: u64,
    /// Units in spans of few units. After an open, the first units of a class are assumed to be in such spans.
    pub(super) in_few: u64,
}

/// A span of the class.
#[derive(Debug)]
pub(super) struct Slab {
    pub(super) units: u64,
    pub(super) bitmap: Bitmap,
    /// Chunks from this number on lie in the tail, and were never handed out.
    pub(super) tail: usize,
}

impl ClassSpans {
    /// Adds a span. The field `units` counts its units already.
    pub(super) fn insert(&mut self, class: Class, found: FoundSpan, bitmap: Bitmap) {
        let tail = class.first_from(found.tail);
        if bitmap.free() > 0 {
            self.partial.insert(found.first, ());
        }
        self.empty += usize::from(bitmap.is_empty());
        self.free += bitmap.free();
        self.chunks += bitmap.chunks();
        self.slabs.insert(found.first, Slab { units: found.header.units, bitmap, tail });
    }

    pub(super) fn remove(&mut self, first: u64) -> Option<Slab> {
        self.partial.remove(first);
        let slab = self.slabs.remove(first)?;
        self.free -= slab.bitmap.free();
        self.chunks -= slab.bitmap.chunks();
        Some(slab)
    }

    /// Units of the next span. If the pool would have to grow for a span of a whole page, but has a gap for a span of
    /// few units, the class takes a span of few units, provided that it has given such spans back before. (A class has
    /// no more spans of few units than it began with, because an open after a kill reads the header of each span.)
    pub(super) fn next_units(&self, pages: &Pages, class: Class) -> u64 {
        let (units, few) = (class.next_units(self.units), class.few_units());
        let fills_gap = units == WHOLE
            && class.next_units(self.in_few) == few
            && pages.span_would_grow(WHOLE)
            && !pages.span_would_grow(few);
        if fills_gap { few } else { units }
    }

    /// Takes a new span. If there is no space for one of a whole page, takes one of few units.
    pub(super) fn take_span<M: Media>(
        &mut self,
        media: &M,
        pages: &Pages,
        class: Class,
    ) -> Result<()> {
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
    pub(super) fn take_span_of_run<M: Media>(
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

    pub(super) fn add_span<M: Media>(
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
    pub(super) fn give_span<M: Media>(
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
    pub(super) fn is_sparse(&self, class: Class) -> bool {
        self.free >= class.chunks(class.few_units()) && 2 * self.free > self.chunks
    }

    pub(super) fn keeps_spare(&self, class: Class) -> bool {
        self.empty < SPARES && self.units >= KEEPS_SPARES * class.few_units()
    }

    pub(super) fn release_spares<M: Media>(
        &mut self,
        media: &M,
        pages: &Pages,
        class: Class,
    ) -> Result<()> {
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

    /// Does what [`sweep`](super::slab::Slabs::sweep) does, under the lock of the class.
    pub(super) fn sweep<M: Media>(
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
    pub(super) fn take<M: Media>(
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
    pub(super) fn meet<M: Media>(
        &mut self,
        media: &M,
        pages: &Pages,
        class: Class,
        at: u64,
    ) -> Result<u64> {
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

    pub(super) fn give<M: Media>(
        &mut self,
        media: &M,
        pages: &Pages,
        class: Class,
        at: u64,
    ) -> Result<()> {
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
