//! The header of a page: one word that says what the page is.
//!
//! | bits | what |
//! | --- | --- |
//! | 0..8 | kind |
//! | 8..48 | LARGE: pages of the run; FREE and DIRECTORY: 0 |
//! | 8..32 | SLAB: bytes per chunk |
//! | 32..40 | SLAB: its *tail*, of how many of the last 32nds of the page no chunk was ever handed out; 0 = not known |
//! | 40..48 | SLAB: the complement of bits 32..40, so that no single flipped bit makes another tail; with a tail of 0 it is 0 |
//! | 48..64 | a constant, so that zeros and stray data are not taken for a header |
//!
//! The tail shrinks, durably, before a chunk that begins in it is handed out, and never grows until the
//! page is taken again. So it is true in every crash state, and its chunks need no collection.
//!
//! The rest of the line is spare, except for the second word of a DIRECTORY page, which names the next
//! one. The continuation pages of a run contain data and no header. A walk over the pages skips
//! them by the run's length.

use crate::media::{LINE, Mark, Media, Ordering, Span};
use crate::pool::layout::PAGE;
use crate::{Error, Result};

const MARK: u64 = 0xE7D4 << 48;
const MARK_MASK: u64 = 0xFFFF << 48;

/// Parts of a page in which tails are counted.
const PARTS: u64 = 32;
/// Bytes of one.
pub(crate) const PART: u64 = PAGE / PARTS;

const FREE: u64 = 1;
const SLAB: u64 = 2;
const LARGE: u64 = 3;
const DIRECTORY: u64 = 4;

/// The kind of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// Nothing in it is in use.
    Free,
    /// Chunks of one size, in bytes.
    Slab(u64),
    /// The first page of a run of so many pages that hold one chunk.
    Large(u64),
    /// Directory entries.
    Directory,
}

impl PageKind {
    fn word(self) -> u64 {
        let (kind, value) = match self {
            Self::Free => (FREE, 0),
            // The first part is in use at once: that needs no store of its own.
            Self::Slab(size) => (SLAB, slab_value(size, PARTS - 1)),
            Self::Large(pages) => (LARGE, pages),
            Self::Directory => (DIRECTORY, 0),
        };
        MARK | value << 8 | kind
    }

    fn from_word(word: u64) -> Option<Self> {
        let value = (word & !MARK_MASK) >> 8;
        match (word & MARK_MASK, word & 0xFF, value) {
            (MARK, FREE, 0) => Some(Self::Free),
            (MARK, SLAB, value) => slab_of(value).map(|(size, _)| Self::Slab(size)),
            (MARK, LARGE, pages) if pages > 0 => Some(Self::Large(pages)),
            (MARK, DIRECTORY, 0) => Some(Self::Directory),
            _ => None,
        }
    }
}

/// Bits 8..48 of a page of chunks.
fn slab_value(size: u64, tail: u64) -> u64 {
    let complement = if tail == 0 { 0 } else { !tail & 0xFF };
    size | tail << 24 | complement << 32
}

/// Bytes per chunk and tail of a page of chunks, if these bits say so.
fn slab_of(value: u64) -> Option<(u64, u64)> {
    let (size, tail) = (value & 0xFF_FFFF, value >> 24 & 0xFF);
    (tail < PARTS && value == slab_value(size, tail)).then_some((size, tail))
}

/// The header line of page `page`.
pub(crate) fn line<M: Media>(media: &M, page: u64) -> Result<Span<'_, M, 8>> {
    // The product of a damaged page number must not wrap around into the pool.
    Span::new(media, page.saturating_mul(PAGE) / LINE * LINE)
}

/// The kind of page `page`.
pub(crate) fn read<M: Media>(media: &M, page: u64) -> Result<PageKind> {
    let line = line(media, page)?;
    // Pairs with the Release of `write`; within a session the allocator's locks do as much.
    PageKind::from_word(line.load(0, Ordering::Acquire))
        .ok_or(Error::Corrupt { offset: line.offset(), what: "a page without a header" })
}

/// Says what page `page` is from now on and starts the write-back. The caller fences, before the
/// page's new meaning can be relied on by anything durable.
pub(crate) fn write<M: Media>(media: &M, page: u64, kind: PageKind) -> Result<()> {
    let line = line(media, page)?;
    // A page that has not been one of the directory must not inherit a link. Relaxed: the next store
    // to the line is a Release.
    line.store(1, 0, Ordering::Relaxed);
    line.store(0, kind.word(), Ordering::Release);
    line.flush(0, 2);
    Ok(())
}

