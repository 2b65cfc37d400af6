//! The free units of pages that are cut.

use crate::numbered::{Numbered, Numbers};
use crate::space::layout::UNITS;

/// The units of one page: a bit is set where the unit is free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Units([u64; UNITS as usize / 64]);

impl Units {
    fn set(&mut self, from: u64, to: u64, is_free: bool) {
        for unit in from..to {
            let (word, bit) = ((unit / 64) as usize, 1 << (unit % 64));
            self.0[word] = if is_free { self.0[word] | bit } else { self.0[word] & !bit };
        }
    }

    fn is_free(&self, unit: u64) -> bool {
        self.0[(unit / 64) as usize] >> (unit % 64) & 1 == 1
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The first unit from `from` on that is free, or in use if `is_free` is `false`; `UNITS` if there is none.
    fn next(&self, from: u64, is_free: bool) -> u64 {
        let mut unit = from;
        while unit < UNITS {
            let word = self.0[(unit / 64) as usize];
            let word = (if is_free { word } else { !word }) >> (unit % 64);
            if word != 0 {
                return UNITS.min(unit + u64::from(word.trailing_zeros()));
            }
            unit = (unit / 64 + 1) * 64;
        }
        UNITS
    }

    /// The maximal runs of free units, as first unit and end.
    fn runs(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut unit = 0;
        std::iter::from_fn(move || {
            let first = self.next(unit, true);
            unit = self.next(first, false);
            (first < UNITS).then_some((first, unit))
        })
    }

    fn longest(&self) -> u64 {
        self.runs().map(|(first, end)| end - first).max().unwrap_or(0)
    }
}

/// The free units of all pages that are cut. Units are counted from the start of the pool.
#[derive(Debug, Default)]
pub(crate) struct FreeUnits {
    /// The pages that have free units.
    pages: Numbered<Units>,
    /// The same pages by the length of their longest run of free units.
    by_longest: Numbered<Numbers>,
    /// Free units of all pages together.
    count: u64,
}

impl FreeUnits {
    /// Free units of all pages.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Free units of page `page`.
    pub(crate) fn count_in(&self, page: u64) -> u64 {
        self.pages.get(page).map_or(0, Units::count)
    }

    pub(crate) fn is_free(&self, unit: u64) -> bool {
        self.pages.get(unit / UNITS).is_some_and(|units| units.is_free(unit % UNITS))
    }

    /// Whether one of the units `first..end`, which lie in one page, is free.
    pub(crate) fn touches(&self, first: u64, end: u64) -> bool {
        let units = self.pages.get(first / UNITS);
        units.is_some_and(|units| units.next(first % UNITS, true) < first % UNITS + (end - first))
    }

    /// The end of the run of free units that begins at `first`.
    pub(crate) fn end_of_run(&self, first: u64) -> u64 {
        let page = first / UNITS;
        let units = self.pages.get(page);
        units.map_or(first, |units| page * UNITS + units.next(first % UNITS, false))
    }

    /// The lowest run of at least `count` free units in the lowest page that has one; returns the start of the run.
    /// O(512).
    pub(crate) fn fit(&self, count: u64) -> Option<u64> {
        let pages = self.by_longest.range(count..).filter_map(|(_, pages)| pages.first());
        let page = pages.min()?;
        let mut runs = self.pages.get(page)?.runs();
        runs.find(|(first, end)| end - first >= count).map(|(first, _)| page * UNITS + first)
    }

    /// All maximal runs, as first unit and end, ascending.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (u64, u64)> {
        self.pages.iter().flat_map(|(page, units)| {
            units.runs().map(move |(first, end)| (page * UNITS + first, page * UNITS + end))
        })
    }

    /// The last run, as first unit and end.
    pub(crate) fn last_run(&self) -> Option<(u64, u64)> {
        let (page, units) = self.pages.iter().next_back()?;
        units.runs().last().map(|(first, end)| (page * UNITS + first, page * UNITS + end))
    }

