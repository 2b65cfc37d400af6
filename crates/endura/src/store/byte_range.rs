//! Ranges over byte strings.

use std::iter::FusedIterator;
use std::ops::Bound;

use super::ByteMap;
use super::byte_map::ByteEntry;
use crate::Result;
use crate::tree::ByteIndex;

/// A live range of a map of byte strings, from both ends; see [`ByteMap::range`].
pub struct ByteRange<I: ByteIndex> {
    map: ByteMap<I>,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    done: bool,
    front: I::Cursor,
    back: I::Cursor,
}

impl<I: ByteIndex> ByteRange<I> {
    pub(super) fn new(map: ByteMap<I>, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Self {
        let (front, back) = Default::default();
        Self { map, from, to, done: false, front, back }
    }

    /// Gives `entry` out, or ends the range. `spent` becomes the bound behind which it goes on.
    fn give(
        &mut self,
        entry: Result<Option<Option<ByteEntry>>>,
        spent: impl FnOnce(&mut Self) -> &mut Bound<Vec<u8>>,
    ) -> Option<Result<ByteEntry>> {
        match entry {
            Ok(Some(Some(entry))) => {
                exclude(spent(self), &entry.0);
                Some(Ok(entry))
            }
            last => {
                self.done = true;
                last.err().map(Err)
            }
        }
    }
}

/// Makes `bound` exclude `key`, in the memory that it has.
fn exclude(bound: &mut Bound<Vec<u8>>, key: &[u8]) {
    let mut bytes = match std::mem::replace(bound, Bound::Unbounded) {
        Bound::Included(bytes) | Bound::Excluded(bytes) => bytes,
        Bound::Unbounded => Vec::new(),
    };
    bytes.clear();
    bytes.extend_from_slice(key);
    *bound = Bound::Excluded(bytes);
}

fn is_after(key: &[u8], from: &Bound<Vec<u8>>) -> bool {
    match from {
        Bound::Included(from) => key >= &from[..],
        Bound::Excluded(from) => key > &from[..],
        Bound::Unbounded => true,
    }
}

fn is_before(key: &[u8], to: &Bound<Vec<u8>>) -> bool {
    match to {
        Bound::Included(to) => key <= &to[..],
        Bound::Excluded(to) => key < &to[..],
        Bound::Unbounded => true,
    }
}

impl<I: ByteIndex> Iterator for ByteRange<I> {
    type Item = Result<ByteEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let (index, to) = (self.map.index(), &self.to);
        let from = self.from.as_ref().map(Vec::as_slice);
        let entry = index.scan_up(&mut self.front, from, |key, value| {
            let key = key.to_vec();
            is_before(&key, to).then(|| (key, value.to_vec()))
        });
        self.give(entry, |range| &mut range.from)
    }
}

impl<I: ByteIndex> DoubleEndedIterator for ByteRange<I> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let (index, from) = (self.map.index(), &self.from);
        let to = self.to.as_ref().map(Vec::as_slice);
        let entry = index.scan_down(&mut self.back, to, |key, value| {
            let key = key.to_vec();
            is_after(&key, from).then(|| (key, value.to_vec()))
        });
        self.give(entry, |range| &mut range.to)
    }
}

impl<I: ByteIndex> FusedIterator for ByteRange<I> {}
