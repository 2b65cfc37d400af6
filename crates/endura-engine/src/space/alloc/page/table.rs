//! The table of a page that is cut: what its spans are.
//!
//! A page has 512 units of 4 KiB. A span is a number of neighbouring units. Unit 0 is the table: word `u` is the header
//! of the span that begins at unit `u`. (Word 0 is the header of the [page](super::header); page 0 has its table in
//! unit 3.) The word of a unit at which no span begins is never read, and may be anything. So a page is walked along
//! its table: the first span begins at unit 1 (in page 0 at unit 12), each further span begins where the one before it
//! ends, and the last span ends with the page.
//!
//! | bits | what |
//! | --- | --- |
//! | 0..4 | kind: FREE 1, SLAB 2, RUN 4, DIRECTORY 8 |
//! | 4..14 | units |
//! | 14..26 | SLAB: bytes per chunk, in steps of 16; else 0 |
//! | 26..31 | SLAB: its *tail*, how many of the last parts of the span have no chunk that was ever handed out |
//! | 31..36 | SLAB: the complement of bits 26..31; else 0 |
//! | 36..46 | the complement of bits 4..14 |
//! | 46..48 | 0 |
//! | 48..64 | a constant, so that zeros and stray data are not taken for a header |
//!
//! No single flipped bit makes another tail, or another number of units, from which the walk would continue elsewhere.
//!
//! A part is a quarter of a span of a few units, or 16 units of a span that takes a whole page. The tail shrinks,
//! durably, before a chunk that begins in it is handed out, and never grows until the span is taken again. So the tail
//! is right in every crash state, and the chunks in it need no leak recovery.

use crate::media::{Mark, Media, Ordering, Region};
use crate::space::alloc::class::{Class, WHOLE};
use crate::space::layout::{PAGE, TABLE, UNIT, UNITS, first_unit};
use crate::{Error, Result};

const MARK: u64 = 0xC5A1 << 48;

const FREE: u64 = 1;
const SLAB: u64 = 2;
const RUN: u64 = 4;
const DIRECTORY: u64 = 8;

/// Units of a part of a span that takes all of its page.
const WHOLE_PART: u64 = 16;

/// The kind of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    /// Nothing in it is in use.
    Free,
    /// Chunks of one size.
    Slab(Class),
    /// One chunk.
    Run,
    /// Directory entries.
    Directory,
}

/// A span as its header describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: SpanKind,
    pub(crate) units: u64,
}

/// A header, and where it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundSpan {
    /// The first unit of the span, counted from the start of the pool.
    pub(crate) first: u64,
    pub(crate) header: Header,
    /// Where the tail begins, in bytes from the start of the span; the end of the span if it has no tail.
    pub(crate) tail: u64,
}

/// Parts of a span of chunks that has a few units. Each part is a whole number of units.
const FEW_PARTS: u64 = 4;

/// Units of a part of a span of chunks that has `units` units.
fn part(units: u64) -> u64 {
    if units == WHOLE { WHOLE_PART } else { units / FEW_PARTS }
}

/// Parts of a span of chunks that has `units` units. (This is computed without a division by a variable, because an
/// open computes it for each span.)
fn parts(units: u64) -> u64 {
    if units == WHOLE { WHOLE.div_ceil(WHOLE_PART) } else { FEW_PARTS }
}

/// Bytes of the first `used` parts of a span of `units` units.
fn bytes_of(units: u64, used: u64) -> u64 {
    units.min(used * part(units)) * UNIT
}

impl Header {
    /// The header as a word. `tail` is the number of the last parts of a span of chunks that were never used.
    fn word(self, tail: u64) -> u64 {
        let (kind, more) = match self.kind {
            SpanKind::Free => (FREE, 0),
            SpanKind::Slab(class) => {
                (SLAB, (class.size() / 16) << 14 | tail << 26 | (!tail & 0x1F) << 31)
            }
            SpanKind::Run => (RUN, 0),
            SpanKind::Directory => (DIRECTORY, 0),
        };
        MARK | (!self.units & 0x3FF) << 36 | more | self.units << 4 | kind
    }

