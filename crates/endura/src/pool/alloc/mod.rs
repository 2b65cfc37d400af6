//! Who may use which bytes: pages, chunks of a page, and the caches of threads (DCMM, ROART 4).
//!
//! # Layers
//!
//! | layer | unit | state | protected by |
//! | --- | --- | --- | --- |
//! | [`pages`] | pages of 2 MiB and runs of them | NEXT_PAGE and headers in the pool; free runs in DRAM | one lock |
//! | [`slab`] | chunks of one size in a page | a bitmap per page in DRAM | a lock per class |
//! | caches (`pool/stock.rs`) | a few chunks per thread and class | DRAM | a lock per thread, uncontended |
//!
//! Locks are taken from the bottom row to the top one. No chunk has metadata in the pool, so that
//! freeing one costs no flush. Taking one costs nearly none: a page costs three fences per 2 MiB, and one
//! for each 32nd of it that is used for the first time (its *tail* becomes shorter, see [`header`]).
//!
//! # What a crash leaves
//!
//! Bitmaps, caches and the list of free pages are gone. After an unclean end [`tails`] finds the pages
//! that are FREE, and what was never handed out of the others; all else below NEXT_PAGE counts as used:
//! what was free in it, and what was allocated and not yet linked, is stranded until a collection
//! ([`collect`](super::collect)) has found it. (After a clean close [`saved`] brings the free space back.)
//! So a chunk can have two owners after a crash only if a page that something durable links is not below
//! NEXT_PAGE, or if a header says something false about it.
//!
//! | step | a crash after it | what the next open sees |
//! | --- | --- | --- |
//! | growing: medium grown | length | pages at and above NEXT_PAGE, never looked at |
//! | growing: headers FREE stored | some headers above NEXT_PAGE | the same; they are written again before they count |
//! | growing: fenced; NEXT_PAGE stored | old or new NEXT_PAGE | new: pages with durable FREE headers |
//! | growing: fenced | new NEXT_PAGE | empty pages |
//! | taking a page: header SLAB stored | old header (FREE, or SLAB of any class) or new one | a page without a linked chunk in both |
//! | taking a page: fenced | new header | chunks of its first 32nd may be linked from here on |
//! | shortening a tail: header stored | the longer tail, or the shorter one | nothing of the 32nd is linked; the longer: it is handed out first, the shorter: it waits for a collection |
//! | shortening a tail: drained | the shorter one | chunks of the 32nd may be linked from here on |
//! | the next open, killed or crashed: headers and NEXT_PAGE flushed | what was visible, or durable | the same: nothing was stored |
//! | taking a run: header LARGE(n) stored | old or new first header | old: n pages with valid headers; new: one run. Nothing is linked |
//! | taking a run: fenced | LARGE(n) | data may overwrite the later headers, which nobody reads now |
//! | freeing a run: later headers FREE stored | LARGE(n), data or FREE behind it | one run, unlinked: a leak |
//! | freeing a run: fenced; first header FREE stored | LARGE(n) or FREE first | FREE: all n headers are durable and FREE; LARGE(n): one run, unlinked. Its first page is taken first, with a header that is fenced |
//! | a page becomes wholly free: header FREE stored | the old header, or FREE | the page, unlinked in both: stranded until a collection, or free |
//! | a sweep frees several: some headers FREE stored | each its old one, or FREE | the same for each by itself |
//! | a sweep ends: fenced | FREE in all that were not taken again | free pages |
//! | taking such a page before FREE is durable: header SLAB or LARGE stored, fenced | the header from before it was free, FREE, or the new one; the new one before anything is linked | the first: a page of chunks, all unlinked, or a run whose other pages are free as well; FREE: a free page; the new one: as above |
//! | growing, or a sweep ends: GROW_TO stored | any of its values | how far the next session grows before its collection has ended ([`growth`]) |
//!
//! A pool that was damaged by something else is met with checks wherever its words decide: page
//! numbers, headers, positions of freed chunks. They give [`Error::Corrupt`].

mod bitmap;
mod class;
mod growth;
pub(crate) mod header;
mod pages;
mod saved;
mod slab;
mod sweep;
mod tails;

pub(crate) use bitmap::Bitmap;
pub(crate) use class::Class;
pub(crate) use header::Kind;
pub(crate) use pages::Pages;
pub use slab::PartlyUsed;
pub(crate) use slab::chunk_number;

use super::collect::Marks;
use super::layout::PAGE;
use super::space::Session;
use crate::media::{LINE, Media};
use crate::{Error, Result};
use saved::Known;
use slab::Slabs;

