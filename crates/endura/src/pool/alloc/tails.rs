//! Free space that is known after an unclean end, without a collection: pages that are FREE, and the tails of pages of
//! chunks, which were never allocated.
//!
//! Without tails each session that is killed before its collection has ended would cost a page for each size
//! of which it took a chunk. With them the next session continues in the same page, one 32nd further on.
//!
//! # Why this space has no owner
//!
//! A page says FREE from when it is new, or from when its run was retired by its owner, until it is taken.
//! A tail loses a part before a chunk of it is handed out. Both headers are fenced before something that
//! is durable can lead to what they let go of.
//!
//! The stores of a killed process may be visible and not durable. So this module flushes the following, and the fence
//! of the directory's own flushes at an open (`Directory::load`) covers them, before the first operation is admitted:
//!
//! * NEXT_PAGE, which covers those pages (by the directory, whose first link lies in the same line);
//! * the header of a page whose tail is used: it may be FREE on the medium;
//! * the header of any page of chunks: the part that a tail has just lost is free after the collection,
//!   and is then handed out with no word to the header;
//! * the header of any other page in use: on the medium it may still be that of a longer run, which ended,
//!   over pages behind it that are FREE, and handed out here.
//!
//! That a page is FREE need not be durable, as [`Pages`](crate::pool::alloc::pages::Pages) says.
//!
//! # Cost
//!
//! An open after an unclean end reads one word of each page, or run of pages, and flushes the line of those
//! that are in use.

use crate::media::{LINE, Media};
use crate::pool::alloc::allocator::Allocator;
use crate::pool::alloc::bitmap::Bitmap;
use crate::pool::alloc::class::Class;
use crate::pool::alloc::header;
use crate::pool::alloc::header::PageKind;
use crate::pool::layout::{DIRECTORY_NEXT, NEXT_PAGE};

// `Directory::load` flushes both.
const _: () = assert!(NEXT_PAGE / LINE == DIRECTORY_NEXT / LINE);

/// Free space, by the headers of pages.
#[derive(Debug, Default)]
struct Found {
    free: Vec<u64>,
    tails: Vec<(u64, Class, Bitmap)>,
}

impl Allocator {
    /// Frees the space that the headers of pages call free. If one header is impossible it frees nothing, because all
    /// headers before a page are needed to distinguish headers from the data of runs. Whether all were possible.
    pub(crate) fn restore_tails<M: Media>(&self, media: &M) -> bool {
        let found = look(media, self.pages.next());
        let is_sound = found.is_some();
        let Found { free, tails } = found.unwrap_or_default();
        // Neither can fail: nothing is free so far.
        let freed = free.into_iter().all(|page| self.pages.give_checked(page, 1));
        let restored = tails.into_iter().all(|(page, class, bitmap)| {
            self.slabs.restore(media, &self.pages, class, page, bitmap)
        });
        debug_assert!(freed && restored, "a page that is met twice");
        is_sound
    }
}

/// Looks at all pages below `next`; none if one of them has no header, or an impossible one.
fn look<M: Media>(media: &M, next: u64) -> Option<Found> {
    let mut found = Found::default();
    let mut page = 1;
    while page < next {
        let mut pages = 1;
        let kind = header::read(media, page).ok()?;
        if kind != PageKind::Free {
            header::line(media, page).ok()?.flush(0, 1);
        }
        match kind {
            PageKind::Free => found.free.push(page),
            PageKind::Slab(size) => {
                let class = Class::of_size(size)?;
                let from = class.first_from(header::tail(media, page).ok()?);
                if from < class.end() {
                    found.tails.push((page, class, Bitmap::free_from(class, from)));
                }
            }
            PageKind::Large(count) => pages = count,
            PageKind::Directory => {}
        }
        page = page.checked_add(pages)?;
    }
    (page == next).then_some(found)
}
