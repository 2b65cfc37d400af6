//! A value that is changed in place and written back.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::{PyTraverseError, PyVisit};

use super::open_map::OpenMap;
use crate::error::{exception, missing};

/// The encoding that was read, if there was one, and the object that was made of it.
type Read = (Option<Vec<u8>>, Py<PyAny>);

/// What `map.edit(key)` returns: for `with`.
#[pyclass(frozen, module = "endura")]
pub(crate) struct Edit {
    /// The map, which tells the garbage collector of its functions.
    map: Py<PyAny>,
    open: Arc<OpenMap>,
    key: Vec<u8>,
    /// The object for a key that is not there.
    default: Option<Py<PyAny>>,
    under_way: Mutex<Option<Read>>,
}

impl Edit {
    pub(crate) fn new(
        map: Py<PyAny>,
        open: Arc<OpenMap>,
        key: Vec<u8>,
        default: Option<Py<PyAny>>,
    ) -> Self {
        Self { map, open, key, default, under_way: Mutex::default() }
    }

    fn replace(&self, py: Python<'_>, read: Option<Read>) -> Option<Read> {
        let mut place = self.under_way.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *place, read)
    }
}

#[pymethods]
impl Edit {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.map)?;
        visit.call(&self.default)?;
        match self.under_way.try_lock().as_deref() {
            Ok(Some((_, value))) => visit.call(value),
            _ => Ok(()),
        }
    }

    fn __enter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let old = self.open.read(&self.key)?.map(Vec::from);
        let value = match (&old, &self.default) {
            (Some(old), _) => self.open.value.decode(py, old)?,
            (None, Some(default)) => default.bind(py).clone(),
            (None, None) => {
                return Err(missing(&self.open.key.decode(py, &self.key)?));
            }
        };
        match self.replace(py, Some((old, value.clone().unbind()))) {
            None => Ok(value),
            Some(_) => Err(PyRuntimeError::new_err("this edit is under way: make another one")),
        }
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let Some((old, value)) = self.replace(py, None) else { return Ok(false) };
        if !kind.is_none() {
            return Ok(false);
        }
        let value = value.bind(py);
        let new = self.open.value.encode(value)?;
        if old.as_deref() == Some(&*new) {
            return Ok(false);
        }
        match self.open.exchange(&self.key, old.as_deref(), Some(&new))? {
            Ok(()) => Ok(false),
            Err(_) => Err(exception(
                "conflict",
                "the value was changed elsewhere while it was edited, and nothing was written: edit it again",
                None,
            )),
        }
    }
}
