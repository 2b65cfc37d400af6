//! The free space of a pool that is opened.

use crate::Result;
use crate::media::Media;
use crate::pool::alloc::allocator::Allocator;
use crate::pool::alloc::marks::Marks;
use crate::pool::alloc::pages::Pages;
use crate::pool::alloc::saved::Known;
use crate::pool::alloc::slab::Slabs;
use crate::pool::session::Session;

impl Allocator {
    /// The space of a formatted medium: every page below NEXT_PAGE is in use, except for the free space that a clean
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
}
