//! Freeing what a collection has not marked, page by page (C4 of [`collect`](crate::pool::collect)).
//!
//! The header of a page that is wholly free then says FREE. Otherwise the next open after an unclean end would not know
//! that, and each killed session would cost the pages that it has used.

use crate::media::{Mark, Media, Region};
use crate::pool::alloc::allocator::Allocator;
use crate::pool::alloc::class::Class;
use crate::pool::alloc::header::PageKind;
use crate::pool::alloc::marks::Marks;
use crate::pool::layout::{GROW_TO, PAGE};
use crate::{Error, Result};

impl Allocator {
    /// Frees what has no mark in page `page`, and in those of the run that begins there. Gives how many
    /// pages that were, and how many bytes are free by it.
    pub(crate) fn sweep<M: Media>(
        &self,
        media: &M,
        marks: &Marks,
        page: u64,
    ) -> Result<(u64, u64)> {
        let damage = |what| Err(Error::Corrupt { offset: page * PAGE, what });
        media.mark(Mark::Step("collect.sweep"));
        match self.pages.left_over(media, page)? {
            None => Ok((1, 0)),
            Some(PageKind::Slab(size)) => match Class::of_size(size) {
                Some(class) => Ok((1, self.slabs.sweep(media, &self.pages, marks, class, page)?)),
                None => damage("a page of chunks of an unknown size"),
            },
            Some(PageKind::Large(count)) => {
                if page.checked_add(count).is_none_or(|end| end > marks.limit()) {
                    return damage("a run of pages that goes beyond the last one");
                }
                if marks.has_page(page) {
                    return Ok((count, 0));
                }
                self.pages.give_large(media, page, count)?;
                Ok((count, count * PAGE))
            }
            Some(PageKind::Directory) if marks.has_page(page) => Ok((1, 0)),
            // If a killed process left the header visible alone, and one of a run that covers the next pages
            // durable, it is durable before one of those is taken: see `Pages`.
            Some(PageKind::Free | PageKind::Directory) => {
                self.pages.give(media, page)?;
                Ok((1, PAGE))
            }
        }
    }

    /// Ends the collection: all free space is known. Its stores are durable on return.
    pub(crate) fn end_sweep<M: Media>(&self, media: &M) -> Result<()> {
        self.pages.know_all();
        self.pages.allow_growth(media)?;
        // equivalent mutant, without: costs space or time, as the store itself.
        Region::new(media, GROW_TO, 1)?.flush(0, 1);
        media.mark(Mark::Step("collect.end"));
        // One fence for the headers of all pages that became free: an open after a power loss then knows them
        // without a collection. (After a killed process it does as it is.)
        // equivalent mutant, without: costs time: who does not know them has its collection find them again.
        media.fence();
        Ok(())
    }
}
