//! The options of `endura.open`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use endura::{Checkpoints, PoolOptions};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use crate::call::call;

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

/// The duration in an option that is given in seconds.
pub(super) fn seconds(option: &str, value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value).map_err(|_| {
        PyValueError::new_err(format!("`{option}` is a number of seconds, not {value}"))
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
