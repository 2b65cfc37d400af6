//! A live range of numbers, which can be read from both ends.

use std::ops::{Bound, RangeBounds};

use crate::tree::Index;
use crate::{Error, Result};

/// The keys that are still to be returned, and the tree's cursor at each end. The range does not own the tree: the
/// caller passes the tree to each call.
pub struct WordRange<C> {
    /// The smallest and the largest key that may still be returned, unless the range has ended.
    from: u64,
    to: u64,
    done: bool,
    front: C,
    back: C,
    failed: Option<Error>,
}

impl<C: Default> WordRange<C> {
    /// All keys within a range.
    pub fn new(keys: impl RangeBounds<u64>) -> Self {
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
        // Bounds that contain no key become an inverted range.
        let (from, to) = from.zip(to).unwrap_or((1, 0));
        let (front, back) = Default::default();
        Self { from, to, done: from > to, front, back, failed: None }
    }

    /// Leaves out the keys below `from`.
    pub fn skip_to(&mut self, from: u64) {
        if from > self.from {
            self.from = from;
            self.front = C::default();
            self.done |= from > self.to;
        }
    }

    /// Leaves out the keys up to `last`.
    pub fn skip_past(&mut self, last: u64) {
        match last.checked_add(1) {
            Some(from) => self.skip_to(from),
            None => self.done = true,
        }
    }

    /// The next entry from below.
    #[inline]
    pub fn next(&mut self, tree: &impl Index<Cursor = C>) -> Option<Result<(u64, u64)>> {
        let mut value = 0;
        match self.next_key(tree, &mut value) {
            Some(key) => Some(Ok((key, value))),
            None => self.failed.take().map(Err),
        }
    }

    /// The next entry from above.
    #[inline]
    pub fn next_back(&mut self, tree: &impl Index<Cursor = C>) -> Option<Result<(u64, u64)>> {
        let mut value = 0;
        match self.next_back_key(tree, &mut value) {
            Some(key) => Some(Ok((key, value))),
            None => self.failed.take().map(Err),
        }
    }

    /// The error that ended the range, if one did; returned once.
    pub(crate) fn take_failure(&mut self) -> Option<Error> {
        self.failed.take()
    }

    /// Returns the next key from below, and stores its value in `value`. This way both reach the caller in registers.
    /// An entry, or a result, would be returned through memory, where a load of 16 bytes waits for two stores of 8.
    #[inline(always)]
    pub(crate) fn next_key(
        &mut self,
        tree: &impl Index<Cursor = C>,
        value: &mut u64,
    ) -> Option<u64> {
        if self.done {
            return None;
        }
        match tree.next_up(&mut self.front) {
            Some(found) if found.0 >= self.from => self.take_up(found, value),
            Some(_) => self.fail(tree, true),
            None => self.search_up(tree, value),
        }
    }

    /// As [`next_key`](Self::next_key), from above.
    #[inline(always)]
    pub(crate) fn next_back_key(
        &mut self,
        tree: &impl Index<Cursor = C>,
        value: &mut u64,
    ) -> Option<u64> {
        if self.done {
            return None;
        }
        match tree.next_down(&mut self.back) {
            Some(found) if found.0 <= self.to => self.take_down(found, value),
            Some(_) => self.fail(tree, false),
            None => self.search_down(tree, value),
        }
    }

    /// Takes over the entry that an upward scan returned, and moves the lower end of the range past it.
    #[inline(always)]
    fn take_up(&mut self, found: (u64, u64), value: &mut u64) -> Option<u64> {
        *value = found.1;
        if found.0 < self.to {
            self.from = found.0 + 1;
            return Some(found.0);
        }
        // The key is the last one that may be returned, or lies beyond it.
        self.done = true;
        (found.0 == self.to).then_some(found.0)
    }

    /// As [`take_up`](Self::take_up), for a downward scan and the upper end.
    #[inline(always)]
    fn take_down(&mut self, found: (u64, u64), value: &mut u64) -> Option<u64> {
        *value = found.1;
        if found.0 > self.from {
            self.to = found.0 - 1;
            return Some(found.0);
        }
        self.done = true;
        (found.0 == self.from).then_some(found.0)
    }

    #[inline(never)]
    fn search_up(&mut self, tree: &impl Index<Cursor = C>, value: &mut u64) -> Option<u64> {
        match tree.scan_up(&mut self.front, self.from) {
            Ok(Some(found)) if found.0 < self.from => self.fail(tree, true),
            Ok(Some(found)) => self.take_up(found, value),
            last => self.end(tree, last),
        }
    }

    #[inline(never)]
    fn search_down(&mut self, tree: &impl Index<Cursor = C>, value: &mut u64) -> Option<u64> {
        match tree.scan_down(&mut self.back, self.to) {
            Ok(Some(found)) if found.0 > self.to => self.fail(tree, false),
            Ok(Some(found)) => self.take_down(found, value),
            last => self.end(tree, last),
        }
    }

    /// Ends the range with the error for an entry whose key is not beyond the key returned last.
    #[cold]
    #[inline(never)]
    fn fail(&mut self, tree: &impl Index<Cursor = C>, upwards: bool) -> Option<u64> {
        let error = tree.out_of_order(if upwards { &self.front } else { &self.back });
        self.end(tree, Err(error))
    }

    #[cold]
    #[inline(never)]
    fn end(
        &mut self,
        tree: &impl Index<Cursor = C>,
        last: Result<Option<(u64, u64)>>,
    ) -> Option<u64> {
        self.done = true;
        self.failed = last.err().map(|error| tree.noted(error));
        None
    }
}
