//! The spans and runs of pages that were in use when the pool was opened. A leak recovery looks at these.

use crate::space::alloc::class::Class;
use crate::space::layout::{UNIT, UNITS};

/// What a span that was in use at the open is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Old {
    Slab(Class),
    Run,
    /// A run of pages.
    Large,
    Directory,
}

/// A span, or a run of pages, that was in use at the open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OldSpan {
    pub(crate) first: u64,
    pub(crate) units: u64,
    pub(crate) kind: Old,
}

/// All spans that were in use at the open, ascending.
#[derive(Debug, Default)]
pub(crate) struct LeftOver {
    spans: Vec<OldSpan>,
    /// For each page, the index of the first span that begins in it or in a later page; the number of spans if none
    /// does.
    by_page: Vec<u32>,
    units: u64,
}

impl LeftOver {
    /// Adds a span that begins after all others.
    pub(crate) fn push(&mut self, span: OldSpan) {
        let page = (span.first / UNITS) as usize;
        self.by_page.resize(self.by_page.len().max(page + 1), self.spans.len() as u32);
        self.units += span.units;
        self.spans.push(span);
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Bytes of all spans.
    pub(crate) fn bytes(&self) -> u64 {
        self.units * UNIT
    }

    pub(crate) fn get(&self, index: usize) -> Option<OldSpan> {
        self.spans.get(index).copied()
    }

    /// The span that a chunk in this unit can be part of, and its index. (A chunk of a run of pages begins in the run's
    /// first page.)
    #[inline]
    pub(crate) fn at(&self, unit: u64) -> Option<(usize, OldSpan)> {
        let page = (unit / UNITS) as usize;
        let from = *self.by_page.get(page)? as usize;
        let to = self.by_page.get(page + 1).map_or(self.spans.len(), |&to| to as usize);
        let behind = self.spans[from..to].partition_point(|span| span.first <= unit);
        let index = from + behind.checked_sub(1)?;
        let span = self.spans[index];
        (unit < span.first + span.units).then_some((index, span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_finds_its_span() {
        let class = Class::of(64).unwrap();
        let spans = [
            OldSpan { first: 12, units: 4, kind: Old::Slab(class) },
            OldSpan { first: 20, units: 30, kind: Old::Run },
            OldSpan { first: 3 * 512 + 1, units: 511, kind: Old::Slab(class) },
            OldSpan { first: 4 * 512, units: 1024, kind: Old::Large },
            OldSpan { first: 7 * 512 + 5, units: 16, kind: Old::Directory },
        ];
        let mut left = LeftOver::default();
        spans.iter().for_each(|&span| left.push(span));
        assert_eq!((left.len(), left.bytes()), (5, (4 + 30 + 511 + 1024 + 16) * UNIT));
        for (i, span) in spans.iter().enumerate() {
            let last = span.first + span.units.min(512 - span.first % 512) - 1;
            for unit in [span.first, last] {
                let (index, found) = left.at(unit).unwrap();
                assert_eq!((index, found.first, found.kind), (i, span.first, span.kind));
            }
            assert_eq!(left.get(i).unwrap().first, span.first);
        }
        for unit in [0, 11, 16, 19, 50, 512, 3 * 512, 5 * 512, 7 * 512, 7 * 512 + 21, 9 * 512] {
            assert!(left.at(unit).is_none(), "{unit}");
        }
        assert!(LeftOver::default().at(0).is_none());
    }
}
