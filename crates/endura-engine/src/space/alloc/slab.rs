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

use crate::Result;
use crate::media::Media;
use crate::space::alloc::bitmap::Bitmap;
use crate::space::alloc::class::{Class, SMALL};
use crate::space::alloc::class_spans::ClassSpans;
use crate::space::alloc::marks::Marks;
use crate::space::alloc::page::table::FoundSpan;
use crate::space::alloc::pages::Pages;
use crate::space::layout::UNIT;
use crate::sync::{AtomicBool, Mutex, Ordering};

/// All spans of chunks.
#[derive(Debug)]
pub(crate) struct Slabs {
    /// On the heap, because a thread that opens a pool may have a small stack.
    classes: Box<[Mutex<ClassSpans>]>,
    /// For each class, whether it [is sparse](ClassSpans::is_sparse); written under the lock of the class.
    sparse: [AtomicBool; Class::COUNT],
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
