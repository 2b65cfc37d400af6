//! The sizes of chunks.

use crate::media::LINE;
use crate::pool::layout::PAGE;

/// Bytes per chunk, ascending. Headers and saved space name a class by its size, so that the list
/// can grow.
///
/// Up to 512 bytes there is a class for every whole number of lines, so that a node, which takes whole lines, begins at
/// one. Between these are sizes in steps of 16 and 32 bytes for records, which have any length. A chunk of 32 bytes never
/// crosses a line; one of 48 would, so that size is left out. Above 512 bytes the steps waste at most a third; 704, 1344
/// and 2112 are node sizes.
const SMALL: [u32; 47] = [
    32, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416, 448,
    480, 512, 576, 640, 704, 768, 896, 1024, 1280, 1344, 1536, 1792, 2048, 2112, 2560, 3072, 3584,
    4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336, 16384, 24576,
];

/// Chunks of a page for each larger class but the first, which is 32 KiB: what is behind the
/// header is divided evenly.
const PARTS: [u32; 14] = [48, 40, 32, 24, 20, 16, 12, 10, 8, 6, 5, 4, 3, 2];

/// The largest size whose chunks are aligned to it.
const ALIGNED: u32 = 32 << 10;

const SIZES: [u32; SMALL.len() + 1 + PARTS.len()] = sizes();

const fn sizes() -> [u32; SMALL.len() + 1 + PARTS.len()] {
    let mut sizes = [ALIGNED; SMALL.len() + 1 + PARTS.len()];
    let mut i = 0;
    while i < SMALL.len() {
        sizes[i] = SMALL[i];
        i += 1;
    }
    let mut part = 0;
    while part < PARTS.len() {
        let lines = (PAGE - LINE) / LINE / PARTS[part] as u64;
        sizes[SMALL.len() + 1 + part] = (lines * LINE) as u32;
        part += 1;
    }
    sizes
}

/// Bytes that a thread moves at once between its cache and the pages, roughly.
const BATCH_BYTES: u64 = 16 << 10;

/// One size of chunk.
///
/// Up to 32 KiB chunk `i` of a page lies at `i * size`, so that a size that is a power of two is also
/// the chunk's alignment; the header line takes the place of the first. Larger ones lie side by side
/// behind the header line.
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

    /// Where chunk 0 of a page lies, or would lie.
    fn base(self) -> u64 {
        if self.size() > u64::from(ALIGNED) { LINE } else { 0 }
    }

    /// Number of the first chunk of a page: the one behind the header line.
    pub(crate) fn first(self) -> usize {
        (LINE - self.base()).div_ceil(self.size()) as usize
    }

    /// One more than the number of the last chunk of a page.
    pub(crate) fn end(self) -> usize {
        ((PAGE - self.base()) / self.size()) as usize
    }

    /// Where chunk `number` lies in its page, in bytes.
    pub(crate) fn place(self, number: usize) -> u64 {
        self.base() + number as u64 * self.size()
    }

    /// The number of the first chunk that begins `inside` bytes behind the start of its page, or later;
    /// [`end`](Self::end) if there is none.
    pub(crate) fn first_from(self, inside: u64) -> usize {
        let behind = inside.saturating_sub(self.base());
        (behind.div_ceil(self.size()) as usize).clamp(self.first(), self.end())
    }

    /// The number of the chunk that lies `inside` bytes behind the start of its page.
    pub(crate) fn number(self, inside: u64) -> Option<usize> {
        let behind = inside.checked_sub(self.base())?;
        let number = (behind / self.size()) as usize;
        let is_chunk = behind.is_multiple_of(self.size());
        (is_chunk && (self.first()..self.end()).contains(&number)).then_some(number)
    }

    /// Chunks of a page.
    pub(crate) fn per_page(self) -> usize {
        self.end() - self.first()
    }

    /// Chunks that a thread moves at once between its cache and the pages: enough to make the lock
    /// rare, few enough that many threads do not hold much memory.
    pub(crate) fn batch(self) -> usize {
        let least = if self.size() > u64::from(ALIGNED) { 1 } else { 4 };
        (BATCH_BYTES / self.size()).clamp(least, 64) as usize
    }
}

/// Pages that a chunk takes for which there is no class: it lies behind the header line of the
/// first.
pub(crate) fn run_of(bytes: u64) -> u64 {
    bytes.saturating_add(LINE).div_ceil(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_ascend_and_waste_little() {
        for pair in SIZES.windows(2) {
            assert!(pair[0] < pair[1] && pair[1] % 16 == 0);
            assert!(pair[1] <= 64 || pair[1] * 2 <= pair[0] * 3, "{pair:?}");
        }
    }

    #[test]
    fn whole_lines_get_chunks_of_whole_lines() {
        for lines in 1..=PAGE / LINE {
            let Some(class) = Class::of(lines * LINE) else { continue };
            assert_eq!(class.size() % LINE, 0, "{lines} lines");
            assert_eq!(class.place(class.first()) % LINE, 0);
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
        assert_eq!(Class::of(0).map(Class::size), Some(32));
        assert_eq!(Class::of_size(65), None);
        assert_eq!(Class::of(PAGE / 2), None);
        assert_eq!(Class::of(u64::MAX), None);
    }

    #[test]
    fn chunks_lie_between_header_and_end_of_page() {
        for class in Class::all() {
            assert!(class.place(class.first()) >= LINE && class.place(class.end()) <= PAGE);
            let numbers = class.first()..class.end();
            assert!(numbers.clone().all(|i| class.number(class.place(i)) == Some(i)));
            let elsewhere = [0, class.place(numbers.start) + 1, class.place(numbers.end), PAGE - 1];
            assert!(elsewhere.iter().all(|&inside| class.number(inside).is_none()));
            assert!((1..=64).contains(&class.batch()) && class.batch() <= class.per_page());
            assert!(numbers.clone().all(|i| class.first_from(class.place(i)) == i));
            assert!(numbers.clone().all(|i| class.first_from(class.place(i) + 1) == i + 1));
            assert_eq!((class.first_from(0), class.first_from(PAGE)), (numbers.start, numbers.end));
        }
    }
}
