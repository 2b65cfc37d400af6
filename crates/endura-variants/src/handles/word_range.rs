//! Ranges of the handles of numbers.

use std::iter::FusedIterator;
use std::ops::RangeBounds;
use std::sync::Arc;

use endura_engine::Result;
use endura_engine::tree::{self, Index};

/// The entries of a map with keys between two bounds; see [`WordMap::range`](super::WordMap::range).
///
/// After an error the range ends.
pub struct WordRange<I: Index> {
    index: Arc<I>,
    keys: tree::word_range::WordRange<I::Cursor>,
}

impl<I: Index> WordRange<I> {
    pub(super) fn new(index: Arc<I>, keys: impl RangeBounds<u64>) -> Self {
        Self { index, keys: tree::word_range::WordRange::new(keys) }
    }
}

impl<I: Index> Iterator for WordRange<I> {
    type Item = Result<(u64, u64)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.keys.next(&*self.index)
    }
}

impl<I: Index> DoubleEndedIterator for WordRange<I> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.keys.next_back(&*self.index)
    }
}

impl<I: Index> FusedIterator for WordRange<I> {}
