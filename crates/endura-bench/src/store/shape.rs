//! Numbers as byte strings.

use serde::{Deserialize, Serialize};

use crate::{Error, Result, keys};

/// How long keys and values of byte strings are, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// The bytes of the shortest keys.
    pub key_bytes: usize,
    /// The bytes of the longest keys. If they are all alike, a key begins with its number and needs 8
    /// bytes; if not, lengths are drawn evenly, and a key begins with 4 bytes that no other key has.
    pub longest_key_bytes: usize,
    /// The bytes of a value, at least 8.
    pub value_bytes: usize,
}

impl Shape {
    /// What people store: 24 bytes and 100.
    pub const STRINGS: Self = Self::fixed(24, 100);
    /// Numbers as keys and as values.
    pub const WORDS: Self = Self::fixed(8, 8);
    /// Keys of 4 to 128 random bytes, as in ROART's evaluation.
    pub const ROART: Self = Self { key_bytes: 4, longest_key_bytes: 128, value_bytes: 8 };

    /// Keys and values of one length each.
    pub const fn fixed(key_bytes: usize, value_bytes: usize) -> Self {
        Self { key_bytes, longest_key_bytes: key_bytes, value_bytes }
    }

    /// Whether keys and values can hold a number each.
    pub fn check(self) -> Result<()> {
        let shortest = if self.is_fixed() { 8 } else { 4 };
        let (keys, values) = (shortest..=511, 8..=1 << 20);
        let ordered = self.key_bytes <= self.longest_key_bytes;
        if ordered
            && keys.contains(&self.key_bytes)
            && keys.contains(&self.longest_key_bytes)
            && values.contains(&self.value_bytes)
        {
            return Ok(());
        }
        Err(Error::Config(
            "keys have 8 to 511 bytes, 4 to 511 if they differ in length, values 8 to 1048576",
        ))
    }

    /// In a few words: `keys of 24 bytes, values of 100`.
    pub fn name(self) -> String {
        let Self { key_bytes, longest_key_bytes, value_bytes } = self;
        match self {
            Self::WORDS => "u64 keys and values".into(),
            _ if self.is_fixed() => format!("keys of {key_bytes} bytes, values of {value_bytes}"),
            _ => {
                format!("keys of {key_bytes} to {longest_key_bytes} bytes, values of {value_bytes}")
            }
        }
    }

    /// The bytes of a key and a value on average, rounded up.
    pub fn mean_bytes(self) -> usize {
        (self.key_bytes + self.longest_key_bytes).div_ceil(2) + self.value_bytes
    }

    fn is_fixed(self) -> bool {
        self.key_bytes == self.longest_key_bytes
    }

    /// How long the key of a number is that is not written as such.
    fn length(self, index: u64) -> usize {
        let span = (self.longest_key_bytes - self.key_bytes + 1) as u64;
        self.key_bytes + (keys::key(!index) % span) as usize
    }
}

/// Room for one key and two values, and how numbers are written there.
#[derive(Clone)]
pub struct Buffers {
    shape: Shape,
    pub(crate) key: Vec<u8>,
    /// A value to store.
    pub(crate) value: Vec<u8>,
    /// A value that was read.
    pub(crate) read: Vec<u8>,
}

impl Buffers {
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            shape,
            key: vec![0; shape.longest_key_bytes],
            value: vec![b'v'; shape.value_bytes],
            read: vec![0; shape.value_bytes],
        }
    }

    /// Writes the key of a number: big-endian, or 4 bytes of its own, then bytes that look random and
    /// follow from it.
    #[inline]
    pub(crate) fn set_key(&mut self, number: u64) {
        if let Some(key) = self.word_key() {
            *key = number.to_be_bytes();
            return;
        }
        let mut word = number;
        if !self.shape.is_fixed() {
            let index = keys::index(number);
            self.key.resize(self.shape.length(index), 0);
            // Below 2^32, as all numbers that a workload makes.
            word = u64::from(scattered(index as u32)) << 32 | number >> 32;
        }
        let (whole, rest) = self.key.as_chunks_mut();
        for part in whole {
            *part = word.to_be_bytes();
            word = keys::key(word);
        }
        rest.copy_from_slice(&word.to_be_bytes()[..rest.len()]);
    }

    /// The key where all are numbers and no more: what stands around an operation then is a few instructions,
    /// as with stores of numbers.
    #[inline]
    fn word_key(&mut self) -> Option<&mut [u8; 8]> {
        if self.shape.longest_key_bytes == 8 && self.shape.is_fixed() {
            self.key.first_chunk_mut()
        } else {
            None
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
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

    /// The number whose key this is.
    #[inline]
    pub(crate) fn key_number(&self, key: &[u8]) -> u64 {
        key_number(self.shape, key)
    }
}

/// The number whose key this is; of a key that is too short, 0.
#[inline]
pub(crate) fn key_number(shape: Shape, key: &[u8]) -> u64 {
    if shape.is_fixed() {
        return key.first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
    }
    let word = key.first_chunk().map_or(0, |first| u32::from_be_bytes(*first));
    keys::key(gathered(word).into())
}

/// The number that a value begins with.
#[inline]
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
}

/// A bijection of the 32-bit numbers whose values look random (the finalizer of MurmurHash3).
const fn scattered(index: u32) -> u32 {
    let mut x = index;
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

/// The inverse of [`scattered`].
const fn gathered(word: u32) -> u32 {
    let mut x = word ^ (word >> 16);
    x = x.wrapping_mul(0x7ed1_b41d);
    x = x ^ (x >> 13) ^ (x >> 26);
    x = x.wrapping_mul(0xa5cb_9243);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_its_number_whatever_its_length() {
        for shape in [Shape::WORDS, Shape::STRINGS, Shape::fixed(13, 8), Shape::ROART] {
            let mut buffers = Buffers::new(shape);
            let mut lengths = std::collections::BTreeSet::new();
            for index in (0..3000).chain([u64::from(u32::MAX)]) {
                buffers.set_key(keys::key(index));
                assert_eq!(buffers.key_number(&buffers.key), keys::key(index), "{shape:?}");
                lengths.insert(buffers.key.len());
            }
            let all = shape.key_bytes..=shape.longest_key_bytes;
            assert!(lengths.into_iter().eq(all), "{shape:?}");
        }
    }

    #[test]
    fn shapes_that_hold_no_number_are_refused() {
        for bad in [Shape::fixed(7, 8), Shape::fixed(8, 7), Shape { key_bytes: 3, ..Shape::ROART }]
        {
            assert!(bad.check().is_err(), "{bad:?}");
        }
        assert!(Shape::ROART.check().is_ok() && Shape::WORDS.check().is_ok());
    }
}