    /// Decodes a word into the header and its tail in parts. `None` if the word is no header.
    fn from_word(word: u64) -> Option<(Self, u64)> {
        let (units, tail) = (word >> 4 & 0x3FF, word >> 26 & 0x1F);
        let kind = match word & 0xF {
            FREE => SpanKind::Free,
            SLAB => SpanKind::Slab(Class::of_size(16 * (word >> 14 & 0xFFF))?),
            RUN => SpanKind::Run,
            DIRECTORY => SpanKind::Directory,
            _ => return None,
        };
        let fits = match kind {
            SpanKind::Slab(class) => class.can_have(units) && tail < parts(units),
            _ => (1..=WHOLE).contains(&units),
        };
        let header = Self { kind, units };
        (fits && header.word(tail) == word).then_some((header, tail))
    }
}

/// The word of the table for the span that begins at unit `first`.
fn word<M: Media>(media: &M, first: u64) -> Result<Region<'_, M>> {
    let (page, unit) = (first / UNITS, first % UNITS);
    let table = if page == 0 { TABLE } else { page.saturating_mul(PAGE) / 8 * 8 };
    Region::new(media, table.saturating_add(8 * unit) / 8 * 8, 1)
}

/// The span that begins at unit `first`, where the caller knows that one begins.
pub(crate) fn read<M: Media>(media: &M, first: u64) -> Result<FoundSpan> {
    let word = word(media, first)?;
    // Pairs with the Release of `write`; within a session the allocator's locks order the two as well.
    let found = Header::from_word(word.load(0, Ordering::Acquire));
    let (header, tail) = found
        .filter(|(header, _)| first % UNITS + header.units <= UNITS)
        .ok_or(Error::Corrupt { offset: word.offset(), what: "a span without a header" })?;
    let used = match header.kind {
        SpanKind::Slab(_) => bytes_of(header.units, parts(header.units) - tail),
        _ => header.units * UNIT,
    };
    Ok(FoundSpan { first, header, tail: used })
}

/// All spans of a page, in order. The first error is the last item.
pub(crate) fn walk<M: Media>(media: &M, page: u64) -> impl Iterator<Item = Result<FoundSpan>> {
    let mut next = Some(first_unit(page));
    std::iter::from_fn(move || {
        let first = next.take()?;
        let found = read(media, first);
        if let Ok(found) = &found {
            let end = first + found.header.units;
            next = (!end.is_multiple_of(UNITS)).then_some(end);
        }
        Some(found)
    })
}

/// The span that unit `unit` is part of. O(spans of the page).
pub(crate) fn find<M: Media>(media: &M, unit: u64) -> Result<FoundSpan> {
    for found in walk(media, unit / UNITS) {
        let found = found?;
        if (found.first..found.first + found.header.units).contains(&unit) {
            return Ok(found);
        }
    }
    Err(Error::Corrupt { offset: unit.saturating_mul(UNIT), what: "a unit that is in no span" })
}

/// Stores what begins at unit `first` from now on, and starts the write-back. The first part of a span of chunks is in
/// use at once, so that it needs no store of its own. The caller fences before anything durable relies on the header.
pub(crate) fn write<M: Media>(media: &M, first: u64, header: Header) -> Result<()> {
    let word = word(media, first)?;
    let tail = match header.kind {
        SpanKind::Slab(_) => parts(header.units) - 1,
        _ => 0,
    };
    word.store(0, header.word(tail), Ordering::Release);
    word.flush(0, 1);
    Ok(())
}

/// Starts the write-back of the header of the span at `first`, which a killed process may have stored.
#[track_caller]
pub(crate) fn flush<M: Media>(media: &M, first: u64) -> Result<()> {
    let word = word(media, first)?;
    word.flush(0, 1);
    Ok(())
}

