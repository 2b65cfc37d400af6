//! A value that is changed in place and written back.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::{PyTraverseError, PyVisit};

use super::open_map::OpenMap;
use crate::error::{exception, missing};

/// The encoding that was read, if there was one, and the object that was made from it.
type Read = (Option<Vec<u8>>, Py<PyAny>);

/// What `map.edit(key)` returns, for a `with` statement.
#[pyclass(frozen, module = "endura")]
pub(crate) struct Edit {
    /// The map, which reports its functions to the garbage collector.
    map: Py<PyAny>,
    open: Arc<OpenMap>,
    key: Vec<u8>,
    /// The value of a missing key.
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

    /// Keeps what was read, unless an edit is under way. In that case the earlier edit stays, and `read` is returned.
    fn begin(&self, py: Python<'_>, read: Read) -> Result<(), Read> {
        let mut place = self.under_way.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        match *place {
            Some(_) => Err(read),
            None => {
                *place = Some(read);
                Ok(())
            }
        }
    }

    fn end(&self, py: Python<'_>) -> Option<Read> {
        self.under_way.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take()
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
            // The block gets a copy, because it changes the object, and the caller may pass the same default again.
            (None, Some(default)) => {
                let encoded = self.open.value.encode(default.bind(py))?.constant();
                self.open.value.decode(py, &encoded)?
            }
            (None, None) => {
                return Err(missing(&self.open.key.decode(py, &self.key)?));
            }
        };
        match self.begin(py, (old, value.clone().unbind())) {
            Ok(()) => Ok(value),
            Err(_) => Err(PyRuntimeError::new_err("this edit is under way: make another one")),
        }
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let Some((old, value)) = self.end(py) else { return Ok(false) };
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
            )),
        }
    }
}
