//! The space of an open pool.

use crate::media::{LINE, Media};
use crate::pool::alloc::bitmap::Bitmap;
use crate::pool::alloc::class::{Class, run_of};
use crate::pool::alloc::header::PageKind;
use crate::pool::alloc::marks::Marks;
use crate::pool::alloc::pages::Pages;
use crate::pool::alloc::slab::PartlyUsed;
use crate::pool::alloc::slab::Slabs;
use crate::pool::layout::PAGE;
use crate::{Error, Result};

/// The space of an open pool below the caches of threads.
#[derive(Debug)]
pub(crate) struct Allocator {
    pub(crate) pages: Pages,
    pub(crate) slabs: Slabs,
    /// Marks of the chunks that are known to have an owner; none if all free space is known.
    pub(crate) marks: Option<Marks>,
    /// Whether the headers of pages contradict each other, so that the free space of an unclean end is
    /// not known without a collection.
    pub(crate) is_spoiled: bool,
}

impl Allocator {
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

    /// Frees chunks that are unreachable.
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
        Ok(self.pages.take(media, run, PageKind::Large(run))? * PAGE + LINE)
    }

    /// Frees a chunk for which there is no class, and that is unreachable.
    pub(crate) fn give_large<M: Media>(&self, media: &M, at: u64, bytes: u64) -> Result<()> {
        if at % PAGE != LINE {
            return Err(Error::Corrupt { offset: at, what: "a freed chunk that starts nowhere" });
        }
        self.pages.give_large(media, at / PAGE, run_of(bytes))
    }

    /// A whole page for the map directory, empty and not linked yet.
    pub(crate) fn take_directory_page<M: Media>(&self, media: &M) -> Result<u64> {
        self.pages.take(media, 1, PageKind::Directory)
    }

    /// Makes wholly free pages free for every class.
    pub(crate) fn release_spares<M: Media>(&self, media: &M) -> Result<()> {
        self.slabs.release_spares(media, &self.pages)
    }
}
