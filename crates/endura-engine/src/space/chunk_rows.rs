//! Where the chunks of a page lie, as the headers of the page and of its spans say.

use std::ops::Range;

use crate::media::{LINE, Media};
use crate::space::alloc::page::header::{self, PageKind};
use crate::space::alloc::page::table::{self, FoundSpan, SpanKind};
use crate::space::layout::{PAGE, UNIT};
use crate::space::space::Space;

/// Chunks of one size, side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkRow {
    /// Where the first chunk begins, in bytes from the start of the pool.
    first: u64,
    /// Bytes of a chunk.
    pub(crate) size: u64,
    count: u64,
}

impl ChunkRow {
    /// The offsets of the chunks that have bytes of this stretch.
    pub(crate) fn chunks(self, bytes: &Range<u64>) -> impl Iterator<Item = u64> + use<> {
        let number = |at: u64| at.saturating_sub(self.first);
        let from = number(bytes.start) / self.size;
        let to = number(bytes.end).div_ceil(self.size).min(self.count);
        (from..to).map(move |number| self.first + number * self.size)
    }

    fn of_span(found: &FoundSpan) -> Option<Self> {
        let first = found.first * UNIT;
        match found.header.kind {
            // Chunks in the tail were never handed out, and the file may end before them.
            SpanKind::Slab(class) => {
                let count = class.first_from(found.tail).min(class.chunks(found.header.units));
                Some(Self { first, size: class.size(), count: count as u64 })
            }
            SpanKind::Run => Some(Self { first, size: found.header.units * UNIT, count: 1 }),
            SpanKind::Free | SpanKind::Directory => None,
        }
    }
}

impl<M: Media> Space<M> {
    /// The chunks of a page, free ones included. In the middle of a long chunk is data in place of a header, and it may look
    /// like one. So what lies in these chunks counts for nothing before something leads to it.
    pub(crate) fn chunk_rows(&self, page: u64) -> Vec<ChunkRow> {
        let pages = self.allocator.pages();
        // Under the lock, so that the chain of spans is whole.
        let free = pages.free.lock();
        if page >= free.next || free.pages.has(page) {
            return Vec::new();
        }
        let end = free.length;
        let mut rows: Vec<ChunkRow> = match header::read(&self.media, page) {
            Ok(PageKind::Cut) => table::walk(&self.media, page)
                .map_while(Result::ok)
                .filter_map(|found| ChunkRow::of_span(&found))
                .collect(),
            Ok(PageKind::Large(count)) => {
                let size = count.saturating_mul(PAGE).saturating_sub(LINE);
                vec![ChunkRow { first: page * PAGE + LINE, size, count: 1 }]
            }
            Ok(PageKind::Free) | Err(_) => Vec::new(),
        };
        rows.retain(|row| row.count > 0 && row.first < end);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_a_stretch_are_those_with_bytes_in_it() {
        let row = ChunkRow { first: 1_000, size: 100, count: 10 };
        let of = |from, to| row.chunks(&(from..to)).collect::<Vec<_>>();
        assert_eq!(of(0, 1_000), []);
        assert_eq!(of(0, 1_001), [1_000]);
        assert_eq!(of(1_099, 1_101), [1_000, 1_100]);
        assert_eq!(of(1_100, 1_200), [1_100]);
        assert_eq!(of(1_850, 9_999), [1_800, 1_900]);
        assert_eq!(of(2_000, 9_999), []);
    }
}
