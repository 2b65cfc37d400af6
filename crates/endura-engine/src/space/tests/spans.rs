//! Spans of few units, where another size has left gaps between its own spans.

use std::collections::BTreeMap;

use super::*;
use crate::space::alloc::class::{Class, SMALL, WHOLE};
use crate::space::alloc::page::header::{self, PageKind};
use crate::space::alloc::page::table::{self, SpanKind};

/// Counts the spans of chunks of this class that have `units` units, by their headers.
fn spans(space: &Space<Heap>, class: Class, units: u64) -> u64 {
    let pages = 0..space.stats().length.div_ceil(PAGE);
    // Page 0 has no header: it always has spans.
    let is_cut =
        |&page: &u64| page == 0 || header::read(&space.media, page).unwrap() == PageKind::Cut;
    let found = pages.filter(is_cut).flat_map(|page| table::walk(&space.media, page));
    let headers = found.map(|found| found.unwrap().header);
    headers.filter(|header| header.kind == SpanKind::Slab(class) && header.units == units).count()
        as u64
}

/// Allocates `bytes` bytes of chunks. Returns the chunks of each span, by its first unit.
fn take(space: &Space<Heap>, class: Class, bytes: u64) -> BTreeMap<u64, Vec<u64>> {
    let mut taken = BTreeMap::<u64, Vec<u64>>::new();
    for _ in 0..bytes / class.size() {
        let at = space.pin_mut().unwrap().alloc(class.size()).unwrap();
        let span = table::find(&space.media, at / UNIT).unwrap();
        taken.entry(span.first).or_default().push(at);
    }
    taken
}

/// Frees the chunks, and with them their spans.
fn free<'c>(space: &Space<Heap>, class: Class, chunks: impl Iterator<Item = &'c Vec<u64>>) {
    let guard = space.pin_mut().unwrap();
    chunks.flatten().for_each(|&at| guard.discard(at, class.size()));
    drop(guard);
    space.relieve().unwrap();
}

/// An open after a kill reads the header of each span. So a size that has given no small span back leaves the gaps
/// alone and takes a page. A size that has given some back takes as many again.
#[test]
fn a_size_has_no_more_small_spans_than_it_began_with() {
    let space = pool(64);
    let of_size = |bytes| Class::of_size(bytes).unwrap();
    let (own, other) = (of_size(1024), of_size(512));
    let (few, most) = (own.few_units(), SMALL / own.few_units());
    assert_eq!(few, other.few_units());
    let at_first = take(&space, own, SMALL * UNIT);
    let of_other = take(&space, other, SMALL * UNIT);
    assert_eq!([own, other].map(|class| spans(&space, class, few)), [most; 2]);

    free(&space, other, of_other.values().step_by(2));
    assert!(spans(&space, other, few) < most * 5 / 8, "gaps between spans");
    take(&space, own, 8 << 20);
    assert_eq!(spans(&space, own, few), most);
    assert!((4..=5).contains(&spans(&space, own, WHOLE)));

    free(&space, own, at_first.values().step_by(4));
    let given = most - spans(&space, own, few);
    assert!(given >= most / 4 - 1);
    let whole = spans(&space, own, WHOLE);
    // As much as fits into the span that was taken last, and into the small ones.
    take(&space, own, WHOLE * UNIT + given * few * UNIT);
    assert_eq!(spans(&space, own, few), most);
    assert!(spans(&space, own, WHOLE) <= whole + 1);
    assert!(!space.is_poisoned());
}
