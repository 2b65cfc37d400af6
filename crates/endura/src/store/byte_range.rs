//! Ranges over byte strings.

use std::iter::FusedIterator;
use std::ops::{Bound, ControlFlow};

use super::handle::Handle;
use crate::Result;
use crate::tree::ByteIndex;

/// A key with its value.
pub type ByteEntry = (Vec<u8>, Vec<u8>);

/// A live range of a map of byte strings, from both ends; see [`ByteMap::range`](crate::ByteMap::range).
pub struct ByteRange<I: ByteIndex> {
    handle: Handle<I>,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    done: bool,
    front: I::Cursor,
    back: I::Cursor,
}

impl<I: ByteIndex> ByteRange<I> {
    pub(super) fn new(handle: Handle<I>, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Self {
        let (front, back) = Default::default();
        Self { handle, from, to, done: false, front, back }
    }

    /// Gives `entry` out, or ends the range. `spent` becomes the bound behind which it goes on.
    fn give(
        &mut self,
        outcome: Result<()>,
        entry: Option<ByteEntry>,
        spent: impl FnOnce(&mut Self) -> &mut Bound<Vec<u8>>,
    ) -> Option<Result<ByteEntry>> {
        match (outcome, entry) {
            (Ok(()), Some(entry)) => {
                exclude(spent(self), &entry.0);
                Some(Ok(entry))
            }
            (outcome, _) => {
                self.done = true;
                outcome.err().map(Err)
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

impl<I: ByteIndex> Iterator for ByteRange<I> {
    type Item = Result<ByteEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let keys = (as_slice(&self.from), as_slice(&self.to));
        let mut entry = None;
        let outcome = self.handle.index().scan_up(&mut self.front, keys, |key, value| {
            entry = Some((key.to_vec(), value.to_vec()));
            ControlFlow::Break(())
        });
        self.give(outcome, entry, |range| &mut range.from)
    }
}

impl<I: ByteIndex> DoubleEndedIterator for ByteRange<I> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let keys = (as_slice(&self.from), as_slice(&self.to));
        let mut entry = None;
        let outcome = self.handle.index().scan_down(&mut self.back, keys, |key, value| {
            entry = Some((key.to_vec(), value.to_vec()));
            ControlFlow::Break(())
        });
        self.give(outcome, entry, |range| &mut range.to)
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

impl<I: ByteIndex> FusedIterator for ByteRange<I> {}
