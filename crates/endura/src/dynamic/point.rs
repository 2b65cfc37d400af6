//! Operations on one key.

use std::io;

use super::encoding::{Encoding, word};
use super::map::DynamicMap;
use super::types::Type;
use super::untyped::UntypedMap;
use crate::tree::Bytes;
use crate::{Error, Result};

/// The operations of [`Map`](crate::Map), with its errors.
impl DynamicMap {
    /// [`Map::get`](crate::Map::get)
    pub fn get(&self, key: &[u8]) -> Result<Option<Encoding>> {
        match &self.map {
            UntypedMap::Words(map) => Ok(self.found(map.get(self.key_word(key)?)?)),
            UntypedMap::Bytes(map) => bytes(map.get(self.checked_key(key)?)),
        }
    }

    /// [`Map::get_with`](crate::Map::get_with)
    #[inline]
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        match &self.map {
            UntypedMap::Words(map) => {
                map.get_with(self.key_word(key)?, |value| look(&self.value.encoding(value)))
            }
            UntypedMap::Bytes(map) => map.get_with(self.checked_key(key)?, look),
        }
    }

    /// [`Map::contains_key`](crate::Map::contains_key)
    pub fn contains_key(&self, key: &[u8]) -> Result<bool> {
        match &self.map {
            UntypedMap::Words(map) => map.contains_key(self.key_word(key)?),
            UntypedMap::Bytes(map) => map.contains_key(self.checked_key(key)?),
        }
    }

    /// [`Map::insert`](crate::Map::insert)
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<Option<Encoding>> {
        match &self.map {
            UntypedMap::Words(map) => {
                Ok(self.found(map.insert(self.key_word(key)?, self.value_word(value)?)?))
            }
            UntypedMap::Bytes(map) => {
                bytes(map.insert(self.checked_key(key)?, self.checked_value(value)?))
            }
        }
    }

    /// [`Map::put`](crate::Map::put)
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        match &self.map {
            UntypedMap::Words(map) => map.put(self.key_word(key)?, self.value_word(value)?),
            UntypedMap::Bytes(map) => map.put(self.checked_key(key)?, self.checked_value(value)?),
        }
    }

    /// [`Map::insert_if_absent`](crate::Map::insert_if_absent)
    pub fn insert_if_absent(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        match &self.map {
            UntypedMap::Words(map) => {
                map.insert_if_absent(self.key_word(key)?, self.value_word(value)?)
            }
            UntypedMap::Bytes(map) => {
                map.insert_if_absent(self.checked_key(key)?, self.checked_value(value)?)
            }
        }
    }

    /// [`Map::replace`](crate::Map::replace)
    pub fn replace(&self, key: &[u8], value: &[u8]) -> Result<Option<Encoding>> {
        match &self.map {
            UntypedMap::Words(map) => {
                Ok(self.found(map.replace(self.key_word(key)?, self.value_word(value)?)?))
            }
            UntypedMap::Bytes(map) => {
                bytes(map.replace(self.checked_key(key)?, self.checked_value(value)?))
            }
        }
    }

    /// [`Map::remove`](crate::Map::remove)
    pub fn remove(&self, key: &[u8]) -> Result<Option<Encoding>> {
        match &self.map {
            UntypedMap::Words(map) => Ok(self.found(map.remove(self.key_word(key)?)?)),
            UntypedMap::Bytes(map) => bytes(map.remove(self.checked_key(key)?)),
        }
    }

    /// [`Map::delete`](crate::Map::delete)
    pub fn delete(&self, key: &[u8]) -> Result<bool> {
        match &self.map {
            UntypedMap::Words(map) => map.delete(self.key_word(key)?),
            UntypedMap::Bytes(map) => map.delete(self.checked_key(key)?),
        }
    }

    /// [`Map::compare_exchange`](crate::Map::compare_exchange)
    pub fn compare_exchange(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<Result<(), Option<Encoding>>> {
        Ok(match &self.map {
            UntypedMap::Words(map) => {
                let expected = expected.map(|value| self.value_word(value)).transpose()?;
                let new = new.map(|value| self.value_word(value)).transpose()?;
                let exchanged = map.compare_exchange(self.key_word(key)?, expected, new)?;
                exchanged.map_err(|found| self.found(found))
            }
            UntypedMap::Bytes(map) => {
                let expected = expected.map(|value| self.checked_value(value)).transpose()?;
                let new = new.map(|value| self.checked_value(value)).transpose()?;
                let exchanged = map.compare_exchange(self.checked_key(key)?, expected, new)?;
                exchanged.map_err(|found| found.map(Encoding::of_bytes))
            }
        })
    }

    /// [`Map::alter`](crate::Map::alter). If `change` returns bytes that are not an encoding of the type, the value
    /// stays.
    pub fn alter(
        &self,
        key: &[u8],
        mut change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Encoding>> {
        let mut failed = None;
        // The new value, if it is an encoding of the type.
        let mut next = |old: Option<&[u8]>| {
            failed = None;
            let new = change(old);
            match new.as_deref().map(|new| self.checked_value(new)).transpose() {
                Ok(_) => new,
                Err(error) => {
                    failed = Some(error);
                    old.map(<[u8]>::to_vec)
                }
            }
        };
        let old = match &self.map {
            UntypedMap::Words(map) => {
                let old = map.alter(self.key_word(key)?, |old| {
                    let old = self.found(old);
                    next(old.as_deref()).map(|new| word(&new))
                })?;
                self.found(old)
            }
            UntypedMap::Bytes(map) => bytes(map.alter(self.checked_key(key)?, next))?,
        };
        failed.map_or(Ok(old), Err)
    }

    /// [`Map::update`](crate::Map::update). If `make` returns bytes that are not an encoding of the type, the value
    /// stays.
    pub fn update(
        &self,
        key: &[u8],
        mut make: impl FnMut(Option<&[u8]>) -> Vec<u8>,
    ) -> Result<Vec<u8>> {
        let mut made = Vec::new();
        self.alter(key, |old| {
            made = make(old);
            Some(made.clone())
        })?;
        Ok(made)
    }

    /// [`Map::insert_from`](crate::Map::insert_from), for values that are `[u8]`: a value written in pieces is not
    /// checked.
    pub fn insert_from(
        &self,
        key: &[u8],
        len: usize,
        write: impl FnMut(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<()> {
        match (&self.map, self.value_type()) {
            (UntypedMap::Bytes(map), Type::Bytes) => {
                map.insert_from(self.checked_key(key)?, len, write)
            }
            _ => Err(NO_PIECES),
        }
    }

    /// [`Map::read_with`](crate::Map::read_with), for values that are not words.
    #[inline]
    pub fn read_with<R>(&self, key: &[u8], look: impl FnOnce(Bytes<'_>) -> R) -> Result<Option<R>> {
        match &self.map {
            UntypedMap::Bytes(map) => map.read_with(self.checked_key(key)?, look),
            UntypedMap::Words(_) => Err(NO_PIECES),
        }
    }

    /// The encoding of a word that was found as a value.
    #[inline]
    pub(super) fn found(&self, value: Option<u64>) -> Option<Encoding> {
        value.map(|value| self.value.encoding(value))
    }
}

const NO_PIECES: Error = Error::Unsupported {
    what: "a value in pieces that is not `[u8]`, or in a map of words: give and take it whole",
};

#[inline]
fn bytes(found: Result<Option<Vec<u8>>>) -> Result<Option<Encoding>> {
    Ok(found?.map(Encoding::of_bytes))
}
