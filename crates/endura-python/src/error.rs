//! Errors of the library as exceptions of Python.
//!
//! Their classes are in `python/endura/_errors.py`, by the library's codes. Texts name options and methods as Python does.

use endura::Error;
use pyo3::exceptions::PyKeyError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::call::call;

static RAISED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception for an error.
#[cold]
pub(crate) fn failure(error: Error) -> PyErr {
    let number = match &error {
        Error::Io { source, .. } => source.raw_os_error(),
        _ => None,
    };
    exception(error.code(), &text(&error), number)
}

/// The exception of the class that has this code.
#[cold]
pub(crate) fn exception(code: &str, text: &str, number: Option<i32>) -> PyErr {
    Python::attach(|py| {
        let made = RAISED.get_or_try_init(py, || {
            let module = py.import(intern!(py, "endura._errors"))?;
            Ok::<_, PyErr>(module.getattr(intern!(py, "exception"))?.unbind())
        });
        match made.and_then(|made| call(made.bind(py), (code, text, number))) {
            Ok(raised) => PyErr::from_value(raised),
            Err(other) => other,
        }
    })
}

/// The `KeyError` for a key. The key is wrapped in a tuple, because an exception takes a tuple, or `None`, for its list of
/// arguments.
pub(crate) fn missing(key: &Bound<'_, PyAny>) -> PyErr {
    PyKeyError::new_err((key.clone().unbind(),))
}

/// The text for people: the library's own sentence, unless that names options or methods of the library.
pub(crate) fn text(error: &Error) -> String {
    match error {
        Error::Corrupt { offset, what } => format!(
            "the pool is damaged at byte {offset}: {what}; restore it from a backup, or see with `pool.check()` on a copy \
             what is damaged"
        ),
        Error::Full { need, free, .. } => format!(
            "no room for {need} bytes: a value of some {free} would fit; remove entries, open the pool with a larger \
             `max_size`, or free disk space"
        ),
        Error::Locked => "the pool is open elsewhere, and one process at a time writes: close it there, wait for it with \
                          `endura.open(path, timeout=SECONDS)`, or open it with `read_only=True` in every process"
            .to_owned(),
        Error::Forked => "this process is a fork of the one that opened the pool: open it here, in place of there (one \
                          process at a time writes)"
            .to_owned(),
        Error::NeedsRestore { reason, .. } => format!(
            "the pool may be torn ({reason}): restore it from a backup, or open it with `accept_unclean=True`, which verifies \
             it first"
        ),
        Error::NoSuchMap { name } => format!(
            "the pool has no map `{name}`: `pool.maps()` lists those that it has, and `pool.map({name:?}, str, int)` makes \
             one with these types"
        ),
        Error::Decode { type_name, source } => format!(
            "an entry does not decode as `{type_name}`: {source}; overwrite it, or remove it with `del`"
        ),
        Error::WrongTypes { name, found, want } => format!(
            "the map `{name}` has keys `{}` and values `{}`, not `{}` and `{}`: open it with the types it has, or choose \
             another name",
            found.key, found.value, want.key, want.value
        ),
        Error::WrongKind { name, found: Some(found), want, .. } => format!(
            "the map `{name}` is of the kind `{}`, not `{}`: leave the kind out, or copy the map",
            found.name(),
            want.name()
        ),
        Error::WrongKind { name, types, found: None, want } => format!(
            "the map `{name}` has keys `{}` and values `{}`, which the kind `{}` cannot hold: it has keys and values of at \
             most 8 bytes; leave the kind out, or take `roart`",
            types.key,
            types.value,
            want.name()
        ),
        Error::ReadOnly => {
            "the pool was opened with `read_only=True`: open it without, to write".to_owned()
        }
        error => error.to_string(),
    }
}
