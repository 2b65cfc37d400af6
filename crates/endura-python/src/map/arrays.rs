//! Lookups of many keys, which may be in an array of NumPy.

use endura::dynamic::{UntypedMap, word};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::bulk::{NUMBERS, encoded, slices, taken};
use super::open_map::OpenMap;
use crate::convert::{Numbers, absent, bools, expect_unmasked, is_numpy, objects};
use crate::error::failure;

impl OpenMap {
    /// The values of keys: a list, with `default` for those that are missing. For a NumPy array of keys two arrays: the
    /// values, and which keys were found.
    pub(crate) fn get_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        default: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if is_numpy(keys)? {
            return self.get_array(keys, default);
        }
        self.get_list(keys, default).map(Bound::into_any)
    }

    /// The array of the values, and the array of which keys were found, for any types of keys and values. Values that are
    /// not numbers are in an array of objects.
    fn get_array<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        default: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = keys.py();
        expect_unmasked(keys)?;
        if keys.getattr(intern!(py, "ndim"))?.extract::<usize>()? != 1 {
            return Err(PyValueError::new_err("an array of one dimension is expected"));
        }
        let (values, are_found) = match self.value.is_numbers() && Numbers::are(self.value.kind()) {
            true => self.get_numbers(keys, default)?,
            false => self.get_objects(keys, default)?,
        };
        Ok(PyTuple::new(py, [values, bools(py, &are_found)?])?.into_any())
    }

    /// The values as an array of numbers. If `default` is `None`, 0 stands for it.
    fn get_numbers<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        default: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Vec<bool>)> {
        let default = (!default.is_none()).then(|| self.value.word(default)).transpose()?;
        let found = self.found_words(keys)?;
        let are_found = found.iter().map(Option::is_some).collect();
        let values: Vec<Option<u64>> = found.into_iter().map(|word| word.or(default)).collect();
        Ok((Numbers::array(keys.py(), self.value.kind(), &values)?, are_found))
    }

    fn found_words(&self, keys: &Bound<'_, PyAny>) -> PyResult<Vec<Option<u64>>> {
        let (py, mut found) = (keys.py(), Vec::with_capacity(keys.len()?));
        if let UntypedMap::Words(map) = self.map.map()
            && self.key.is_numbers()
            && let Some(Numbers { words }) = Numbers::of(self.key.kind(), keys)?
        {
            for part in words.chunks(NUMBERS) {
                py.check_signals()?;
                let part = py.detach(|| map.get_many(part.iter().copied()));
                found.extend(part.map_err(failure)?);
            }
            return Ok(found);
        }
        // If the keys have another width or byte order, or are texts, each element is converted like an object in a
        // list.
        let keys = keys.try_iter()?;
        loop {
            let part = taken(&keys)?;
            if part.is_empty() {
                return Ok(found);
            }
            py.check_signals()?;
            let part = encoded(&self.key, &part)?;
            let part = slices(&part);
            let values = py.detach(|| self.map.get_many(&part)).map_err(failure)?;
            found.extend(values.iter().map(|value| value.as_deref().map(word)));
        }
    }

    fn get_objects<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        default: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Vec<bool>)> {
        let missing = absent(keys.py())?;
        let found = self.get_list(keys, missing)?;
        let are_found: Vec<bool> = found.iter().map(|value| !value.is(missing)).collect();
        for (index, _) in are_found.iter().enumerate().filter(|(_, is_found)| !**is_found) {
            found.set_item(index, default)?;
        }
        Ok((objects(&found)?, are_found))
    }
}
