//! The state of an open map, and its operations on one key.

use endura::dynamic::{DynamicMap, Encoding, UntypedMap};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::runs::Runs;
use crate::convert::Side;
use crate::error::failure;
use crate::shared::Changes;

/// From this length on, a value is written while other threads run Python.
const LONG: usize = 16 << 10;
/// Up to this length, a value is copied to the stack, without an allocation.
const SHORT: usize = 512;

/// The state that the objects of one map share.
pub(crate) struct OpenMap {
    pub(crate) map: DynamicMap,
    pub(crate) key: Side,
    pub(crate) value: Side,
    pub(crate) changes: Changes,
}

/// Whether an exception says that an object cannot be a key.
fn is_of_object(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyOverflowError>(py)
        || error.is_instance_of::<PyValueError>(py)
}

impl OpenMap {
    /// The value of a key.
    #[inline]
    pub(crate) fn get<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = key.py();
        let UntypedMap::Bytes(map) = self.map.map() else { return self.get_word(key) };
        let key = self.key.encode(key)?;
        if self.value.is_bytes() {
            // A `bytes` object is only memory: making one runs no Python code.
            let found = map.read_with(&key, |bytes| {
                PyBytes::new_with(py, bytes.len(), |room| {
                    bytes.copy_to(0, room);
                    Ok(())
                })
            });
            return Ok(found.map_err(failure)?.transpose()?.map(Bound::into_any));
        }
        // The value is copied before an object is made from it: making the object may run Python code, which would keep
        // memory of the pool pinned as long as it runs.
        let mut short = [0; SHORT];
        let found = map.read_with(&key, |bytes| match short.get_mut(..bytes.len()) {
            Some(room) => {
                bytes.copy_to(0, room);
                Ok(bytes.len())
            }
            None => Err(bytes.to_vec()),
        });
        match found.map_err(failure)? {
            None => Ok(None),
            Some(Ok(len)) => self.value.decode(py, &short[..len]).map(Some),
            Some(Err(long)) => self.value.decode(py, &long).map(Some),
        }
    }

    /// The value of any object; an object that cannot be a key has none, as in a `dict`.
    pub(crate) fn get_any<'py>(
        &self,
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.get(object) {
            // The error may also be one of the value: then the object is a key.
            Err(error) if is_of_object(object.py(), &error) && self.key.encode(object).is_err() => {
                self.contains(object).map(|_| None)
            }
            found => found,
        }
    }

    #[inline]
    fn get_word<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let UntypedMap::Words(map) = self.map.map() else { return Ok(None) };
        let found = map.get(self.key.word(key)?).map_err(failure)?;
        found.map(|word| self.value.of_word(key.py(), word)).transpose()
    }

    /// The encoding of a key's value.
    pub(crate) fn read(&self, key: &[u8]) -> PyResult<Option<Encoding>> {
        self.map.get(key).map_err(failure)
    }

    /// Whether an object is a key of the map. An object that cannot be one is not, as in a `dict`.
    pub(crate) fn contains(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        let found = match self.map.map() {
            UntypedMap::Words(map) => match self.key.word(object) {
                Ok(key) => map.contains_key(key),
                Err(error) if is_of_object(object.py(), &error) => {
                    map.contains_key(0).map(|_| false)
                }
                Err(error) => return Err(error),
            },
            UntypedMap::Bytes(map) => match self.key.encode(object) {
                Ok(key) => map.contains_key(&key),
                Err(error) if is_of_object(object.py(), &error) => {
                    map.contains_key(&[]).map(|_| false)
                }
                Err(error) => return Err(error),
            },
        };
        found.map_err(failure)
    }

    /// Gives a key a value.
    #[inline]
    pub(crate) fn put(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = key.py();
        match self.map.map() {
            UntypedMap::Words(map) => map.put(self.key.word(key)?, self.value.word(value)?),
            UntypedMap::Bytes(map) => {
                let (key, value) = (self.key.encode(key)?, self.value.encode(value)?);
                let is_free = value.len() >= LONG && key.is_constant() && value.is_constant();
                let (key, value) = (&*key, &*value);
                // A codec may have made bytes that are no encoding: `DynamicMap` checks that.
                let put = || match self.value.has_codec() {
                    true => self.map.put(key, value),
                    false => map.put(key, value),
                };
                if is_free { py.detach(put) } else { put() }
            }
        }
        .map_err(failure)?;
        self.changes.note();
        Ok(())
    }

    /// Gives a key a value if it has none; returns whether it had none.
    pub(crate) fn add(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (key, value) = (self.key.encode(key)?, self.value.encode(value)?);
        let added = self.map.insert_if_absent(&key, &value).map_err(failure)?;
        self.changes.note();
        Ok(added)
    }

    /// Removes a key; returns whether it was there.
    pub(crate) fn delete(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let deleted = match self.map.map() {
            UntypedMap::Words(map) => map.delete(self.key.word(key)?),
            UntypedMap::Bytes(map) => map.delete(&self.key.encode(key)?),
        };
        let deleted = deleted.map_err(failure)?;
        self.changes.note();
        Ok(deleted)
    }

    /// The entry with the first key or the last, as encodings.
    fn end(&self, is_last: bool) -> PyResult<Option<(Encoding, Encoding)>> {
        let found = match is_last {
            true => self.map.last_key_value(),
            false => self.map.first_key_value(),
        };
        found.map_err(failure)
    }

    fn entry<'py>(
        &self,
        py: Python<'py>,
        (key, value): &(Encoding, Encoding),
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        Ok((self.key.decode(py, key)?, self.value.decode(py, value)?))
    }

    /// The entry with the first key or the last.
    pub(crate) fn peek<'py>(
        &self,
        py: Python<'py>,
        is_last: bool,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        self.end(is_last)?.map(|found| self.entry(py, &found)).transpose()
    }

    /// Removes the entry with the first key or the last, and returns it. Its objects are made first, so that the entry stays
    /// if they cannot be made.
    pub(crate) fn pop<'py>(
        &self,
        py: Python<'py>,
        is_last: bool,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let mut runs = Runs::default();
        loop {
            let Some(found) = self.end(is_last)? else { return Ok(None) };
            runs.begin();
            let entry = self.entry(py, &found)?;
            let popped = match is_last {
                true => self.map.pop_last_if(&found.0, &found.1),
                false => self.map.pop_first_if(&found.0, &found.1),
            };
            if popped.map_err(failure)? {
                self.changes.note();
                return Ok(Some(entry));
            }
            runs.end(py)?;
        }
    }

    /// Removes a key; returns the value it had. The object is made first, as in [`pop`](Self::pop).
    pub(crate) fn remove<'py>(
        &self,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        // The encoding is copied, because the key may be a buffer to which a codec writes.
        let (py, key) = (key.py(), self.key.encode(key)?.constant());
        let (mut found, mut runs) = (self.read(&key)?.map(Vec::from), Runs::default());
        while let Some(old) = found {
            runs.begin();
            let value = self.value.decode(py, &old)?;
            match self.exchange(&key, Some(&old), None)? {
                Ok(()) => return Ok(Some(value)),
                Err(now) => found = now,
            }
            runs.end(py)?;
        }
        Ok(None)
    }

    /// Replaces the encoding of a value if it is `expected`; otherwise returns the present one.
    pub(crate) fn exchange(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> PyResult<Result<(), Option<Vec<u8>>>> {
        let exchanged = self.map.compare_exchange(key, expected, new).map_err(failure)?;
        if exchanged.is_ok() {
            self.changes.note();
        }
        Ok(exchanged.map_err(|found| found.map(Vec::from)))
    }
}
