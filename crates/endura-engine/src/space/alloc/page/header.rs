//! The header of a page: its first word, which says what the page is.
//!
//! | bits | what |
//! | --- | --- |
//! | 0..8 | kind: FREE 1, LARGE 2, CUT 4 |
//! | 8..48 | LARGE: pages of the run; else 0 |
//! | 48..64 | a constant, so that zeros and stray data are not taken for a header |
//!
//! A CUT page consists of spans, which its [table](super::table) describes. The table is the rest of the page's first
//! unit. The continuation pages of a run contain data and no header; a walk over the pages skips them by the length of
//! the run. Page 0 has no header: it is always cut.

use crate::media::{Media, Ordering, Region};
use crate::space::layout::PAGE;
use crate::{Error, Result};

const MARK: u64 = 0xE7D4 << 48;
const MARK_MASK: u64 = 0xFFFF << 48;

// No single flipped bit turns one of these into another.
const FREE: u64 = 1;
const LARGE: u64 = 2;
const CUT: u64 = 4;

/// The kind of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// Nothing in it is in use.
    Free,
    /// The first page of a run of this many pages, which holds one chunk.
    Large(u64),
    /// A page of spans.
    Cut,
}

impl PageKind {
    fn word(self) -> u64 {
        let (kind, value) = match self {
            Self::Free => (FREE, 0),
            Self::Large(pages) => (LARGE, pages),
            Self::Cut => (CUT, 0),
        };
        MARK | value << 8 | kind
    }

    fn from_word(word: u64) -> Option<Self> {
        let value = (word & !MARK_MASK) >> 8;
        match (word & MARK_MASK, word & 0xFF, value) {
            (MARK, FREE, 0) => Some(Self::Free),
            (MARK, LARGE, pages) if pages > 0 => Some(Self::Large(pages)),
            (MARK, CUT, 0) => Some(Self::Cut),
            _ => None,
        }
    }
}

fn word<M: Media>(media: &M, page: u64) -> Result<Region<'_, M>> {
    // The product of a damaged page number must not wrap around into the pool.
    Region::new(media, page.saturating_mul(PAGE) / 8 * 8, 1)
}

/// The kind of page `page`.
pub(crate) fn read<M: Media>(media: &M, page: u64) -> Result<PageKind> {
    if page == 0 {
        return Ok(PageKind::Cut);
    }
    let word = word(media, page)?;
    // Pairs with the Release of `write`; within a session the allocator's locks order the two as well.
    PageKind::from_word(word.load(0, Ordering::Acquire)).ok_or(Error::Corrupt {
        offset: page.saturating_mul(PAGE),
        what: "a page without a header",
    })
}

/// Stores what page `page`, which is not page 0, is from now on, and starts the write-back. The caller fences before
/// anything durable relies on the page's new meaning.
pub(crate) fn write<M: Media>(media: &M, page: u64, kind: PageKind) -> Result<()> {
    debug_assert!(page != 0, "page 0 has no header");
    let word = word(media, page)?;
    word.store(0, kind.word(), Ordering::Release);
    word.flush(0, 1);
    Ok(())
}

/// Starts the write-back of the header of page `page`, which a killed process may have stored.
#[track_caller]
pub(crate) fn flush<M: Media>(media: &M, page: u64) -> Result<()> {
    let word = word(media, page)?;
    word.flush(0, 1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::Heap;

    #[test]
    fn every_kind_survives_the_word() {
        for kind in [PageKind::Free, PageKind::Cut, PageKind::Large(1), PageKind::Large(1 << 39)] {
            assert_eq!(PageKind::from_word(kind.word()), Some(kind));
        }
        for kind in [PageKind::Free, PageKind::Cut] {
            for bit in 0..64 {
                assert_eq!(PageKind::from_word(kind.word() ^ 1 << bit), None, "bit {bit}");
            }
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        for word in [0, u64::MAX, MARK, MARK | 9, MARK | LARGE, MARK | 1 << 8 | FREE, LARGE | 512] {
            assert_eq!(PageKind::from_word(word), None, "{word:#x}");
        }
        let media = Heap::new(2 * PAGE);
        assert_eq!(read(&media, 0).unwrap(), PageKind::Cut);
        for page in [1, 2, u64::MAX, u64::MAX / PAGE, 1 << 63] {
            assert!(matches!(read(&media, page), Err(Error::Corrupt { .. })), "{page:#x}");
        }
    }
}
