//! Entries that were copied out of a pool.

use std::borrow::Cow;
use std::ops::ControlFlow;

/// A closure that receives a copy of the key and of the value of each entry, until it breaks.
pub(crate) type EntryVisitor<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>;

/// The most bytes that a key and its value may have together to be copied into one buffer.
pub(crate) const TOGETHER: usize = 64 << 10;

/// The copy of an entry. A scan uses one `Entry` for all its entries, so that most of them need no allocation: the
/// `Entry` keeps a buffer of at most 64 KiB for the next one. A value that does not fit into this buffer beside its key
/// has memory of its own, which is freed when the next entry is copied.
#[derive(Debug, Default)]
pub struct Entry {
    /// The key, and after it the value, unless the value is `large`.
    bytes: Vec<u8>,
    key: usize,
    large: Option<Vec<u8>>,
}

impl Entry {
    /// A key without a value.
    pub(crate) fn of_key(key: Vec<u8>) -> Self {
        Self { key: key.len(), bytes: key, large: None }
    }

    /// Replaces the contents with a key of `key` bytes and a value of `value` bytes. `append(from, count, out)` appends
    /// `count` bytes to `out`. They start at byte `from` of the key followed by the value.
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

    /// The value. A large value is moved out of the entry, not copied again.
    #[inline]
    pub fn take_value(&mut self) -> Cow<'_, [u8]> {
        match self.large.take() {
            Some(value) => Cow::Owned(value),
            None => Cow::Borrowed(&self.bytes[self.key..]),
        }
    }
}
