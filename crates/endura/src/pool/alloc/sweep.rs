//! Freeing what a collection has not marked, page by page (C4 of [`collect`](super::super::collect)).

use super::super::collect::Marks;
use super::super::layout::PAGE;
use super::Allocator;
use super::class::Class;
use super::header::Kind;
use crate::media::{Mark, Media};
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
            Some(Kind::Slab(size)) => match Class::of_size(size) {
                Some(class) => Ok((1, self.slabs.sweep(media, &self.pages, marks, class, page)?)),
                None => damage("a page of chunks of an unknown size"),
            },
            Some(Kind::Large(count)) => {
                if page.checked_add(count).is_none_or(|end| end > marks.limit()) {
                    return damage("a run of pages that goes beyond the last one");
                }
                if marks.has_page(page) {
                    return Ok((count, 0));
                }
                self.pages.give_large(media, page, count)?;
                Ok((count, count * PAGE))
            }
            Some(Kind::Directory) if marks.has_page(page) => Ok((1, 0)),
            // The header of an empty page, and of one of the directory, is valid as it is. If a killed
            // process left it visible alone, and one of a run that covers the next pages durable, it is
            // durable before one of those is taken: see `Pages`.
            Some(Kind::Free | Kind::Directory) => match self.pages.give_checked(page, 1) {
                true => Ok((1, PAGE)),
                false => damage("a page freed twice"),
            },
        }
    }
}