    /// Makes the units `first..end`, which lie in one page, free or not free.
    pub(crate) fn set(&mut self, first: u64, end: u64, is_free: bool) {
        let page = first / UNITS;
        let mut units = self.pages.get(page).copied().unwrap_or_default();
        self.forget(page);
        units.set(first % UNITS, first % UNITS + (end - first), is_free);
        if units.count() > 0 {
            let same = self.by_longest.get_or_insert_with(units.longest(), Numbers::default);
            same.insert(page, ());
            self.count += units.count();
            self.pages.insert(page, units);
        }
    }

    /// Forgets the free units of a page.
    pub(crate) fn forget(&mut self, page: u64) {
        let Some(units) = self.pages.remove(page) else { return };
        self.count -= units.count();
        let longest = units.longest();
        if let Some(pages) = self.by_longest.get_mut(longest) {
            pages.remove(page);
            if pages.is_empty() {
                self.by_longest.remove(longest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_page_with_room_is_taken() {
        let mut free = FreeUnits::default();
        assert_eq!((free.fit(1), free.count()), (None, 0));
        free.set(3 * 512 + 10, 3 * 512 + 14, true);
        free.set(3 * 512 + 60, 3 * 512 + 70, true);
        free.set(7 * 512 + 1, 8 * 512, true);
        assert_eq!(free.fit(1), Some(3 * 512 + 10));
        assert_eq!(free.fit(5), Some(3 * 512 + 60));
        assert_eq!(free.fit(11), Some(7 * 512 + 1));
        assert_eq!((free.fit(512), free.count()), (None, 4 + 10 + 511));
        assert_eq!(free.end_of_run(3 * 512 + 60), 3 * 512 + 70);
        assert_eq!(free.end_of_run(7 * 512 + 1), 8 * 512);
        assert!(free.is_free(3 * 512 + 69) && !free.is_free(3 * 512 + 70));
        assert!(free.touches(3 * 512, 3 * 512 + 11) && !free.touches(3 * 512, 3 * 512 + 10));
        assert!(!free.touches(3 * 512 + 70, 4 * 512) && !free.touches(5 * 512, 6 * 512));
        free.set(3 * 512 + 14, 3 * 512 + 60, true);
        let runs = [(3 * 512 + 10, 3 * 512 + 70), (7 * 512 + 1, 8 * 512)];
        assert!(free.runs().eq(runs) && free.last_run() == Some(runs[1]));
        assert_eq!((free.count_in(3), free.count_in(4)), (60, 0));
        free.set(3 * 512 + 10, 3 * 512 + 70, false);
        assert!(free.runs().eq([runs[1]]) && free.fit(60) == Some(7 * 512 + 1));
        free.forget(7);
        assert_eq!((free.fit(1), free.count()), (None, 0));
        assert!(free.by_longest.is_empty());
    }

    /// The runs are compared with those of a list of booleans.
    #[test]
    fn runs_are_those_of_the_bits() {
        let mut seed = 7_u64;
        for _ in 0..200 {
            let (mut units, mut plain) = (Units::default(), [false; 512]);
            for _ in 0..20 {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (a, b) = (seed >> 33 & 511, seed >> 45 & 511);
                let (from, to, is_free) = (a.min(b), a.max(b), seed >> 60 & 1 == 1);
                units.set(from, to, is_free);
                plain[from as usize..to as usize].fill(is_free);
            }
            let mut runs = Vec::new();
            for unit in 0..512 {
                if plain[unit] && (unit == 0 || !plain[unit - 1]) {
                    let length = plain[unit..].iter().take_while(|is_free| **is_free).count();
                    runs.push((unit as u64, (unit + length) as u64));
                }
            }
            assert!(units.runs().eq(runs.iter().copied()));
            assert_eq!(units.longest(), runs.iter().map(|run| run.1 - run.0).max().unwrap_or(0));
        }
    }
}
