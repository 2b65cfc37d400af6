//! Errors of the library as exceptions of Python.
//!
//! Their classes are in `python/endura/_errors.py`, by the library's codes. Texts name options and methods as Python does.

use std::borrow::Cow;
use std::io;
use std::path::Path;

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
    match &error {
        Error::Io { doing, source } => {
            raised(error.code(), &text(&error), number_of(source), path_in(doing))
        }
        error => exception(error.code(), &text(error)),
    }
}

/// The system's number for a folder in the place of a file.
const EISDIR: i32 = 21;

/// The exception for a path that leads to a folder.
#[cold]
pub(crate) fn is_a_folder(error: &Error, path: &Path) -> PyErr {
    let (text, path) = (text(error), path.display().to_string());
    raised("io", &format!("opening {text}"), Some(EISDIR), Some(&path))
}

/// The exception of the class that has this code.
#[cold]
pub(crate) fn exception(code: &str, text: &str) -> PyErr {
    raised(code, text, None, None)
}

/// The exception for a pool that cannot be opened because another open excludes it.
#[cold]
pub(crate) fn locked(py: Python<'_>, path: &Path) -> PyErr {
    let holder = py.import(intern!(py, "endura._pool")).and_then(|module| {
        let holder = call(&module.getattr(intern!(py, "_holder"))?, (path,))?;
        holder.extract::<(String, bool)>()
    });
    match holder {
        Ok((holder, is_this_process)) => {
            let advice = if is_this_process { LOCKED_HERE } else { LOCKED_ELSEWHERE };
            exception(Error::Locked.code(), &format!("{holder}{advice}"))
        }
        Err(error) => error,
    }
}

const LOCKED_HERE: &str = ": use that object, or close it first with its `close()`, in a notebook before a cell is run \
                           again; `endura.open(path, timeout=SECONDS)` waits until another thread has closed it";
const LOCKED_ELSEWHERE: &str = ": close it there, wait for it with `endura.open(path, timeout=SECONDS)`, or open it with \
                                `read_only=True` in every process (one process at a time writes)";

/// The exception for a map that cannot be made, because its pool is only read.
#[cold]
pub(crate) fn no_map_to_read(name: &str) -> PyErr {
    let text = format!(
        "the pool has no map `{name}`, and none is made, because the pool was opened with `read_only=True`: `pool.maps()` \
         lists those that it has"
    );
    exception("no_such_map", &text)
}

/// `number` and `path` are those of an error of the operating system.
fn raised(code: &str, text: &str, number: Option<i32>, path: Option<&str>) -> PyErr {
    Python::attach(|py| {
        let made = RAISED.get_or_try_init(py, || {
            let module = py.import(intern!(py, "endura._errors"))?;
            Ok::<_, PyErr>(module.getattr(intern!(py, "exception"))?.unbind())
        });
        match made.and_then(|made| call(made.bind(py), (code, text, number, path))) {
            Ok(raised) => PyErr::from_value(raised),
            Err(other) => other,
        }
    })
}

/// The number of an error of the operating system. The library makes some of them itself, without a number.
fn number_of(error: &io::Error) -> Option<i32> {
    error.raw_os_error().or_else(|| {
        let number = match error.kind() {
            io::ErrorKind::NotFound => 2,
            io::ErrorKind::PermissionDenied => 13,
            io::ErrorKind::AlreadyExists => 17,
            io::ErrorKind::NotADirectory => 20,
            io::ErrorKind::IsADirectory => EISDIR,
            _ => return None,
        };
        Some(number)
    })
}

/// The path in a description of what was done when an error occurred.
fn path_in(doing: &str) -> Option<&str> {
    const BEFORE: [&str; 4] =
        ["opening ", "creating ", "the checkpoint ", "writing the pool of the checkpoint "];
    let path = BEFORE.iter().find_map(|before| doing.strip_prefix(before))?;
    let facts = [", a symbolic link to ", ", which belongs to "];
    Some(facts.into_iter().find_map(|fact| path.split_once(fact)).map_or(path, |(path, _)| path))
}

/// The text of an error of the operating system. Python writes the number before it.
fn io_text(error: &Error, source: &io::Error) -> String {
    let (text, said) = (error.to_string(), source.to_string());
    let system = number_of(source).map(|number| io::Error::from_raw_os_error(number).to_string());
    let system = system.as_deref().unwrap_or(&said);
    let plain = system.split_once(" (os error ").map_or(system, |(plain, _)| plain);
    text.replacen(&said, plain, 1)
}

