//! Arguments of methods that are converted or checked.

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyTuple};

use crate::call::call;
use crate::convert::absent;

/// The arguments of `keys`, `values` and `items`.
pub(super) struct ViewArguments<'py> {
    pub(super) start: Option<Bound<'py, PyAny>>,
    pub(super) stop: Option<Bound<'py, PyAny>>,
    pub(super) prefix: Option<Bound<'py, PyAny>>,
    pub(super) inclusive: Inclusive,
    pub(super) reverse: bool,
}

/// Whether each of two bounds is in a range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inclusive(pub(super) bool, pub(super) bool);

impl Inclusive {
    /// As of a `range`.
    pub(super) const FIRST: Self = Self(true, false);
    pub(super) const BOTH: Self = Self(true, true);

    pub(super) fn pair(self) -> (bool, bool) {
        (self.0, self.1)
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Inclusive {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let pair = object.extract::<(bool, bool)>();
        pair.map(|(start, stop)| Self(start, stop)).map_err(|_| {
            PyTypeError::new_err("`inclusive` is a pair of bools, such as `(True, False)`")
        })
    }
}

/// An optional argument that may be any object, also `None`. `ABSENT` counts as not given.
pub(super) struct Given(Option<Py<PyAny>>);

impl Given {
    pub(super) const NO: Self = Self(None);

    pub(super) fn object(self) -> Option<Py<PyAny>> {
        self.0
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Given {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let is_absent = object.is(absent(object.py())?);
        Ok(Self((!is_absent).then(|| object.to_owned().unbind())))
    }
}

/// An end of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    First,
    Last,
}

impl<'a, 'py> FromPyObject<'a, 'py> for End {
    type Error = PyErr;

    /// `True` or -1 for the last, `False` or 0 for the first, like `last` of `OrderedDict.popitem`, and like the index of
    /// `SortedDict.peekitem`. Other indexes are refused.
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(is_last) = object.cast::<PyBool>() {
            return Ok(if is_last.is_true() { Self::Last } else { Self::First });
        }
        if !object.is_instance_of::<PyInt>() {
            return Err(PyTypeError::new_err("`last` is True or False"));
        }
        match object.extract::<i64>() {
            Ok(0) => Ok(Self::First),
            Ok(-1) => Ok(Self::Last),
            _ => Err(PyIndexError::new_err(
                "entries have no index: only 0 (False), the first, and -1 (True), the last, are meant",
            )),
        }
    }
}

/// The pairs of keys and values in an object that `dict` would make a dictionary from.
pub(super) fn pairs_of<'py>(entries: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = entries.py();
    if let Ok(dict) = entries.cast_exact::<PyDict>() {
        return Ok(dict.items().into_any());
    }
    if entries.hasattr(intern!(py, "items"))? {
        return call(&entries.getattr(intern!(py, "items"))?, PyTuple::empty(py));
    }
    if entries.hasattr(intern!(py, "keys"))? {
        return call(&py.get_type::<PyDict>(), (entries,))?.call_method0(intern!(py, "items"));
    }
    Ok(entries.clone())
}
