//! The layout of an item in the map.

use crate::clock::Expiry;

/// Bytes before the data, all little-endian: flags, expiry and epoch of 4 bytes each, the number of the last store of 8.
pub(super) const HEAD: usize = 20;

/// A value of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Item<'b> {
    /// A number of the client's own, which `get` returns with the data.
    pub(crate) flags: u32,
    pub(crate) expiry: Expiry,
    /// The item is dead after the flush that ends this epoch.
    pub(crate) epoch: u32,
    /// The number of the store that made this item, which no other store has.
    pub(crate) cas: u64,
    pub(crate) data: &'b [u8],
}

impl<'b> Item<'b> {
    /// The item in these bytes; none if they are too short for one.
    pub(crate) fn of(bytes: &'b [u8]) -> Option<Self> {
        let (head, data) = bytes.split_first_chunk::<HEAD>()?;
        let four = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        let cas = u64::from_le_bytes(std::array::from_fn(|i| head[12 + i]));
        Some(Self { flags: four(0), expiry: Expiry(four(4)), epoch: four(8), cas, data })
    }

    /// The bytes of this item.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        self.bytes_with(&[self.data])
    }

    /// The bytes of this item with other data: these parts, one after the other.
    pub(crate) fn bytes_with(self, parts: &[&[u8]]) -> Vec<u8> {
        let data: usize = parts.iter().map(|part| part.len()).sum();
        let mut bytes = Vec::with_capacity(HEAD + data);
        bytes.extend(self.flags.to_le_bytes());
        bytes.extend(self.expiry.0.to_le_bytes());
        bytes.extend(self.epoch.to_le_bytes());
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
        let item = Item { flags: 7, expiry: Expiry(9), epoch: 11, cas: 1 << 40, data: b"ab" };
        assert_eq!(Item::of(&item.to_bytes()), Some(item));
        let joined = item.bytes_with(&[b"ab", b"", b"cd"]);
        assert_eq!(Item::of(&joined), Some(Item { data: b"abcd", ..item }));
        assert_eq!(Item::of(&[0; HEAD - 1]), None);
        assert_eq!(Item::of(&[0; HEAD]).map(|item| item.data.len()), Some(0));
    }
}