/// The beginning of the library's text for a pool that makes no checkpoints.
const NO_CHECKPOINTS: &str = "the pool has no checkpoints:";

/// What the library's texts say in words of Rust and of the command, and the same in words of Python.
const WORDS: &[(&str, &str)] = &[
    ("(`must_exist`)", "(`checkpoint_must_exist=True`)"),
    ("(`Checkpoints::in_file`)", "(`checkpoint_file=PATH`)"),
    ("(`Checkpoints::in_file`, `Checkpoints::beside_pool`)", "(`checkpoint_file=PATH`)"),
    ("(`accept_unclean`, or `endura check --accept`)", "(`accept_unclean=True`)"),
    ("(`lock_timeout`)", "(`timeout=SECONDS`)"),
    (
        "verify and accept the pool with `endura check --accept`",
        "open it with `accept_unclean=True`, which verifies it first",
    ),
    (
        "`endura restore` (`Pool::restore`) takes it back to",
        "move the file away and open its path again, and it is made anew from",
    ),
    ("`endura restore` (`Pool::restore`)", "the command `endura restore`"),
    (" (`from`)", ""),
    ("`allow_any_filesystem(true)`", "`allow_any_filesystem=True`"),
    ("give the file that it had", "give the file that it had (`checkpoint_file=PATH`)"),
    (
        "open it with `checkpoints` among its options",
        "open it with `checkpoints=True`, or with the seconds between two of them",
    ),
    (
        NO_CHECKPOINTS,
        "the pool has no checkpoints, as on tmpfs by default, or after `checkpoints=False`:",
    ),
    (
        "`endura restore POOL --from CHECKPOINT` (`Pool::restore`)",
        "the command `endura restore POOL --from CHECKPOINT`",
    ),
    ("with `endura restore`", "with the command `endura restore`"),
    ("run `endura check` on a copy", "run `pool.check()` on a copy"),
    ("`endura check` finds what", "`pool.check()` finds what"),
    ("`endura check` tells whether", "`pool.check()` tells whether"),
    ("`endura check` on a copy tells", "`pool.check()` on a copy tells"),
    (
        "have the program that has the pool open make the copy (`Pool::backup`)",
        "have the program that has the pool open make the copy (`pool.backup`)",
    ),
    ("starting the thread of `on_event`", "starting the thread that writes to `logging`"),
    ("`max_bytes` says", "`max_bytes` of `pool.stats()` says"),
    ("see `limbo_bytes`", "see `limbo_bytes` of `pool.stats()`"),
];

/// A text of the library in words of Python.
pub(crate) fn in_python(text: &str) -> Cow<'_, str> {
    WORDS.iter().fold(Cow::Borrowed(text), |text, (foreign, own)| match text.contains(foreign) {
        true => Cow::Owned(text.replace(foreign, own)),
        false => text,
    })
}

/// A text of the library in words of Python, for the test that looks through all of them.
#[pyfunction]
#[pyo3(name = "_in_python")]
pub(crate) fn in_python_words(text: &str) -> String {
    in_python(text).into_owned()
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
            "the pool is damaged at byte {offset}: {what}; if it was open for writing, close it, and its next open goes back to its \
             checkpoint; else move the file away and open its path again; without a checkpoint restore a backup \
             (`pool.check()` on a copy tells what is damaged)"
        ),
        Error::Locked => format!("the pool is open elsewhere{LOCKED_ELSEWHERE}"),
        Error::Forked => "this process is a fork of the one that opened the pool: open it here, in place of there (one \
                          process at a time writes)"
            .to_owned(),
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
            "the map `{name}` has keys `{}` and values `{}`, which the kind `{}` cannot hold: it has keys of at most 8 \
             bytes; leave the kind out, or take `Roart`",
            types.key,
            types.value,
            want.name()
        ),
        Error::ReadOnly => {
            "the pool was opened with `read_only=True`: open it without, to write".to_owned()
        }
        Error::RecursiveUpdate { runs } => format!(
            "the function given to `alter`, or a codec's, has written to the pool in each of {runs} runs, and each time the \
             value of its key had changed when it returned: let the function return the new value, and not write it"
        ),
        Error::Unsupported { what } if what.starts_with(NO_CHECKPOINTS) => {
            in_python(what).into_owned()
        }
        Error::Io { source, .. } => in_python(&io_text(error, source)).into_owned(),
        error => in_python(&error.to_string()).into_owned(),
    }
}