/// Shortens the tail of the span of chunks at `first`, so that the tail begins after byte `place` of the span. The
/// header is durable on return. Returns where the tail begins. The caller holds the lock of the span's class.
pub(crate) fn shorten_tail<M: Media>(
    media: &M,
    first: u64,
    header: Header,
    place: u64,
) -> Result<u64> {
    let word = word(media, first)?;
    let used = place / (part(header.units) * UNIT) + 1;
    let tail = parts(header.units) - used;
    // Relaxed: in this session a lock in DRAM orders it, and the next open reads tails before any other thread runs.
    word.store(0, header.word(tail), Ordering::Relaxed);
    word.flush(0, 1);
    media.mark(Mark::Step("pool.span.tail"));
    // Before a chunk of this part can be linked, because after a crash it would be allocated again. A drain, as where
    // spans are taken, because another thread may link the chunk.
    media.drain();
    Ok(bytes_of(header.units, used))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::Heap;

    fn every_header() -> impl Iterator<Item = Header> {
        let slabs = Class::all().flat_map(|class| {
            [class.few_units(), WHOLE].map(|units| Header { kind: SpanKind::Slab(class), units })
        });
        let others = [SpanKind::Free, SpanKind::Run, SpanKind::Directory];
        let others = others
            .into_iter()
            .flat_map(|kind| [1, 2, 16, 500, WHOLE].map(|units| Header { kind, units }));
        slabs.chain(others)
    }

    #[test]
    fn every_span_survives_its_word() {
        for header in every_header() {
            let tails = if let SpanKind::Slab(_) = header.kind { parts(header.units) } else { 1 };
            for tail in 0..tails {
                assert_eq!(Header::from_word(header.word(tail)), Some((header, tail)));
            }
        }
    }

    #[test]
    fn no_flipped_bit_makes_another_tail_or_length() {
        for header in every_header() {
            for bit in 0..64 {
                let found = Header::from_word(header.word(0) ^ 1 << bit);
                let is_same =
                    |(other, tail): (Header, u64)| other.units == header.units && tail == 0;
                assert!(found.is_none_or(is_same), "{header:?}, bit {bit}: {found:?}");
                assert!(found.is_none() || (14..26).contains(&bit), "{header:?}, bit {bit}");
            }
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let slab = Header { kind: SpanKind::Slab(Class::of(512).unwrap()), units: 4 };
        let odd = [
            Header { units: 5, ..slab }.word(0),
            slab.word(4),
            slab.word(0) ^ 1 << 46,
            Header { kind: SpanKind::Free, units: 0 }.word(0),
            Header { kind: SpanKind::Run, units: 512 }.word(0),
        ];
        for word in [0, u64::MAX, MARK, MARK | FREE].into_iter().chain(odd) {
            assert_eq!(Header::from_word(word), None, "{word:#x}");
        }
        let media = Heap::new(2 * PAGE);
        for unit in [12, 513, 1024, u64::MAX, u64::MAX / UNIT, 1 << 63] {
            assert!(matches!(read(&media, unit), Err(Error::Corrupt { .. })), "{unit:#x}");
            assert!(matches!(find(&media, unit), Err(Error::Corrupt { .. })), "{unit:#x}");
        }
    }

    #[test]
    fn a_page_is_walked_from_span_to_span() {
        let media = Heap::new(2 * PAGE);
        for page in 0..2 {
            let slab = Header { kind: SpanKind::Slab(Class::of(512).unwrap()), units: 4 };
            let mut spans = vec![slab, Header { kind: SpanKind::Run, units: 100 }, slab];
            let left = UNITS - first_unit(page) % UNITS - 108;
            spans.push(Header { kind: SpanKind::Free, units: left });
            let mut first = first_unit(page);
            for &header in &spans {
                write(&media, first, header).unwrap();
                first += header.units;
            }
            let found: Vec<_> = walk(&media, page).map(|found| found.unwrap()).collect();
            assert!(found.iter().map(|found| found.header).eq(spans));
            for found in &found {
                for unit in [found.first, found.first + found.header.units - 1] {
                    assert_eq!(find(&media, unit).unwrap(), *found);
                }
            }
            // The last span is too long.
            let last = found[3].first;
            write(&media, last, Header { kind: SpanKind::Free, units: left + 1 }).unwrap();
            assert!(walk(&media, page).last().unwrap().is_err());
            assert!(find(&media, first_unit(page) + 4).is_ok() && find(&media, last).is_err());
        }
    }

    #[test]
    fn tails_shrink() {
        let media = Heap::new(2 * PAGE);
        let class = Class::of(512).unwrap();
        for units in [class.few_units(), WHOLE] {
            let header = Header { kind: SpanKind::Slab(class), units };
            write(&media, 513, header).unwrap();
            let part = part(units) * UNIT;
            assert_eq!(read(&media, 513).unwrap(), FoundSpan { first: 513, header, tail: part });
            for place in [part, part + 512, 3 * part - 512, units * UNIT - 512] {
                let begin = shorten_tail(&media, 513, header, place).unwrap();
                assert!(begin > place && begin <= place + part, "{place:#x}");
                assert_eq!(
                    read(&media, 513).unwrap(),
                    FoundSpan { first: 513, header, tail: begin }
                );
            }
            assert_eq!(read(&media, 513).unwrap().tail, units * UNIT);
        }
    }
}
