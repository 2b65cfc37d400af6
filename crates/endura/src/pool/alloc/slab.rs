//! Slabs: pages of chunks of one size class.
//!
//! Per class one lock protects the bitmaps of its pages. A chunk outside every bitmap is in use as
//! far as the page is concerned, whether a map links it, a thread has it in its cache, or it waits
//! for a grace period. So a page whose bitmap is full has no chunk anywhere else, and can change its
//! class: a cache cannot still hold a chunk of a page that was given away.
//!
//! Pages that this session has not met (they are older than the last crash, or were full at the
//! last close) have no bitmap. All their chunks count as used. The first chunk of such a page that
//! is freed brings the page in.
//!
//! A chunk in the tail of its page is allocated only after the header's tail has become shorter, durably. That holds
//! whatever made the chunk free: a new page, the tails of an open after a kill, the list of a clean close, or a sweep.

use std::collections::{BTreeMap, BTreeSet};

use crate::media::Media;
use crate::pool::alloc::bitmap::Bitmap;
use crate::pool::alloc::class::Class;
use crate::pool::alloc::header;
use crate::pool::alloc::header::PageKind;
use crate::pool::alloc::marks::Marks;
use crate::pool::alloc::pages::Pages;
use crate::pool::layout::PAGE;
use crate::sync::{AtomicBool, Mutex, Ordering};
use crate::{Error, Result};

/// Wholly free pages that a class keeps, so that a program which frees and allocates at the edge of
/// a page does not rewrite its header each time.
const SPARE_PAGES: usize = 1;

/// All pages of chunks.
#[derive(Debug)]
pub(crate) struct Slabs {
    classes: [Mutex<ClassPages>; Class::COUNT],
    /// Of each class, whether it [is sparse](ClassPages::is_sparse); written under its lock.
    sparse: [AtomicBool; Class::COUNT],
}

#[derive(Debug, Default)]
struct ClassPages {
    slabs: BTreeMap<u64, Slab>,
    /// Those of them with a free chunk. The lowest is used first: the highest become empty.
    partial: BTreeSet<u64>,
    /// How many are wholly free.
    empty: usize,
    /// Free chunks in all of them.
    free: usize,
}

/// How a class uses its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartlyUsed {
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// Pages of 2 MiB in which some chunks are free and, except for a spare page, some are not.
    pub pages: u64,
    /// Bytes of the free chunks in them. Only requests of this size can use them, until all chunks of
    /// a page are free.
    pub free_bytes: u64,
}

/// A page of the class.
#[derive(Debug)]
struct Slab {
    bitmap: Bitmap,
    /// Chunks from this number on lie in the tail: none of them was ever handed out.
    tail: usize,
}

impl Slabs {
    pub(crate) fn new() -> Self {
        Self {
            classes: std::array::from_fn(|_| Mutex::default()),
            sparse: std::array::from_fn(|_| AtomicBool::new(false)),
        }
    }

    /// Changes the pages of a class, under its lock, and counts what came to be free by it, or in use.
    fn change<R>(
        &self,
        pages: &Pages,
        class: Class,
        change: impl FnOnce(&mut ClassPages) -> R,
    ) -> R {
        let mut own = self.classes[class.index()].lock();
        let before = own.free;
        let result = change(&mut own);
        if own.free != before {
            let bytes = |chunks| chunks as u64 * class.size();
            pages.count_loose(bytes(before), bytes(own.free));
            // Relaxed: a hint, which may be out of date.
            self.sparse[class.index()].store(own.is_sparse(class), Ordering::Relaxed);
        }
        result
    }

    /// Whether some pages of the class would be wholly free if its chunks lay side by side, and so many
    /// of its chunks are free that it is worth while to let them come to do so.
    #[inline]
    pub(crate) fn is_sparse(&self, class: Class) -> bool {
        // Relaxed, as where it is written.
        self.sparse[class.index()].load(Ordering::Relaxed)
    }

    /// Whether a page of the class has a free chunk.
    pub(crate) fn has_free(&self, class: Class) -> bool {
        !self.classes[class.index()].lock().partial.is_empty()
    }