/// Where the tail of a page of chunks begins, in bytes from the start of the page.
pub(crate) fn tail<M: Media>(media: &M, page: u64) -> Result<u64> {
    let line = line(media, page)?;
    // Acquire as in `read`.
    let word = line.load(0, Ordering::Acquire);
    let is_slab = word & (MARK_MASK | 0xFF) == MARK | SLAB;
    let slab = slab_of((word & !MARK_MASK) >> 8).filter(|_| is_slab);
    let what = "a page of chunks without a header";
    let (_, tail) = slab.ok_or(Error::Corrupt { offset: line.offset(), what })?;
    Ok((PARTS - tail) * PART)
}

/// Lets the tail of a page of chunks of `size` bytes begin behind byte `place` of the page, durably on
/// return; where that is. The caller holds the lock of the page's class.
pub(crate) fn shorten_tail<M: Media>(media: &M, page: u64, size: u64, place: u64) -> Result<u64> {
    let line = line(media, page)?;
    let used = place / PART + 1;
    // Relaxed: in this session a lock in DRAM orders it, and the next open reads tails before any other thread runs.
    line.store(0, MARK | slab_value(size, PARTS - used) << 8 | SLAB, Ordering::Relaxed);
    line.flush(0, 1);
    media.mark(Mark::Step("pool.page.tail"));
    // Before a chunk of this part can be linked: after a crash it would be allocated again. A drain, as
    // where pages are taken: another thread may link the chunk.
    media.drain();
    Ok(used * PART)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::Heap;

    #[test]
    fn every_kind_survives_the_word() {
        for kind in
            [PageKind::Free, PageKind::Slab(512), PageKind::Large(1 << 39), PageKind::Directory]
        {
            assert_eq!(PageKind::from_word(kind.word()), Some(kind));
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let torn = [1 << 32, 0xFF << 40, 32 << 32 | 223 << 40, 5 << 32 | 251 << 40, 255 << 32]
            .map(|tail| MARK | tail | 512 << 8 | SLAB);
        let words = [0, u64::MAX, MARK, MARK | 9, MARK | LARGE, MARK | 1 << 8 | FREE, SLAB | 512];
        let words = words.into_iter().chain(torn);
        for word in words {
            assert_eq!(PageKind::from_word(word), None, "{word:#x}");
        }
        let media = Heap::new(PAGE);
        for page in [0, 1, u64::MAX, u64::MAX / PAGE, 1 << 63] {
            assert!(matches!(read(&media, page), Err(Error::Corrupt { .. })), "{page:#x}");
            assert!(matches!(tail(&media, page), Err(Error::Corrupt { .. })), "{page:#x}");
        }
    }

    /// A page of an earlier build, which knew of no tails, has none; a new one has all but one part.
    #[test]
    fn tails_shrink_and_survive_the_word() {
        let media = Heap::new(2 * PAGE);
        line(&media, 1).unwrap().store(0, MARK | 512 << 8 | SLAB, Ordering::Relaxed);
        assert_eq!(read(&media, 1).unwrap(), PageKind::Slab(512));
        assert_eq!(tail(&media, 1).unwrap(), PAGE);
        write(&media, 1, PageKind::Slab(512)).unwrap();
        assert_eq!(tail(&media, 1).unwrap(), PART);
        for place in [PART, PART + 512, 7 * PART - 512, PAGE - 512] {
            let begin = shorten_tail(&media, 1, 512, place).unwrap();
            assert!(begin > place && begin <= place + PART, "{place:#x}");
            assert_eq!(tail(&media, 1).unwrap(), begin);
            assert_eq!(read(&media, 1).unwrap(), PageKind::Slab(512));
        }
    }

    #[test]
    fn no_flipped_bit_makes_another_tail() {
        for tail in 0..PARTS {
            let value = slab_value(512, tail);
            assert_eq!(slab_of(value), Some((512, tail)));
            for bit in 24..40 {
                assert_eq!(slab_of(value ^ 1 << bit), None, "{tail}, bit {bit}");
            }
        }
    }
}
