//! How an item lies in the map.

use crate::clock::Expiry;

/// Bytes in front of the data: flags and expiry of 4, the number of the last store of 8, all little-endian.
const HEAD: usize = 16;

/// A value of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Item<'b> {
    /// What the client gave with the data.
    pub(crate) flags: u32,
    pub(crate) expiry: Expiry,
    /// The number of the store that made it, which no other store has.
    pub(crate) cas: u64,
    pub(crate) data: &'b [u8],
}

impl<'b> Item<'b> {
    /// The item in these bytes; none if they are none.
    pub(crate) fn of(bytes: &'b [u8]) -> Option<Self> {
        let (head, data) = bytes.split_first_chunk::<HEAD>()?;
        let four = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        let cas = u64::from_le_bytes(std::array::from_fn(|i| head[8 + i]));
        Some(Self { flags: four(0), expiry: Expiry(four(4)), cas, data })
    }

    /// Its bytes.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        self.bytes_of(&[self.data])
    }

    /// The bytes of an item with all of this but its data, which is made of these parts.
    pub(crate) fn bytes_of(self, parts: &[&[u8]]) -> Vec<u8> {
        let mut bytes =
            Vec::with_capacity(HEAD + parts.iter().map(|part| part.len()).sum::<usize>());
        bytes.extend(self.flags.to_le_bytes());
        bytes.extend(self.expiry.0.to_le_bytes());
        bytes.extend(self.cas.to_le_bytes());
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_comes_back_from_its_bytes() {
        let item = Item { flags: 7, expiry: Expiry(9), cas: 1 << 40, data: b"ab" };
        assert_eq!(Item::of(&item.to_bytes()), Some(item));
        let joined = item.bytes_of(&[b"ab", b"", b"cd"]);
        assert_eq!(Item::of(&joined), Some(Item { data: b"abcd", ..item }));
        assert_eq!(Item::of(&[0; HEAD - 1]), None);
        assert_eq!(Item::of(&[0; HEAD]).map(|item| item.data.len()), Some(0));
    }
}
