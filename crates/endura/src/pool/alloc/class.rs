//! The sizes of chunks.

use crate::pool::layout::PAGE;

/// Bytes per chunk, ascending: whole lines, so that a node can be looked at through a `Span` and no
/// two chunks share a line. Fine steps where nodes are, then at most a third of waste; 704 and 2112
/// are node sizes of the papers. Headers and saved space name a class by its size, so that an index
/// with smaller records can add to the list.
const SIZES: [u32; 32] = [
    64, 128, 192, 256, 320, 384, 448, 512, 640, 704, 768, 896, 1024, 1280, 1536, 1792, 2048, 2112,
    2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336, 16384, 24576, 32768,
];

/// Bytes that a thread moves at once between its cache and the pages, roughly.
const BATCH_BYTES: u64 = 16 << 10;

/// One size of chunk.
///
/// Chunk `i` of a page lies at `i * size`, so that a size that is a power of two is also the
/// chunk's alignment. The header line takes the place of chunk 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Class(u8);

impl Class {
    /// How many there are.
    pub(crate) const COUNT: usize = SIZES.len();

    /// The smallest class that holds `bytes`; none if that takes whole pages.
    pub(crate) fn of(bytes: u64) -> Option<Self> {
        let index = SIZES.partition_point(|&size| u64::from(size) < bytes);
        (index < SIZES.len()).then_some(Self(index as u8))
    }

    /// The class whose chunks have exactly `size` bytes.
    pub(crate) fn of_size(size: u64) -> Option<Self> {
        Self::of(size).filter(|class| class.size() == size)
    }

    /// Every class, ascending.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT).map(|index| Self(index as u8))
    }

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Bytes of a chunk.
    pub(crate) fn size(self) -> u64 {
        u64::from(SIZES[self.index()])
    }

    /// Number of the first chunk of a page: the one behind the header's place.
    pub(crate) fn first(self) -> usize {
        1
    }

    /// One more than the number of the last chunk of a page.
    pub(crate) fn end(self) -> usize {
        (PAGE / self.size()) as usize
    }

    /// Chunks of a page.
    pub(crate) fn per_page(self) -> usize {
        self.end() - self.first()
    }

    /// Chunks that a thread moves at once between its cache and the pages: enough to make the lock
    /// rare, few enough that many threads do not hold much memory.
    pub(crate) fn batch(self) -> usize {
        (BATCH_BYTES / self.size()).clamp(4, 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::LINE;

    #[test]
    fn sizes_ascend_and_waste_little() {
        for pair in SIZES.windows(2) {
            assert!(pair[0] < pair[1] && u64::from(pair[1]) % LINE == 0);
            assert!(pair[1] <= 192 || pair[1] * 2 <= pair[0] * 3, "{pair:?}");
        }
    }

    #[test]
    fn a_request_gets_the_smallest_class_that_holds_it() {
        for class in Class::all() {
            let size = class.size();
            assert_eq!(Class::of(size), Some(class));
            assert_eq!(Class::of_size(size), Some(class));
            assert_eq!(
                Class::of(size + 1).map(Class::index),
                match class.index() + 1 {
                    Class::COUNT => None,
                    next => Some(next),
                }
            );
            assert!(Class::of(size - 1).is_some_and(|c| c <= class && c.size() >= size - 1));
        }
        assert_eq!(Class::of(0).map(Class::size), Some(64));
        assert_eq!(Class::of_size(65), None);
        assert_eq!(Class::of((32 << 10) + 1), None);
        assert_eq!(Class::of(u64::MAX), None);
    }

    #[test]
    fn chunks_lie_between_header_and_end_of_page() {
        for class in Class::all() {
            assert!(class.first() as u64 * class.size() >= LINE);
            assert!(class.end() as u64 * class.size() <= PAGE);
            assert!((4..=64).contains(&class.batch()) && class.batch() <= class.per_page());
        }
    }
}
