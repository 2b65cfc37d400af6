//! Entries that were copied out of a pool.

use std::borrow::Cow;
use std::ops::ControlFlow;

/// A closure that gets the copies of a key and its value, until it breaks.
pub(crate) type EntryVisitor<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>;

/// Up to so many bytes key and value are copied together.
pub(crate) const TOGETHER: usize = 64 << 10;

/// The copy of an entry. A scan uses one for all its entries, so that most need no allocation. It keeps at most 64 KiB
/// for the next: a value that does not fit beside its key is in memory of its own, which the next entry frees.
#[derive(Debug, Default)]
pub struct Entry {
    /// The key, and after it the value, unless that is large.
    bytes: Vec<u8>,
    key: usize,
    large: Option<Vec<u8>>,
}

impl Entry {
    /// A key without a value.
    pub(crate) fn of_key(key: Vec<u8>) -> Self {
        Self { key: key.len(), bytes: key, large: None }
    }

    /// Replaces the contents. `append` appends so many bytes of key and value, from some byte on.
    #[inline(always)]
    pub(crate) fn fill(
        &mut self,
        key: usize,
        value: usize,
        append: impl Fn(usize, usize, &mut Vec<u8>),
    ) {
        self.bytes.clear();
        self.key = key;
        if self.large.is_some() {
            self.large = None;
        }
        if key + value <= TOGETHER {
            append(0, key + value, &mut self.bytes);
        } else {
            append(0, key, &mut self.bytes);
            append(key, value, self.large.insert(Vec::new()));
        }
    }

    /// The key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.bytes[..self.key]
    }

    /// The value; empty if it was not read, or was [taken](Self::take_value).
    #[inline]
    pub fn value(&self) -> &[u8] {
        match &self.large {
            Some(value) => value,
            None => &self.bytes[self.key..],
        }
    }

    /// The value. A large one is not copied again.
    #[inline]
    pub fn take_value(&mut self) -> Cow<'_, [u8]> {
        match self.large.take() {
            Some(value) => Cow::Owned(value),
            None => Cow::Borrowed(&self.bytes[self.key..]),
        }
    }
}
