//! The options of `endura.open`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use endura::{Checkpoints, PoolOptions};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::call::call;
use crate::convert::class_name;

/// A path as functions of Python take it: a `str`, `bytes`, or an `os.PathLike`.
pub(super) struct FilePath(PathBuf);

impl FilePath {
    pub(super) fn into_inner(self) -> PathBuf {
        self.0
    }
}

impl AsRef<Path> for FilePath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for FilePath {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let decode = py.import(intern!(py, "os"))?.getattr(intern!(py, "fsdecode"))?;
        let path: PathBuf = call(&decode, (object,))?.extract()?;
        match path.as_os_str().as_encoded_bytes().contains(&0) {
            true => Err(PyValueError::new_err("embedded null byte in a path")),
            false => Ok(Self(path)),
        }
    }
}

/// The choice of checkpoints: when they are made (`True`, `False`, or seconds), in which file, and whether that file
/// must exist. `None` if no argument is given.
pub(super) fn checkpoints(
    when: Option<&Bound<'_, PyAny>>,
    file: Option<PathBuf>,
    must_exist: bool,
) -> PyResult<Option<Checkpoints>> {
    let chosen = match when {
        None => (file.is_some() || must_exist).then(Checkpoints::as_left),
        Some(when) => Some(match when.cast::<PyBool>() {
            Ok(is_on) if is_on.is_true() => Checkpoints::as_left(),
            Ok(_) => Checkpoints::off(),
            Err(_) => match when.extract::<f64>() {
                Ok(interval) => Checkpoints::every_seconds(interval).map_err(|flaw| {
                    PyValueError::new_err(format!("`checkpoints` = {interval}: {flaw}"))
                })?,
                Err(_) => {
                    let text = "checkpoints are True, False, the seconds between two of them, or 0 for those that \
                                `pool.checkpoint()` makes";
                    return Err(PyTypeError::new_err(text));
                }
            },
        }),
    };
    let chosen = match (chosen, file) {
        (Some(chosen), Some(file)) => Some(chosen.in_file(file)),
        (chosen, _) => chosen,
    };
    Ok(if must_exist { chosen.map(Checkpoints::must_exist) } else { chosen })
}

/// How long an open waits for a pool; `None` for ever.
pub(super) struct Patience(pub(super) Option<Duration>);

impl Patience {
    pub(super) const NONE: Self = Self(Some(Duration::ZERO));
}

impl<'a, 'py> FromPyObject<'a, 'py> for Patience {
    type Error = PyErr;

    fn extract(timeout: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if timeout.is_none() {
            return Ok(Self(None));
        }
        let Ok(seconds) = timeout.extract::<f64>() else {
            return Err(PyTypeError::new_err(format!(
                "`timeout` is a number of seconds, or None for ever, not {}",
                class_name(&timeout)
            )));
        };
        Duration::try_from_secs_f64(seconds).map(|time| Self(Some(time))).map_err(|_| {
            PyValueError::new_err(format!(
                "`timeout` is a number of seconds from 0 on, or None for ever, not {seconds}"
            ))
        })
    }
}

/// The number of bytes that `max_size` gives.
pub(super) fn bytes(max_size: &Bound<'_, PyAny>) -> PyResult<u64> {
    max_size.extract().map_err(|error: PyErr| {
        let py = max_size.py();
        match error.is_instance_of::<PyTypeError>(py) {
            true => PyTypeError::new_err(format!(
                "`max_size` is a number of bytes, not {}",
                class_name(max_size)
            )),
            false => {
                PyValueError::new_err(format!("`max_size` is a number of bytes, not {max_size}"))
            }
        }
    })
}

/// Sets an option if it is given.
pub(super) fn with<T>(
    options: PoolOptions,
    given: Option<T>,
    set: impl FnOnce(PoolOptions, T) -> PoolOptions,
) -> PoolOptions {
    match given {
        Some(given) => set(options, given),
        None => options,
    }
}
