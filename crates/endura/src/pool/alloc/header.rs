//! The header of a page: one word that says what the page is.
//!
//! | bits | what |
//! | --- | --- |
//! | 0..8 | kind |
//! | 8..48 | SLAB: bytes per chunk; LARGE: pages of the run; else 0 |
//! | 48..64 | a constant, so that zeros and stray data are not taken for a header |
//!
//! The rest of the line is spare, but for the second word of a DIRECTORY page, which names the next
//! one. The continuation pages of a run have no header: data lies there. Who walks the pages skips
//! them by the run's length.

use super::super::layout::PAGE;
use crate::media::{LINE, Media, Ordering, Span};
use crate::{Error, Result};

const MARK: u64 = 0xE7D4 << 48;
const MARK_MASK: u64 = 0xFFFF << 48;

const FREE: u64 = 1;
const SLAB: u64 = 2;
const LARGE: u64 = 3;
const DIRECTORY: u64 = 4;

/// What a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing in it is in use.
    Free,
    /// Chunks of one size, in bytes.
    Slab(u64),
    /// The first page of a run of so many pages that hold one chunk.
    Large(u64),
    /// Directory entries.
    Directory,
}

impl Kind {
    fn word(self) -> u64 {
        let (kind, value) = match self {
            Self::Free => (FREE, 0),
            Self::Slab(size) => (SLAB, size),
            Self::Large(pages) => (LARGE, pages),
            Self::Directory => (DIRECTORY, 0),
        };
        MARK | value << 8 | kind
    }

    fn from_word(word: u64) -> Option<Self> {
        let value = (word & !MARK_MASK) >> 8;
        match (word & MARK_MASK, word & 0xFF, value) {
            (MARK, FREE, 0) => Some(Self::Free),
            (MARK, SLAB, size) => Some(Self::Slab(size)),
            (MARK, LARGE, pages) if pages > 0 => Some(Self::Large(pages)),
            (MARK, DIRECTORY, 0) => Some(Self::Directory),
            _ => None,
        }
    }
}

/// The header line of page `page`.
pub(crate) fn line<M: Media>(media: &M, page: u64) -> Result<Span<'_, M, 8>> {
    // The product of a damaged page number must not wrap around into the pool.
    Span::new(media, page.saturating_mul(PAGE) / LINE * LINE)
}

/// What page `page` is.
pub(crate) fn read<M: Media>(media: &M, page: u64) -> Result<Kind> {
    let line = line(media, page)?;
    // Pairs with the Release of `write`; within a session the allocator's locks do as much.
    Kind::from_word(line.load(0, Ordering::Acquire))
        .ok_or(Error::Corrupt { offset: line.offset(), what: "a page without a header" })
}

/// Says what page `page` is from now on and starts the write-back. The caller fences, before the
/// page's new meaning can be relied on by anything durable.
pub(crate) fn write<M: Media>(media: &M, page: u64, kind: Kind) -> Result<()> {
    let line = line(media, page)?;
    // A page that has not been one of the directory must not inherit a link. Relaxed: the next store
    // to the line is a Release.
    line.store(1, 0, Ordering::Relaxed);
    line.store(0, kind.word(), Ordering::Release);
    line.flush(0, 2);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::Heap;

    #[test]
    fn every_kind_survives_the_word() {
        for kind in [Kind::Free, Kind::Slab(512), Kind::Large(1 << 39), Kind::Directory] {
            assert_eq!(Kind::from_word(kind.word()), Some(kind));
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let words = [0, u64::MAX, MARK, MARK | 9, MARK | LARGE, MARK | 1 << 8 | FREE, SLAB | 512];
        for word in words {
            assert_eq!(Kind::from_word(word), None, "{word:#x}");
        }
        let media = Heap::new(PAGE);
        for page in [0, 1, u64::MAX, u64::MAX / PAGE, 1 << 63] {
            assert!(matches!(read(&media, page), Err(Error::Corrupt { .. })), "{page:#x}");
        }
    }
}
