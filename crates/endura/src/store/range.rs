//! Live, double-ended ranges.

use std::ops::{Bound, RangeBounds};

use crate::Result;
use crate::store::Map;
use crate::tree::{Index, Way};

/// The entries of a map with keys between two bounds; see [`Map::range`].
///
/// After an error the range ends.
pub struct Range<I: Index> {
    map: Map<I>,
    /// The keys still to come, both included; `None` when they are all done.
    keys: Option<(u64, u64)>,
    front: Option<I::Cursor>,
    back: Option<I::Cursor>,
}

impl<I: Index> Range<I> {
    pub(super) fn new(map: Map<I>, keys: impl RangeBounds<u64>) -> Self {
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
        let keys = from.zip(to).filter(|(from, to)| from <= to);
        Self { map, keys, front: None, back: None }
    }

    /// Takes note of what a step from one end found: `rest` is what remains beyond its key.
    fn step(
        &mut self,
        found: Result<Option<(u64, u64)>>,
        rest: impl FnOnce(u64) -> Option<(u64, u64)>,
    ) -> Option<Result<(u64, u64)>> {
        let (from, to) = self.keys.take()?;
        match found {
            Ok(Some(entry)) if (from..=to).contains(&entry.0) => {
                self.keys = rest(entry.0).filter(|(from, to)| from <= to);
                Some(Ok(entry))
            }
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl<I: Index> Iterator for Range<I> {
    type Item = Result<(u64, u64)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (from, to) = self.keys?;
        let cursor = self.front.get_or_insert_with(|| self.map.index().cursor(Way::Up));
        let found = self.map.index().scan(cursor, from);
        self.step(found, |key| key.checked_add(1).map(|from| (from, to)))
    }
}

impl<I: Index> DoubleEndedIterator for Range<I> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let (from, to) = self.keys?;
        let cursor = self.back.get_or_insert_with(|| self.map.index().cursor(Way::Down));
        let found = self.map.index().scan(cursor, to);
        self.step(found, |key| key.checked_sub(1).map(|to| (from, to)))
    }
}

impl<I: Index> std::iter::FusedIterator for Range<I> {}
