//! Keys of both forms of indexes, and the stripes to which they belong.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::space::batch::marks::STRIPES;

/// A key of any map. All keys of one map have one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnyKey<'k> {
    /// A key of an index of words.
    Number(u64),
    /// A key of an index of byte strings.
    Bytes(&'k [u8]),
}

impl AnyKey<'_> {
    /// The stripe of this key in the map with the directory entry at `map`.
    pub(crate) fn stripe(self, map: u64) -> u16 {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let hash = match self {
            // The upper bits of the product depend on all bits of the key.
            Self::Number(key) => (key ^ map.rotate_left(32)).wrapping_mul(ODD) >> 48,
            Self::Bytes(key) => xxh3_64_with_seed(key, map) >> 48,
        };
        (hash as usize % STRIPES) as u16
    }

    /// A word that sorts as the keys do: the key, or its first eight bytes and zeros behind them.
    pub(crate) fn word(self) -> u64 {
        match self {
            Self::Number(key) => key,
            Self::Bytes(key) => {
                let mut bytes = [0; 8];
                let len = key.len().min(8);
                bytes[..len].copy_from_slice(&key[..len]);
                u64::from_be_bytes(bytes)
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn words_sort_as_keys_do() {
        let keys = [&b""[..], b"\0", b"a", b"a\0", b"abcdefgh", b"abcdefghi", b"b"];
        assert!(keys.map(AnyKey::Bytes).is_sorted());
        assert!(keys.map(|key| AnyKey::Bytes(key).word()).is_sorted());
    }

    #[test]
    fn neighbours_are_in_different_stripes() {
        let mut stripes: Vec<u16> =
            (0..1_000).map(|key| AnyKey::Number(key).stripe(16_384)).collect();
        stripes.sort_unstable();
        stripes.dedup();
        assert!(stripes.len() > 800, "{}", stripes.len());
    }
}
