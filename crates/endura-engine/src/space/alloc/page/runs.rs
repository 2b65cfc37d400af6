//! Runs of free pages.

use std::collections::BTreeMap;

/// Free pages: the first page of each run and its length. Neighbouring runs are merged.
#[derive(Debug, Default)]
pub(crate) struct Runs(BTreeMap<u64, u64>);

impl Runs {
    /// Free pages in all runs.
    pub(crate) fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The first page and the length of each run, ascending.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        self.0.iter().map(|(&first, &count)| (first, count))
    }

    fn before(&self, page: u64) -> Option<(u64, u64)> {
        self.0.range(..=page).next_back().map(|(&first, &count)| (first, first + count))
    }

    pub(crate) fn has(&self, page: u64) -> bool {
        self.before(page).is_some_and(|(_, end)| page < end)
    }

    /// Whether any page of `first..end` is free.
    pub(crate) fn touches(&self, first: u64, end: u64) -> bool {
        self.before(end - 1).is_some_and(|(_, run_end)| first < run_end)
    }

    /// The lowest place with `count` free pages in a row.
    pub(crate) fn fit(&self, count: u64) -> Option<u64> {
        self.0.iter().find(|&(_, &length)| length >= count).map(|(&first, _)| first)
    }

    /// How many free pages lie directly before page `end`, which is the end of the pool.
    pub(crate) fn count_before(&self, end: u64) -> u64 {
        let last = self.iter().next_back();
        last.filter(|(first, count)| first + count == end).map_or(0, |(_, count)| count)
    }

    pub(crate) fn insert(&mut self, first: u64, count: u64) {
        let (mut start, mut end) = (first, first + count);
        if let Some((before, run_end)) = self.before(first)
            && run_end == first
        {
            start = before;
        }
        if let Some(after) = self.0.remove(&end) {
            end += after;
        }
        self.0.insert(start, end - start);
    }

    /// Removes `count` pages from `first` on from the run that holds them.
    pub(crate) fn remove(&mut self, first: u64, count: u64) {
        if let Some((start, end)) = self.before(first) {
            self.0.remove(&start);
            if start < first {
                self.0.insert(start, first - start);
            }
            if first + count < end {
                self.0.insert(first + count, end - first - count);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_run() {
        let mut runs = Runs::default();
        runs.insert(3, 1);
        runs.insert(5, 2);
        assert!(runs.iter().eq([(3, 1), (5, 2)]));
        assert_eq!((runs.fit(2), runs.fit(3), runs.count_before(7)), (Some(5), None, 2));
        runs.insert(4, 1);
        assert!(runs.iter().eq([(3, 4)]) && runs.count() == 4);
        assert!(runs.has(6) && !runs.has(7) && runs.touches(1, 4) && !runs.touches(1, 3));
        runs.remove(4, 1);
        assert!(runs.iter().eq([(3, 1), (5, 2)]));
        runs.clear();
        assert_eq!((runs.count(), runs.count_before(7)), (0, 0));
    }
}