/// The space of an open pool below the caches of threads.
#[derive(Debug)]
pub(crate) struct Allocator {
    pages: Pages,
    slabs: Slabs,
    /// What is known to have an owner; none if all free space is known.
    marks: Option<Marks>,
    /// Whether the headers of pages contradict each other, so that the free space of an unclean end is
    /// not known without a collection.
    is_spoiled: bool,
}

/// Pages that a chunk takes for which there is no class: it lies behind the header line of the
/// first.
pub(crate) fn run_of(bytes: u64) -> u64 {
    bytes.saturating_add(LINE).div_ceil(PAGE)
}

impl Allocator {
    /// The space of a formatted medium: every page below NEXT_PAGE is in use, but for what a clean
    /// close wrote down.
    pub(crate) fn load<M: Media>(media: &M, session: Session) -> Result<Self> {
        let mut allocator = Self {
            pages: Pages::load(media)?,
            slabs: Slabs::new(),
            marks: None,
            is_spoiled: false,
        };
        let known = allocator.restore(media, session)?;
        if known != Known::All && !session.read_only && allocator.pages.next() > 1 {
            if known == Known::Nothing {
                allocator.is_spoiled = !allocator.restore_tails(media);
            }
            let marks = Marks::new(allocator.pages.next());
            allocator.for_each_partial(|class, page, free| marks.keep_free(class, page, free));
            allocator.marks = Some(marks);
        } else {
            allocator.pages.know_all();
        }
        Ok(allocator)
    }

    /// The marks of the collection that this session began with, if it did.
    #[inline(always)]
    pub(crate) fn marks(&self) -> Option<&Marks> {
        self.marks.as_ref()
    }

    /// Whether damage keeps free space from being known.
    pub(crate) fn is_spoiled(&self) -> bool {
        self.is_spoiled
    }

    /// The pages.
    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Pages ever taken, wholly free ones among them, and bytes of free chunks in the others.
    pub(crate) fn usage(&self) -> (u64, u64, u64) {
        let mut chunks = 0;
        self.slabs.for_each_partial(|class, _, bitmap| {
            chunks += bitmap.free() as u64 * class.size();
        });
        (self.pages.next(), self.pages.free(), chunks)
    }

    /// Calls `look` with every page that has free chunks: its number, and which are free.
    pub(crate) fn for_each_partial(&self, look: impl FnMut(Class, u64, &Bitmap)) {
        self.slabs.for_each_partial(look);
    }

    /// As [`Slabs::partly_used`].
    pub(crate) fn partly_used(&self) -> Vec<PartlyUsed> {
        self.slabs.partly_used()
    }

    /// Whether the next chunk of `bytes` bytes, which has this class, takes a page that was never used.
    pub(crate) fn would_grow(&self, bytes: u64, class: Option<Class>) -> bool {
        match class {
            Some(class) => !self.slabs.has_free(class) && self.pages.would_grow(1),
            None => self.pages.would_grow(run_of(bytes)),
        }
    }

    /// As [`Slabs::is_sparse`].
    #[inline]
    pub(crate) fn is_sparse(&self, class: Class) -> bool {
        self.slabs.is_sparse(class)
    }

    /// Adds between one and a batch of chunks to `out`.
    pub(crate) fn take<M: Media>(&self, media: &M, class: Class, out: &mut Vec<u64>) -> Result<()> {
        self.slabs.take(media, &self.pages, class, class.batch(), out)
    }

    /// Makes chunks free that nobody can reach.
    pub(crate) fn give<M: Media>(
        &self,
        media: &M,
        class: Class,
        chunks: impl IntoIterator<Item = u64>,
    ) -> Result<()> {
        self.slabs.give(media, &self.pages, class, chunks)
    }

    /// A chunk for which there is no class.
    pub(crate) fn take_large<M: Media>(&self, media: &M, bytes: u64) -> Result<u64> {
        let run = run_of(bytes);
        Ok(self.pages.take(media, run, Kind::Large(run))? * PAGE + LINE)
    }

    /// Makes a chunk free for which there is no class and that nobody can reach.
    pub(crate) fn give_large<M: Media>(&self, media: &M, at: u64, bytes: u64) -> Result<()> {
        if at % PAGE != LINE {
            return Err(Error::Corrupt { offset: at, what: "a freed chunk that starts nowhere" });
        }
        self.pages.give_large(media, at / PAGE, run_of(bytes))
    }

    /// A whole page for the map directory, empty and linked by nobody.
    pub(crate) fn take_directory_page<M: Media>(&self, media: &M) -> Result<u64> {
        self.pages.take(media, 1, Kind::Directory)
    }

    /// Makes wholly free pages free for every class.
    pub(crate) fn release_spares<M: Media>(&self, media: &M) -> Result<()> {
        self.slabs.release_spares(media, &self.pages)
    }
}