    /// Adds between one and `want` free chunks to `out`. Takes a new page, or of the tail of one, only
    /// if it must.
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
                let page = pages.take(media, 1, PageKind::Slab(class.size()))?;
                own.insert(media, class, page, Bitmap::all_free(class))?;
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

    /// Frees chunks. One that turns out not to be in use is left alone; the first such error is returned after all others
    /// have been freed.
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

    /// Gives wholly free pages back, the spare ones included.
    pub(crate) fn release_spares<M: Media>(&self, media: &M, pages: &Pages) -> Result<()> {
        Class::all().try_for_each(|class| {
            self.change(pages, class, |own| own.release_spares(media, pages, class))
        })
    }

    /// Brings in a page that the last session left partly used; `false` if it is none.
    #[must_use]
    pub(crate) fn restore<M: Media>(
        &self,
        media: &M,
        pages: &Pages,
        class: Class,
        page: u64,
        bitmap: Bitmap,
    ) -> bool {
        self.change(pages, class, |own| {
            !own.slabs.contains_key(&page)
                && is_slab(media, pages, class, page).is_ok()
                && own.insert(media, class, page, bitmap).is_ok()
        })
    }

    /// Makes the chunks of a page free that have no mark; gives their bytes. Nothing happens if the page
    /// is no longer what the last session left: it leaves its class under this lock only.
    pub(crate) fn sweep<M: Media>(
        &self,
        media: &M,
        pages: &Pages,
        marks: &Marks,
        class: Class,
        page: u64,
    ) -> Result<u64> {
        self.change(pages, class, |own| own.sweep(media, pages, marks, class, page))
    }

    /// Forgets all bitmaps, as if every chunk were in use.
    pub(crate) fn forget(&self, pages: &Pages) {
        for class in Class::all() {
            self.change(pages, class, |own| *own = ClassPages::default());
        }
    }

    /// The classes that have a page with a free chunk.
    pub(crate) fn partly_used(&self) -> Vec<PartlyUsed> {
        let use_of = |class: Class| {
            let own = self.classes[class.index()].lock();
            PartlyUsed {
                chunk_bytes: class.size(),
                pages: own.partial.len() as u64,
                free_bytes: own.free as u64 * class.size(),
            }
        };
        Class::all().map(use_of).filter(|class| class.pages > 0).collect()
    }

    /// Calls `look` with every bitmap that has a free chunk.
    pub(crate) fn for_each_partial(&self, mut look: impl FnMut(Class, u64, &Bitmap)) {
        for class in Class::all() {
            let own = self.classes[class.index()].lock();
            for page in &own.partial {
                if let Some(slab) = own.slabs.get(page) {
                    look(class, *page, &slab.bitmap);
                }
            }
        }
    }
}

/// Whether the page is one of chunks of this class, and in use.
fn is_slab<M: Media>(media: &M, pages: &Pages, class: Class, page: u64) -> Result<()> {
    if pages.is_taken(page) && header::read(media, page)? == PageKind::Slab(class.size()) {
        Ok(())
    } else {
        let what = "a chunk in a page that has none of its size";
        Err(Error::Corrupt { offset: page.saturating_mul(PAGE), what })
    }
}

/// The number of the chunk at `at` in its page.
pub(crate) fn chunk_number(class: Class, at: u64) -> Option<usize> {
    class.number(at % PAGE)
}

impl Slab {
    fn is_empty(&self, class: Class) -> bool {
        self.bitmap.free() == class.per_page()
    }
}

impl ClassPages {
    fn insert<M: Media>(
        &mut self,
        media: &M,
        class: Class,
        page: u64,
        bitmap: Bitmap,
    ) -> Result<()> {
        let tail = class.first_from(header::tail(media, page)?);
        if bitmap.free() > 0 {
            self.partial.insert(page);
        }
        self.empty += usize::from(bitmap.free() == class.per_page());
        self.free += bitmap.free();
        self.slabs.insert(page, Slab { bitmap, tail });
        Ok(())
    }

    fn remove(&mut self, page: u64) {
        self.partial.remove(&page);
        let slab = self.slabs.remove(&page);
        self.free -= slab.map_or(0, |slab| slab.bitmap.free());
    }

