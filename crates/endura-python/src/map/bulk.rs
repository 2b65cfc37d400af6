//! Operations on many entries, while other threads run Python.

use std::ops::Bound as End;

use endura::dynamic::{Encoding, UntypedMap};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList, PyRange, PyTuple};

use super::bounds::Bounds;
use super::open_map::OpenMap;
use crate::call::next;
use crate::convert::{Encoded, Numbers, Side};
use crate::error::failure;

/// The number of objects that are taken at once, from a container or for a lookup, and of entries between two checks for
/// signals.
const OBJECTS: usize = 1_024;
/// The number of an array's elements, or of keys that are counted or removed, between two checks for signals.
pub(super) const NUMBERS: usize = 1 << 16;

impl OpenMap {
    /// The values of keys, with `default` for those that are missing.
    pub(super) fn get_list<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        default: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = keys.py();
        let (out, keys) = (PyList::empty(py), keys.try_iter()?);
        loop {
            let part = taken(&keys)?;
            if part.is_empty() {
                return Ok(out);
            }
            py.check_signals()?;
            self.get_part(&part, default, &out)?;
        }
    }

    fn get_part(
        &self,
        keys: &[Bound<'_, PyAny>],
        default: &Bound<'_, PyAny>,
        out: &Bound<'_, PyList>,
    ) -> PyResult<()> {
        let py = default.py();
        if let UntypedMap::Words(map) = self.map.map() {
            let words = keys.iter().map(|key| self.key.word(key)).collect::<PyResult<Vec<_>>>()?;
            for word in py.detach(|| map.get_many(words)).map_err(failure)? {
                match word {
                    Some(word) => out.append(self.value.of_word(py, word)?)?,
                    None => out.append(default)?,
                }
            }
            return Ok(());
        }
        let keys = encoded(&self.key, keys)?;
        let keys = slices(&keys);
        for value in py.detach(|| self.map.get_many(&keys)).map_err(failure)? {
            match value {
                Some(value) => out.append(self.value.decode(py, &value)?)?,
                None => out.append(default)?,
            }
        }
        Ok(())
    }

    /// Gives each key the value at the same place in `values`; returns the number of entries.
    pub(crate) fn put_many(
        &self,
        keys: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let py = keys.py();
        if let UntypedMap::Words(map) = self.map.map()
            && self.key.is_numbers()
            && self.value.is_numbers()
            && let Some(Numbers { words: keys }) = Numbers::of(self.key.kind(), keys)?
            && let Some(Numbers { words: values }) = Numbers::of(self.value.kind(), values)?
        {
            if keys.len() != values.len() {
                return Err(PyValueError::new_err(UNEQUAL));
            }
            for (keys, values) in keys.chunks(NUMBERS).zip(values.chunks(NUMBERS)) {
                py.check_signals()?;
                let entries = keys.iter().copied().zip(values.iter().copied());
                let put = py.detach(|| map.extend(entries));
                self.changes.note();
                put.map_err(failure)?;
            }
            return Ok(keys.len());
        }
        let most = at_once(&[keys, values]);
        let (keys, values) = (keys.try_iter()?, values.try_iter()?);
        self.put_all(py, most, || match (next(&keys)?, next(&values)?) {
            (Some(key), Some(value)) => Ok(Some((key, value))),
            (None, None) => Ok(None),
            _ => Err(PyValueError::new_err(UNEQUAL)),
        })
    }

    /// Puts the pairs in an iterable; returns their number.
    pub(crate) fn put_pairs(&self, pairs: &Bound<'_, PyAny>) -> PyResult<usize> {
        let (py, most, pairs) = (pairs.py(), at_once(&[pairs]), pairs.try_iter()?);
        self.put_all(py, most, || next(&pairs)?.map(|item| pair(&item)).transpose())
    }

    /// Puts the entries that `next` returns, at most `most` at once. If an entry fails, the entries before it are in
    /// the map.
    fn put_all<'py>(
        &self,
        py: Python<'py>,
        most: usize,
        mut next: impl FnMut() -> PyResult<Option<Pair<'py>>>,
    ) -> PyResult<usize> {
        let mut count = 0;
        loop {
            let (mut part, mut failed) = (Vec::with_capacity(most), None);
            while part.len() < most && failed.is_none() {
                match next() {
                    Ok(Some(entry)) => part.push(entry),
                    Ok(None) => break,
                    Err(error) => failed = Some(error),
                }
            }
            count += match &*part {
                [(key, value)] => self.put(key, value).map(|()| 1)?,
                part => self.put_part(py, part)?,
            };
            match failed {
                Some(error) => return Err(error),
                None if part.len() < most => return Ok(count),
                None if count % OBJECTS == 0 => {
                    py.check_signals()?;
                    py.detach(|| ());
                }
                None => {}
            }
        }
    }

    fn put_part(&self, py: Python<'_>, part: &[Pair<'_>]) -> PyResult<usize> {
        let mut failed = None;
        let put = if let UntypedMap::Words(map) = self.map.map() {
            let words = part
                .iter()
                .map(|(key, value)| Ok::<_, PyErr>((self.key.word(key)?, self.value.word(value)?)));
            let words = until_failure(words, &mut failed);
            py.detach(|| map.extend(words))
        } else {
            let encoded = part.iter().map(|(key, value)| {
                Ok((self.key.encode(key)?.constant(), self.value.encode(value)?.constant()))
            });
            let encoded = until_failure(encoded, &mut failed);
            let slices: Vec<(&[u8], &[u8])> =
                encoded.iter().map(|(key, value)| (&**key, &**value)).collect();
            py.detach(|| self.map.extend(slices))
        };
        self.changes.note();
        let count = put.map_err(failure)?;
        failed.map_or(Ok(count), Err)
    }

    /// The number of entries within bounds. O(n). Looks for signals between two parts.
    pub(crate) fn count(&self, py: Python<'_>, bounds: &Bounds) -> PyResult<usize> {
        let (mut rest, mut count) = (bounds.clone(), 0);
        while let Some((keys, last)) = self.part_of(py, &rest)? {
            count += keys;
            rest.go_on_behind(&last, true);
            py.check_signals()?;
        }
        Ok(count)
    }

    /// Removes the entries within bounds, one after the other; returns their number. O(n). Looks for signals between two
    /// parts.
    pub(crate) fn remove_range(&self, py: Python<'_>, bounds: &Bounds) -> PyResult<usize> {
        let (mut rest, mut count) = (bounds.clone(), 0);
        while let Some((_, last)) = self.part_of(py, &rest)? {
            let (from, _) = rest.ends();
            let removed = py.detach(|| self.map.remove_range(from, End::Included(&last)));
            self.changes.note();
            count += removed.map_err(failure)?;
            rest.go_on_behind(&last, true);
            py.check_signals()?;
        }
        Ok(count)
    }

    /// The number of the first keys within bounds, at most [`NUMBERS`], and the last one of them; `None` if there is none.
    fn part_of(&self, py: Python<'_>, bounds: &Bounds) -> PyResult<Option<(usize, Encoding)>> {
        let first = || {
            let mut last = None;
            for key in bounds.range(self).keys().take(NUMBERS).zip(1..) {
                last = Some((key.1, key.0?));
            }
            Ok(last)
        };
        py.detach(first).map_err(failure)
    }
}

