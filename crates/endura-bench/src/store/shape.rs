//! Numbers as byte strings of one length.

use crate::{Error, Result, keys};

/// How long keys and values of byte strings are, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Shape {
    /// The bytes of a key, at least 8.
    pub key_bytes: usize,
    /// The bytes of a value, at least 8.
    pub value_bytes: usize,
}

impl Shape {
    /// What people store: 24 bytes and 100.
    pub const STRINGS: Self = Self { key_bytes: 24, value_bytes: 100 };
    /// Numbers as keys and as values.
    pub const WORDS: Self = Self { key_bytes: 8, value_bytes: 8 };

    /// Whether keys and values can hold a number each.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] if not.
    pub fn check(self) -> Result<()> {
        let (keys, values) = (8..=511, 8..=1 << 20);
        if keys.contains(&self.key_bytes) && values.contains(&self.value_bytes) {
            return Ok(());
        }
        Err(Error::Config("keys have 8 to 511 bytes (LMDB takes no more), values 8 to 1048576"))
    }
}

/// Room for one key and two values, and how numbers are written there.
pub(crate) struct Buffers {
    pub(crate) key: Vec<u8>,
    /// A value to store.
    pub(crate) value: Vec<u8>,
    /// A value that was read.
    pub(crate) read: Vec<u8>,
}

impl Buffers {
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            key: vec![0; shape.key_bytes],
            value: vec![b'v'; shape.value_bytes],
            read: vec![0; shape.value_bytes],
        }
    }

    /// Writes the key of a number: big-endian, then bytes that look random and follow from it.
    #[inline]
    pub(crate) fn set_key(&mut self, number: u64) {
        let mut word = number;
        for part in self.key.chunks_mut(8) {
            part.copy_from_slice(&word.to_be_bytes()[..part.len()]);
            word = keys::key(word);
        }
    }

    /// The key of a number, for itself.
    pub(crate) fn spell(&mut self, number: u64) -> Vec<u8> {
        self.set_key(number);
        self.key.clone()
    }

    /// Writes the value of a number: its bytes, then always the same.
    #[inline]
    pub(crate) fn set_value(&mut self, number: u64) {
        self.value[..8].copy_from_slice(&number.to_le_bytes());
    }
}

/// The number that a value begins with.
#[inline]
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
}
