//! The first and last entry of a map, and its length.

use super::encoding::Encoding;
use super::form::{Owned, in_form};
use super::map::DynamicMap;
use crate::Result;

/// A key and a value.
pub(super) type EncodedEntry = (Encoding, Encoding);

/// The operations of [`Map`](crate::Map), with its errors.
impl DynamicMap {
    /// [`Map::first_key_value`](crate::Map::first_key_value)
    pub fn first_key_value(&self) -> Result<Option<EncodedEntry>> {
        in_form!(&self.map, map => self.entry(map.first_key_value()))
    }

    /// [`Map::last_key_value`](crate::Map::last_key_value)
    pub fn last_key_value(&self) -> Result<Option<EncodedEntry>> {
        in_form!(&self.map, map => self.entry(map.last_key_value()))
    }

    /// [`Map::pop_first`](crate::Map::pop_first)
    pub fn pop_first(&self) -> Result<Option<EncodedEntry>> {
        in_form!(&self.map, map => self.entry(map.pop_first()))
    }

    /// [`Map::pop_last`](crate::Map::pop_last)
    pub fn pop_last(&self) -> Result<Option<EncodedEntry>> {
        in_form!(&self.map, map => self.entry(map.pop_last()))
    }

    /// Removes the entry with the smallest key, if it has this key and this value. Returns whether it was removed. This
    /// is for a caller that must know that it can use an entry before it removes the entry. Such a caller reads the
    /// entry with [`first_key_value`](Self::first_key_value), calls this method, and repeats both until the entry is
    /// removed. Together the two calls are one [`pop_first`](Self::pop_first), at the moment of the removal.
    ///
    /// # Errors
    ///
    /// Those of [`pop_first`](Self::pop_first), and [`Error::Encode`](crate::Error::Encode) if the key or the value is
    /// not an encoding of the map's types.
    pub fn pop_first_if(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.pop_entry(true, key, value)
    }

    /// As [`pop_first_if`](Self::pop_first_if), for the entry with the largest key.
    pub fn pop_last_if(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.pop_entry(false, key, value)
    }

    fn pop_entry(&self, smallest: bool, key: &[u8], value: &[u8]) -> Result<bool> {
        in_form!(&self.map, map => map.pop_entry(smallest, self.key(key)?, self.value(value)?))
    }

    /// [`Map::pop_first_key`](crate::Map::pop_first_key)
    pub fn pop_first_key(&self) -> Result<Option<Encoding>> {
        let width = self.key.word_width();
        in_form!(&self.map, map => Ok(map.pop_first_key()?.map(|key| key.encoding(width))))
    }

    /// [`Map::pop_last_key`](crate::Map::pop_last_key)
    pub fn pop_last_key(&self) -> Result<Option<Encoding>> {
        let width = self.key.word_width();
        in_form!(&self.map, map => Ok(map.pop_last_key()?.map(|key| key.encoding(width))))
    }

    /// [`Map::len`](crate::Map::len)
    pub fn len(&self) -> Result<usize> {
        in_form!(&self.map, map => map.len())
    }

    /// [`Map::approximate_len`](crate::Map::approximate_len)
    pub fn approximate_len(&self) -> Result<usize> {
        in_form!(&self.map, map => map.approximate_len())
    }

    /// [`Map::check_len`](crate::Map::check_len)
    pub fn check_len(&self, found: u64) -> Result<()> {
        in_form!(&self.map, map => map.check_len(found))
    }

    /// [`Map::is_empty`](crate::Map::is_empty)
    pub fn is_empty(&self) -> Result<bool> {
        in_form!(&self.map, map => map.is_empty())
    }

    fn entry<O: Owned>(&self, found: Result<Option<(O, O)>>) -> Result<Option<EncodedEntry>> {
        let (key_width, value_width) = (self.key.word_width(), self.value.word_width());
        Ok(found?.map(|(key, value)| (key.encoding(key_width), value.encoding(value_width))))
    }
}
