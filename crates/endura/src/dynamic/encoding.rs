//! Encodings that a map returns.

use std::fmt;
use std::ops::Deref;

/// The bytes of a key or a value, as a map stores it. They are on the stack if they come from a map of words, otherwise
/// on the heap.
#[derive(Clone)]
pub struct Encoding(Storage);

#[derive(Clone)]
enum Storage {
    /// The last bytes of a word, from this index on.
    Word([u8; 8], u8),
    Heap(Vec<u8>),
}

impl Encoding {
    /// The last `width` bytes of a word.
    #[inline]
    pub(super) fn of_word(word: u64, width: usize) -> Self {
        Self(Storage::Word(word.to_be_bytes(), 8 - width as u8))
    }

    #[inline]
    pub(super) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self(Storage::Heap(bytes))
    }
}

impl Deref for Encoding {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Storage::Word(bytes, from) => &bytes[usize::from(*from)..],
            Storage::Heap(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Encoding {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Encoding> for Vec<u8> {
    fn from(encoding: Encoding) -> Self {
        match encoding.0 {
            Storage::Word(..) => encoding.to_vec(),
            Storage::Heap(bytes) => bytes,
        }
    }
}

impl PartialEq for Encoding {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Encoding {}

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.escape_ascii())
    }
}

/// The word that represents an encoding of at most 8 bytes: the bytes as a big-endian number.
#[inline]
pub fn word(encoded: &[u8]) -> u64 {
    match encoded.first_chunk() {
        Some(all) => u64::from_be_bytes(*all),
        None => encoded.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}
