//! The size classes of chunks, and in what a chunk of each size lies.

use crate::media::LINE;
use crate::space::layout::{PAGE, UNIT, UNITS};

/// Bytes per chunk, ascending. Headers and saved free space name a class by its size, so that the list can grow.
///
/// Up to 512 bytes there is a class for every whole number of lines, so that a node, which takes whole lines, begins at
/// a line. Between these are sizes in steps of 16 and 32 bytes for records, which have any length. A chunk of 32 bytes
/// never crosses a line; one of 48 would, so that size is left out. Above 512 bytes the steps waste at most a third;
/// 704, 1344 and 2112 are node sizes.
const SIZES: [u16; 46] = [
    32, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416, 448,
    480, 512, 576, 640, 704, 768, 896, 1024, 1280, 1344, 1536, 1792, 2048, 2112, 2560, 3072, 3584,
    4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336, 16384,
];

/// Roughly how many bytes a thread moves at once between its cache and the spans.
const BATCH_BYTES: u64 = 16 << 10;

/// Units of a span that takes all of its page except the table.
pub(crate) const WHOLE: u64 = UNITS - 1;

/// Once a class has this many units (16 MiB), its next spans are of a whole page each. Spans of a few units waste
/// little while few chunks of a size are in use. If many are in use, long spans are better, because an open after a
/// kill then has fewer spans to look at.
pub(crate) const SMALL: u64 = 16 << 20 >> 12;

/// One size of chunk. Chunk `i` of a span begins `i * size` bytes after the start of the span. So a chunk whose size is
/// a power of two is also aligned to that size, up to a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Class(u8);

impl Class {
    /// How many classes there are.
    pub(crate) const COUNT: usize = SIZES.len();

    /// The smallest class that holds `bytes`; `None` if a chunk of that size takes units or pages of its own.
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

    /// Units of a span of a class with few chunks. Their number is so small that a size of which one chunk is in use
    /// costs little, and so large that at most an eighth of the span is left over after the last chunk.
    pub(crate) fn few_units(self) -> u64 {
        match self.size() {
            0..=1024 => 4,
            1025..=2112 => 8,
            _ => 16,
        }
    }

    /// Units of the next span of a class that has `has` units.
    pub(crate) fn next_units(self, has: u64) -> u64 {
        if has < SMALL { self.few_units() } else { WHOLE }
    }

    /// Whether a span of chunks of the class can have `units` units.
    pub(crate) fn can_have(self, units: u64) -> bool {
        units == self.few_units() || units == WHOLE
    }

    /// Chunks of a span of `units` units.
    pub(crate) fn chunks(self, units: u64) -> usize {
        (units * UNIT / self.size()) as usize
    }

    /// Where chunk `number` begins, in bytes from the start of its span.
    pub(crate) fn place(self, number: usize) -> u64 {
        number as u64 * self.size()
    }

    /// The number of the first chunk that begins `inside` bytes after the start of its span, or later.
    pub(crate) fn first_from(self, inside: u64) -> usize {
        inside.div_ceil(self.size()) as usize
    }

    /// The number of the chunk that begins `inside` bytes after the start of its span, if a chunk begins there.
    pub(crate) fn number(self, inside: u64) -> Option<usize> {
        inside.is_multiple_of(self.size()).then(|| (inside / self.size()) as usize)
    }

    /// Chunks that a thread moves at once between its cache and the spans: enough to take the lock rarely, and so few
    /// that many threads do not hold much memory.
    pub(crate) fn batch(self) -> usize {
        (BATCH_BYTES / self.size()).clamp(4, 64) as usize
    }
}

/// What a chunk lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// A span of chunks of this class.
    Slab(Class),
    /// A span of its own, of this many units.
    Run(u64),
    /// This many pages of its own. The chunk begins after the header line of the first page.
    Large(u64),
}

impl Room {
    /// What a chunk of `bytes` bytes lies in.
    pub(crate) fn of(bytes: u64) -> Self {
        match Class::of(bytes) {
            Some(class) => Self::Slab(class),
            None if bytes <= WHOLE * UNIT => Self::Run(bytes.div_ceil(UNIT)),
            None => Self::Large(bytes.saturating_add(LINE).div_ceil(PAGE)),
        }
    }

    /// Bytes of a chunk that lies in this room.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::Slab(class) => class.size(),
            Self::Run(units) => units * UNIT,
            Self::Large(pages) => pages.saturating_mul(PAGE) - LINE,
        }
    }
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
        for class in Class::all() {
            for units in [class.few_units(), WHOLE] {
                let chunks = class.chunks(units) as u64 * class.size();
                assert!(chunks * 8 >= units * UNIT * 7, "{} in {units} units", class.size());
            }
        }
    }

    #[test]
    fn whole_lines_get_chunks_of_whole_lines() {
        for lines in 1..=PAGE / LINE {
            let Some(class) = Class::of(lines * LINE) else { continue };
            assert_eq!(class.size() % LINE, 0, "{lines} lines");
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
        assert_eq!(Class::of(u64::MAX), None);
    }

    #[test]
    fn what_is_larger_lies_by_itself() {
        let most = WHOLE * UNIT;
        assert_eq!(Room::of(16_385), Room::Run(5));
        assert_eq!(Room::of(5 * UNIT), Room::Run(5));
        assert_eq!(Room::of(most), Room::Run(WHOLE));
        assert_eq!(Room::of(most + 1), Room::Large(1));
        assert_eq!(Room::of(PAGE - LINE), Room::Large(1));
        assert_eq!(Room::of(PAGE - LINE + 1), Room::Large(2));
        assert_eq!(Room::of(u64::MAX), Room::Large(u64::MAX.div_ceil(PAGE)));
        for bytes in [1, 33, 16_384, 16_385, 70_000, most, most + 1, PAGE, 9 * PAGE] {
            assert!(Room::of(bytes).bytes() >= bytes, "{bytes}");
        }
    }

    #[test]
    fn chunks_lie_in_their_span() {
        for class in Class::all() {
            for units in [class.few_units(), WHOLE] {
                assert!(class.can_have(units) && !class.can_have(units + 1));
                let chunks = class.chunks(units);
                assert!(class.batch() <= chunks && class.place(chunks) <= units * UNIT);
                assert!((0..chunks).all(|i| class.number(class.place(i)) == Some(i)));
                assert!((0..chunks).all(|i| class.first_from(class.place(i)) == i));
                assert!((0..chunks).all(|i| class.first_from(class.place(i) + 1) == i + 1));
            }
            assert_eq!(class.number(class.size() + 1), None);
            assert!((1..=64).contains(&class.batch()));
        }
        assert_eq!(Class::of(512).unwrap().next_units(0), 4);
        assert_eq!(Class::of(512).unwrap().next_units(4096), WHOLE);
    }
}
