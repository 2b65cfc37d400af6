//! Ranges of the handles of byte strings.

use std::iter::FusedIterator;
use std::ops::Bound;
use std::sync::Arc;

use endura_engine::Result;
use endura_engine::tree::{self, ByteIndex};

/// A key with its value.
pub type ByteEntry = (Vec<u8>, Vec<u8>);

/// A live range of a map of byte strings, from both ends; see [`ByteMap::range`](super::ByteMap::range).
pub struct ByteRange<I: ByteIndex> {
    index: Arc<I>,
    keys: tree::byte_range::ByteRange<I::Cursor>,
}

impl<I: ByteIndex> ByteRange<I> {
    pub(super) fn new(index: Arc<I>, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Self {
        Self { index, keys: tree::byte_range::ByteRange::new(from, to) }
    }

    fn step(&mut self, upwards: bool) -> Option<Result<ByteEntry>> {
        let found = self.keys.next(&*self.index, upwards, true).transpose()?;
        Some(found.map(|entry| (entry.key().to_vec(), entry.take_value().into_owned())))
    }
}

impl<I: ByteIndex> Iterator for ByteRange<I> {
    type Item = Result<ByteEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(true)
    }
}

impl<I: ByteIndex> DoubleEndedIterator for ByteRange<I> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(false)
    }
}

impl<I: ByteIndex> FusedIterator for ByteRange<I> {}
