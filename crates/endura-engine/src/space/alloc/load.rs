//! The free space of a pool that is opened.

use crate::Result;
use crate::media::Media;
use crate::space::alloc::allocator::Allocator;
use crate::space::alloc::marks::Marks;
use crate::space::alloc::pages::Pages;
use crate::space::alloc::saved::Known;
use crate::space::alloc::slab::Slabs;
use crate::space::session::Session;

impl Allocator {
    /// Loads the allocator of a formatted medium. Every page below NEXT_PAGE is in use, except for the free space that
    /// a clean close recorded, or that the headers show.
    pub(crate) fn load<M: Media>(media: &M, session: Session) -> Result<Self> {
        let mut allocator = Self {
            pages: Pages::load(media)?,
            slabs: Slabs::new(),
            marks: None,
            is_spoiled: false,
        };
        allocator.pages.check_end(media, session.clean)?;
        let known = allocator.restore(media, session)?;
        if known == Known::All || session.read_only {
            allocator.pages.know_all();
            return Ok(allocator);
        }
        let left = match known {
            Known::Contradicted => None,
            _ => allocator.survey(media),
        };
        if left.as_ref().is_some_and(|left| left.len() == 0) {
            // A new pool, or one whose last session had freed everything.
            allocator.pages.know_all();
            return Ok(allocator);
        }
        allocator.is_spoiled = left.is_none();
        allocator.pages.watch();
        let marks = Marks::new(left.unwrap_or_default());
        allocator.slabs.for_each_partial(|_, _, first, free| marks.keep_free(first, free));
        allocator.marks = Some(marks);
        Ok(allocator)
    }
}
