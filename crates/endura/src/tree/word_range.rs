//! A live range of numbers, from both ends.

use std::ops::{Bound, RangeBounds};

use crate::Result;
use crate::tree::Index;

/// The keys that are still to come, and where the tree was left at each end. It holds no tree: each call is given it.
pub(crate) struct WordRange<C> {
    /// The smallest and the largest key that may still come, unless all are done.
    from: u64,
    to: u64,
    done: bool,
    front: C,
    back: C,
}

impl<C: Default> WordRange<C> {
    pub(crate) fn new(keys: impl RangeBounds<u64>) -> Self {
        let from = match keys.start_bound() {
            Bound::Included(&key) => Some(key),
            Bound::Excluded(&key) => key.checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let to = match keys.end_bound() {
            Bound::Included(&key) => Some(key),
            Bound::Excluded(&key) => key.checked_sub(1),
            Bound::Unbounded => Some(u64::MAX),
        };
        // Bounds that leave no key at all read as an inverted range.
        let (from, to) = from.zip(to).unwrap_or((1, 0));
        let (front, back) = Default::default();
        Self { from, to, done: from > to, front, back }
    }

    #[inline]
    pub(crate) fn next(&mut self, tree: &impl Index<Cursor = C>) -> Option<Result<(u64, u64)>> {
        if self.done {
            return None;
        }
        match tree.next_up(&mut self.front) {
            Some(entry) if entry.0 >= self.from => self.take_up(entry),
            _ => self.search_up(tree),
        }
    }

    #[inline]
    pub(crate) fn next_back(
        &mut self,
        tree: &impl Index<Cursor = C>,
    ) -> Option<Result<(u64, u64)>> {
        if self.done {
            return None;
        }
        match tree.next_down(&mut self.back) {
            Some(entry) if entry.0 <= self.to => self.take_down(entry),
            _ => self.search_down(tree),
        }
    }

    /// Takes the entry that a scan upwards came to.
    #[inline(always)]
    fn take_up(&mut self, entry: (u64, u64)) -> Option<Result<(u64, u64)>> {
        self.done = entry.0 >= self.to;
        self.from = entry.0.wrapping_add(1);
        (entry.0 <= self.to).then_some(Ok(entry))
    }

    /// The same downwards.
    #[inline(always)]
    fn take_down(&mut self, entry: (u64, u64)) -> Option<Result<(u64, u64)>> {
        self.done = entry.0 <= self.from;
        self.to = entry.0.wrapping_sub(1);
        (entry.0 >= self.from).then_some(Ok(entry))
    }

    #[inline(never)]
    fn search_up(&mut self, tree: &impl Index<Cursor = C>) -> Option<Result<(u64, u64)>> {
        match tree.scan_up(&mut self.front, self.from) {
            Ok(Some(entry)) => self.take_up(entry),
            last => self.end(last),
        }
    }

    #[inline(never)]
    fn search_down(&mut self, tree: &impl Index<Cursor = C>) -> Option<Result<(u64, u64)>> {
        match tree.scan_down(&mut self.back, self.to) {
            Ok(Some(entry)) => self.take_down(entry),
            last => self.end(last),
        }
    }

    fn end(&mut self, last: Result<Option<(u64, u64)>>) -> Option<Result<(u64, u64)>> {
        self.done = true;
        last.err().map(Err)
    }
}