    /// More than half of the chunks, and a whole page of them: with less nothing could be gained.
    fn is_sparse(&self, class: Class) -> bool {
        self.free >= class.per_page() && 2 * self.free > self.slabs.len() * class.per_page()
    }

    fn release_spares<M: Media>(&mut self, media: &M, pages: &Pages, class: Class) -> Result<()> {
        if self.empty == 0 {
            return Ok(());
        }
        let is_empty = |page: &u64| self.slabs.get(page).is_some_and(|slab| slab.is_empty(class));
        let empty: Vec<u64> = self.partial.iter().copied().filter(is_empty).collect();
        self.empty = 0;
        empty.into_iter().try_for_each(|page| {
            self.remove(page);
            pages.give(media, page)
        })
    }

    /// As [`Slabs::sweep`].
    fn sweep<M: Media>(
        &mut self,
        media: &M,
        pages: &Pages,
        marks: &Marks,
        class: Class,
        page: u64,
    ) -> Result<u64> {
        if !pages.is_left_over(page) {
            return Ok(0);
        }
        let damage = |what| Err(Error::Corrupt { offset: page * PAGE, what });
        let Some(unmarked) = marks.unmarked(class, page) else {
            return damage("marks for chunks of another size");
        };
        if unmarked.free() == 0 {
            return Ok(0);
        }
        let bytes = unmarked.free() as u64 * class.size();
        let free = match self.slabs.get(&page) {
            None => unmarked,
            Some(given) => match given.bitmap.with(class, &unmarked) {
                Some(both) => both,
                None => return damage("a free chunk without a mark"),
            },
        };
        // Not wholly free before: `unmarked` was not in it.
        self.remove(page);
        match free.free() == class.per_page() {
            true => pages.give(media, page)?,
            false => self.insert(media, class, page, free)?,
        }
        Ok(bytes)
    }

    /// Adds up to `want` chunks to `out`, the lowest free ones of one page; of a tail only the first
    /// part, and only if it `must`. Gives how many.
    fn take<M: Media>(
        &mut self,
        media: &M,
        class: Class,
        must: bool,
        want: usize,
        out: &mut Vec<u64>,
    ) -> Result<usize> {
        let Some(&page) = self.partial.first() else { return Ok(0) };
        let Some(slab) = self.slabs.get_mut(&page) else { return Ok(0) };
        let (was_empty, before) = (slab.is_empty(class), out.len());
        while out.len() < before + want
            && let Some(chunk) = slab.bitmap.lowest()
        {
            let place = class.place(chunk);
            if chunk >= slab.tail {
                if !must || out.len() > before {
                    // A kill loses the chunks of a cache: so no further part of the page for the rest of a batch.
                    break;
                }
                let tail = header::shorten_tail(media, page, class.size(), place)?;
                slab.tail = class.first_from(tail);
            }
            slab.bitmap.take();
            out.push(page * PAGE + place);
        }
        let taken = out.len() - before;
        self.free -= taken;
        self.empty -= usize::from(was_empty && taken > 0);
        if slab.bitmap.free() == 0 {
            self.partial.remove(&page);
        }
        Ok(taken)
    }

    fn give<M: Media>(&mut self, media: &M, pages: &Pages, class: Class, at: u64) -> Result<()> {
        let damage = |what| Error::Corrupt { offset: at, what };
        let page = at / PAGE;
        let chunk = chunk_number(class, at).ok_or(damage("a freed chunk that starts nowhere"))?;
        if !self.slabs.contains_key(&page) {
            is_slab(media, pages, class, page)?;
            self.insert(media, class, page, Bitmap::all_used(class))?;
        }
        let slab = self.slabs.get_mut(&page).ok_or(damage("a freed chunk without a page"))?;
        if chunk >= slab.tail {
            return Err(damage("a freed chunk that was never handed out"));
        }
        if !slab.bitmap.give(chunk) {
            return Err(damage("a chunk freed twice"));
        }
        self.free += 1;
        let (free, all) = (slab.bitmap.free(), class.per_page());
        if free == 1 {
            self.partial.insert(page);
        }
        if free == all && self.empty >= SPARE_PAGES {
            self.remove(page);
            pages.give(media, page)?;
        } else if free == all {
            self.empty += 1;
        }
        Ok(())
    }
}
