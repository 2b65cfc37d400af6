//! The survey of an open: a walk over all tables finds the pages and spans that are FREE, the tails of spans of chunks,
//! which were never allocated, and what is in use.
//!
//! After an unclean end, free pages, free spans and tails are free space that is known without a leak recovery. Without
//! them, each session that is killed before its leak recovery has ended would cost a span for each size of which it
//! took a chunk. With them, the next session continues in the same span, one part further on.
//!
//! # Why this space has no owner
//!
//! A page or a span says FREE from the time when its last chunk was freed until it is taken. A tail loses a part before
//! a chunk of that part is handed out. The header that ends either state is durable before anything durable can lead to
//! the space.
//!
//! The stores of a killed process may be visible and not durable. So this module flushes each word on which it relies.
//! The fence after the directory's own flushes at an open (`Directory::load`) covers them, before the first operation
//! is admitted. NEXT_PAGE and LENGTH are flushed with the directory's first link, which lies in the same line. From
//! then on what this module found is durable, and the session may rely on it as on its own stores.
//!
//! # Cost
//!
//! An open after an unclean end reads one word of each span, and flushes its line. Most spans take a whole page.

use crate::media::{LINE, Media};
use crate::space::alloc::allocator::Allocator;
use crate::space::alloc::bitmap::Bitmap;
use crate::space::alloc::class::Class;
use crate::space::alloc::old_spans::{LeftOver, Old, OldSpan};
use crate::space::alloc::page::header;
use crate::space::alloc::page::header::PageKind;
use crate::space::alloc::page::table;
use crate::space::alloc::page::table::{FoundSpan, SpanKind};
use crate::space::layout::{DIRECTORY_NEXT, LENGTH, NEXT_PAGE, UNIT, UNITS};

// `Directory::load` flushes NEXT_PAGE, LENGTH and DIRECTORY_NEXT together.
const _: () =
    assert!(NEXT_PAGE / LINE == DIRECTORY_NEXT / LINE && LENGTH / LINE == NEXT_PAGE / LINE);

/// The findings of one walk over all headers.
struct Survey {
    in_use: LeftOver,
    free_pages: Vec<u64>,
    /// Runs of free units: first and end.
    free_units: Vec<(u64, u64)>,
    /// Spans that have a tail with a chunk in it, and the chunks of that tail.
    tails: Vec<(Class, FoundSpan, Bitmap)>,
    /// Units of the spans of each class.
    units: [u64; Class::COUNT],
}

impl Allocator {
    /// Frees the space that the headers call free, except what is known to be free already, and lists what is in use.
    /// If one header is impossible, frees nothing and returns `None`: all headers before a page are needed to
    /// distinguish the header of that page from the data of a run.
    pub(crate) fn survey<M: Media>(&self, media: &M) -> Option<LeftOver> {
        let (next, length) = {
            let free = self.pages.free.lock();
            (free.next, free.length)
        };
        let found = Survey::of(media, next, length)?;
        // The list of a clean close may have named this space already. In that case the calls change nothing.
        for page in found.free_pages {
            let _ = self.pages.restore_pages(page, 1);
        }
        for (first, end) in found.free_units {
            let _ = self.pages.restore_units(first, end);
        }
        for (class, span, tail) in found.tails {
            let _ = self.slabs.restore(&self.pages, class, span, tail);
        }
        Class::all().for_each(|class| self.slabs.set_units(class, found.units[class.index()]));
        Some(found.in_use)
    }
}

impl Survey {
    /// Looks at all pages below `next`. `None` if one of them has an impossible header, or if a span in use lies beyond
    /// byte `length`.
    fn of<M: Media>(media: &M, next: u64, length: u64) -> Option<Self> {
        let mut survey = Self {
            in_use: LeftOver::default(),
            free_pages: Vec::new(),
            free_units: Vec::new(),
            tails: Vec::new(),
            units: [0; Class::COUNT],
        };
        let mut page = 0;
        while page < next {
            page = survey.look_at_page(media, page, next, length)?;
        }
        Some(survey)
    }

    /// Looks at page `page`. Returns the next page that has a header.
    fn look_at_page<M: Media>(
        &mut self,
        media: &M,
        page: u64,
        next: u64,
        length: u64,
    ) -> Option<u64> {
        let kind = header::read(media, page).ok()?;
        if page > 0 {
            header::flush(media, page).ok()?;
        }
        match kind {
            PageKind::Free => self.free_pages.push(page),
            PageKind::Large(count) => {
                let end = page.checked_add(count).filter(|&end| end <= next)?;
                if end * UNITS * UNIT > length {
                    return None;
                }
                let (first, units) = (page * UNITS, count * UNITS);
                self.in_use.push(OldSpan { first, units, kind: Old::Large });
                return Some(end);
            }
            PageKind::Cut => {
                for found in table::walk(media, page) {
                    let found = found.ok()?;
                    let end = found.first + found.header.units;
                    if found.header.kind != SpanKind::Free && end * UNIT > length {
                        return None;
                    }
                    table::flush(media, found.first).ok()?;
                    self.sort(found);
                }
            }
        }
        Some(page + 1)
    }

    fn sort(&mut self, found: FoundSpan) {
        let (first, units) = (found.first, found.header.units);
        let kind = match found.header.kind {
            SpanKind::Free => return self.free_units.push((first, first + units)),
            SpanKind::Run => Old::Run,
            SpanKind::Directory => Old::Directory,
            SpanKind::Slab(class) => {
                self.units[class.index()] += units;
                let (chunks, from) = (class.chunks(units), class.first_from(found.tail));
                if from < chunks {
                    self.tails.push((class, found, Bitmap::free_from(chunks, from)));
                }
                Old::Slab(class)
            }
        };
        self.in_use.push(OldSpan { first, units, kind });
    }
}
