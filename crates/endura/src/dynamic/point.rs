//! Operations on one key.

use std::io;

use endura_engine::tree::Bytes;

use super::encoding::Encoding;
use super::form::{Form, Lent, Owned, in_form};
use super::map::DynamicMap;
use super::types::Type;
use crate::{Error, Result};

/// The operations of [`Map`](crate::Map), with its errors.
impl DynamicMap {
    /// [`Map::get`](crate::Map::get)
    pub fn get(&self, key: &[u8]) -> Result<Option<Encoding>> {
        in_form!(&self.map, map => Ok(self.found(map.get(self.key(key)?)?)))
    }

    /// [`Map::get_with`](crate::Map::get_with)
    #[inline]
    pub fn get_with<R>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let width = self.value.word_width();
        in_form!(&self.map, map => map.get_with(self.key(key)?, |value| look(&value.lent(width))))
    }

    /// [`Map::contains_key`](crate::Map::contains_key)
    pub fn contains_key(&self, key: &[u8]) -> Result<bool> {
        in_form!(&self.map, map => map.contains_key(self.key(key)?))
    }

    /// [`Map::insert`](crate::Map::insert)
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<Option<Encoding>> {
        in_form!(&self.map, map => Ok(self.found(map.insert(self.key(key)?, self.value(value)?)?)))
    }

    /// [`Map::put`](crate::Map::put)
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        in_form!(&self.map, map => map.put(self.key(key)?, self.value(value)?))
    }

    /// [`Map::insert_if_absent`](crate::Map::insert_if_absent)
    pub fn insert_if_absent(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        in_form!(&self.map, map => map.insert_if_absent(self.key(key)?, self.value(value)?))
    }

    /// [`Map::replace`](crate::Map::replace)
    pub fn replace(&self, key: &[u8], value: &[u8]) -> Result<Option<Encoding>> {
        in_form!(&self.map, map => Ok(self.found(map.replace(self.key(key)?, self.value(value)?)?)))
    }

    /// [`Map::remove`](crate::Map::remove)
    pub fn remove(&self, key: &[u8]) -> Result<Option<Encoding>> {
        in_form!(&self.map, map => Ok(self.found(map.remove(self.key(key)?)?)))
    }

    /// [`Map::delete`](crate::Map::delete)
    pub fn delete(&self, key: &[u8]) -> Result<bool> {
        in_form!(&self.map, map => map.delete(self.key(key)?))
    }

    /// [`Map::compare_exchange`](crate::Map::compare_exchange)
    pub fn compare_exchange(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<Result<(), Option<Encoding>>> {
        in_form!(&self.map, map => {
            let expected = expected.map(|value| self.value(value)).transpose()?;
            let new = new.map(|value| self.value(value)).transpose()?;
            let exchanged = map.compare_exchange(self.key(key)?, expected, new)?;
            Ok(exchanged.map_err(|found| self.found(found)))
        })
    }

    /// [`Map::alter`](crate::Map::alter). If `change` returns bytes that are not an encoding of the value type, the
    /// value stays, and the call fails with [`Error::Encode`].
    pub fn alter(
        &self,
        key: &[u8],
        mut change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Encoding>> {
        let mut failed = None;
        // The new value, if it is an encoding of the value type; otherwise the old one.
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
        let width = self.value.word_width();
        let old = in_form!(&self.map, map => {
            let old = map.alter(self.key(key)?, |old| {
                next(old.map(|old| old.lent(width)).as_deref()).map(Owned::of)
            });
            self.found(old?)
        });
        failed.map_or(Ok(old), Err)
    }

    /// [`Map::update`](crate::Map::update). If `make` returns bytes that are not an encoding of the value type, the
    /// value stays, and the call fails with [`Error::Encode`].
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

    /// [`Map::insert_from`](crate::Map::insert_from), for values of type `[u8]`, which need no check. For other types
    /// the call fails with [`Error::Unsupported`], because a value that is written in pieces cannot be checked.
    pub fn insert_from(
        &self,
        key: &[u8],
        len: usize,
        write: impl FnMut(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<()> {
        match (&self.map, self.value_type()) {
            (Form::Bytes(map), Type::Bytes) => map.insert_from(self.key(key)?, len, write),
            _ => Err(NO_PIECES),
        }
    }

    /// [`Map::read_with`](crate::Map::read_with), for maps of byte strings. For a map of words the call fails with
    /// [`Error::Unsupported`].
    #[inline]
    pub fn read_with<R>(&self, key: &[u8], look: impl FnOnce(Bytes<'_>) -> R) -> Result<Option<R>> {
        match &self.map {
            Form::Bytes(map) => map.read_with(self.key(key)?, look),
            Form::Words(_) => Err(NO_PIECES),
        }
    }

    /// The encoding of a value that was found.
    #[inline]
    fn found(&self, value: Option<impl Owned>) -> Option<Encoding> {
        value.map(|value| value.encoding(self.value.word_width()))
    }
}

const NO_PIECES: Error = Error::Unsupported {
    what: "a value in pieces that is not `[u8]`, or in a map of words: give and take it whole",
};
