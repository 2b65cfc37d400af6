//! The layout of an item in the map.

use crate::clock::Expiry;

/// Bytes before the data, all little-endian: flags, expiry and epoch of 4 bytes each, and 8 with the number of the last
/// store and the marks.
pub(super) const HEAD: usize = 20;
/// The marks are above the number of the store. A session starts at 2^20 numbers a second since 1970, so no number comes
/// near 2^61.
const MARKS_AT: u32 = 61;

/// What the meta protocol has noted about an item. It is stored with the item, so that after a kill no second client wins
/// what one has won, and a stale item is still stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks {
    /// `md` with `I` has made the data stale.
    pub(crate) is_stale: bool,
    /// One client was told to fetch new data.
    pub(crate) was_won: bool,
    /// The client that stored the item wrote the key in base64.
    pub(crate) has_binary_key: bool,
}

impl Marks {
    fn of(bits: u64) -> Self {
        let is = |bit: u64| bits & bit != 0;
        Self { is_stale: is(1), was_won: is(2), has_binary_key: is(4) }
    }

    fn bits(self) -> u64 {
        u64::from(self.is_stale)
            | u64::from(self.was_won) << 1
            | u64::from(self.has_binary_key) << 2
    }
}

/// What a client says of a new item beside its data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub(crate) flags: u32,
    pub(crate) expiry: Expiry,
    pub(crate) has_binary_key: bool,
}

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
    pub(crate) marks: Marks,
    pub(crate) data: &'b [u8],
}

impl<'b> Item<'b> {
    /// A new item.
    pub(super) fn new(about: About, epoch: u32, cas: u64, data: &'b [u8]) -> Self {
        let About { flags, expiry, has_binary_key } = about;
        let marks = Marks { has_binary_key, ..Marks::default() };
        Self { flags, expiry, epoch, cas, marks, data }
    }

    /// The item in these bytes; none if they are too short for one.
    pub(crate) fn of(bytes: &'b [u8]) -> Option<Self> {
        let (head, data) = bytes.split_first_chunk::<HEAD>()?;
        let four = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        let word = u64::from_le_bytes(std::array::from_fn(|i| head[12 + i]));
        let (cas, marks) = (word & ((1 << MARKS_AT) - 1), Marks::of(word >> MARKS_AT));
        Some(Self { flags: four(0), expiry: Expiry(four(4)), epoch: four(8), cas, marks, data })
    }

    /// The length of the value in the map.
    pub(crate) fn size(&self) -> usize {
        HEAD + self.data.len()
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
        bytes.extend((self.cas | self.marks.bits() << MARKS_AT).to_le_bytes());
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_comes_back_from_its_bytes() {
        let marks = Marks::default();
        let item =
            Item { flags: 7, expiry: Expiry(9), epoch: 11, cas: 1 << 60, marks, data: b"ab" };
        for bits in 0..8 {
            let item = Item { marks: Marks::of(bits), ..item };
            assert_eq!(Item::of(&item.to_bytes()), Some(item));
        }
        let joined = item.bytes_with(&[b"ab", b"", b"cd"]);
        assert_eq!(Item::of(&joined), Some(Item { data: b"abcd", ..item }));
        assert_eq!(Item::of(&[0; HEAD - 1]), None);
        assert_eq!(Item::of(&[0; HEAD]).map(|item| item.data.len()), Some(0));
    }
}
