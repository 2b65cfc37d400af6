//! The first and last entry of a map, and its length.

use super::encoding::Encoding;
use super::map::DynamicMap;
use super::untyped::UntypedMap;
use crate::Result;

/// A key and a value.
pub(super) type Entry = (Encoding, Encoding);

/// The operations of [`Map`](crate::Map), with its errors.
impl DynamicMap {
    /// [`Map::first_key_value`](crate::Map::first_key_value)
    pub fn first_key_value(&self) -> Result<Option<Entry>> {
        match &self.map {
            UntypedMap::Words(map) => self.entry_of_words(map.first_key_value()),
            UntypedMap::Bytes(map) => entry_of_bytes(map.first_key_value()),
        }
    }

    /// [`Map::last_key_value`](crate::Map::last_key_value)
    pub fn last_key_value(&self) -> Result<Option<Entry>> {
        match &self.map {
            UntypedMap::Words(map) => self.entry_of_words(map.last_key_value()),
            UntypedMap::Bytes(map) => entry_of_bytes(map.last_key_value()),
        }
    }

    /// [`Map::pop_first`](crate::Map::pop_first)
    pub fn pop_first(&self) -> Result<Option<Entry>> {
        match &self.map {
            UntypedMap::Words(map) => self.entry_of_words(map.pop_first()),
            UntypedMap::Bytes(map) => entry_of_bytes(map.pop_first()),
        }
    }

    /// [`Map::pop_last`](crate::Map::pop_last)
    pub fn pop_last(&self) -> Result<Option<Entry>> {
        match &self.map {
            UntypedMap::Words(map) => self.entry_of_words(map.pop_last()),
            UntypedMap::Bytes(map) => entry_of_bytes(map.pop_last()),
        }
    }

    /// Removes the entry with the smallest key if it still is this one; returns whether it did. For a caller that must know
    /// that it can use an entry before it removes it: it reads the entry ([`first_key_value`](Self::first_key_value)), and
    /// repeats both until the removal succeeds. Together they are one [`pop_first`](Self::pop_first), at the moment of the
    /// removal.
    ///
    /// # Errors
    ///
    /// Those of [`pop_first`](Self::pop_first), and of [`put`](Self::put) if the key or the value is no encoding of the map's
    /// types.
    pub fn pop_first_if(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.pop_entry(true, key, value)
    }

    /// The same for the entry with the largest key.
    pub fn pop_last_if(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.pop_entry(false, key, value)
    }

    fn pop_entry(&self, smallest: bool, key: &[u8], value: &[u8]) -> Result<bool> {
        match &self.map {
            UntypedMap::Words(map) => {
                map.pop_entry(smallest, self.key_word(key)?, self.value_word(value)?)
            }
            UntypedMap::Bytes(map) => {
                map.pop_entry(smallest, self.checked_key(key)?, self.checked_value(value)?)
            }
        }
    }

    /// [`Map::pop_first_key`](crate::Map::pop_first_key)
    pub fn pop_first_key(&self) -> Result<Option<Encoding>> {
        match &self.map {
            UntypedMap::Words(map) => Ok(map.pop_first_key()?.map(|key| self.key.encoding(key))),
            UntypedMap::Bytes(map) => Ok(map.pop_first_key()?.map(Encoding::of_bytes)),
        }
    }

    /// [`Map::pop_last_key`](crate::Map::pop_last_key)
    pub fn pop_last_key(&self) -> Result<Option<Encoding>> {
        match &self.map {
            UntypedMap::Words(map) => Ok(map.pop_last_key()?.map(|key| self.key.encoding(key))),
            UntypedMap::Bytes(map) => Ok(map.pop_last_key()?.map(Encoding::of_bytes)),
        }
    }

    /// [`Map::len`](crate::Map::len)
    pub fn len(&self) -> Result<usize> {
        match &self.map {
            UntypedMap::Words(map) => map.len(),
            UntypedMap::Bytes(map) => map.len(),
        }
    }

    /// [`Map::approximate_len`](crate::Map::approximate_len)
    pub fn approximate_len(&self) -> Result<usize> {
        match &self.map {
            UntypedMap::Words(map) => map.approximate_len(),
            UntypedMap::Bytes(map) => map.approximate_len(),
        }
    }

    /// [`Map::check_len`](crate::Map::check_len)
    pub fn check_len(&self, found: u64) -> Result<()> {
        match &self.map {
            UntypedMap::Words(map) => map.check_len(found),
            UntypedMap::Bytes(map) => map.check_len(found),
        }
    }

    /// [`Map::is_empty`](crate::Map::is_empty)
    pub fn is_empty(&self) -> Result<bool> {
        match &self.map {
            UntypedMap::Words(map) => map.is_empty(),
            UntypedMap::Bytes(map) => map.is_empty(),
        }
    }

    fn entry_of_words(&self, found: Result<Option<(u64, u64)>>) -> Result<Option<Entry>> {
        Ok(found?.map(|(key, value)| (self.key.encoding(key), self.value.encoding(value))))
    }
}

fn entry_of_bytes(found: Result<Option<(Vec<u8>, Vec<u8>)>>) -> Result<Option<Entry>> {
    Ok(found?.map(|(key, value)| (Encoding::of_bytes(key), Encoding::of_bytes(value))))
}