const UNEQUAL: &str = "as many values as keys are expected";

/// A key and a value.
type Pair<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The items before the first failure.
fn until_failure<T>(
    items: impl Iterator<Item = PyResult<T>>,
    failed: &mut Option<PyErr>,
) -> Vec<T> {
    items.map_while(|item| item.map_err(|error| *failed = Some(error)).ok()).collect()
}

/// How many entries are taken from these objects before the entries are written to the map. Containers keep their
/// entries, and many are taken at once. From an iterator one is taken at a time: the iterator may read entries that
/// were written before, and an entry that it has returned would be lost if it were not written.
fn at_once(objects: &[&Bound<'_, PyAny>]) -> usize {
    let stays = |object: &&Bound<'_, PyAny>| {
        object.is_exact_instance_of::<PyList>()
            || object.is_exact_instance_of::<PyTuple>()
            || object.is_exact_instance_of::<PyRange>()
    };
    if objects.iter().all(stays) { OBJECTS } else { 1 }
}

/// The next [`OBJECTS`] objects of an iterator, or as many as it has.
pub(super) fn taken<'py>(objects: &Bound<'py, PyIterator>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    (0..OBJECTS).map_while(|_| next(objects).transpose()).collect()
}

/// The key and the value in an object of two parts, as `dict.update` takes it.
fn pair<'py>(object: &Bound<'py, PyAny>) -> PyResult<Pair<'py>> {
    if let Ok(tuple) = object.cast_exact::<PyTuple>()
        && tuple.len() == 2
    {
        return Ok((tuple.get_item(0)?, tuple.get_item(1)?));
    }
    let parts = object.try_iter()?;
    match (next(&parts)?, next(&parts)?, next(&parts)?) {
        (Some(key), Some(value), None) => Ok((key, value)),
        _ => Err(PyValueError::new_err("pairs of a key and a value are expected")),
    }
}

/// Encodings that cannot change while other threads run Python.
pub(super) fn encoded<'a>(
    side: &Side,
    objects: &'a [Bound<'_, PyAny>],
) -> PyResult<Vec<Encoded<'a>>> {
    objects.iter().map(|object| Ok(side.encode(object)?.constant())).collect()
}

pub(super) fn slices<'e>(encoded: &'e [Encoded<'_>]) -> Vec<&'e [u8]> {
    encoded.iter().map(|encoded| &**encoded).collect()
}
