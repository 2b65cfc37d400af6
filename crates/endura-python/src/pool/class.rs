//! The class `Pool`.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use endura::dynamic::{DynamicMap, Type};
use endura::{Error, Kind, MapOptions, Types};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::options::{FilePath, Patience, bytes, checkpoints, with};
use super::{events, report};
use crate::batch::{self, Parts};
use crate::convert::{Codec, Side, StoredAs};
use crate::error::{failure, is_a_folder, locked, no_map_to_read, text as error_text};
use crate::map::{Map, OpenMap};
use crate::shared::Shared;

/// The time between two checks for signals while an open waits for a pool.
const WITHOUT_LOOKING: Duration = Duration::from_millis(100);

/// A file with maps. `endura.open(path)` opens one, or creates it.
#[pyclass(frozen, subclass, weakref, module = "endura")]
pub(crate) struct Pool {
    shared: Arc<Shared>,
    is_read_only: bool,
}

#[pymethods]
impl Pool {
    #[new]
    #[pyo3(signature = (
        path, *, read_only=false, create=true, timeout=Patience::NONE, max_size=None, checkpoints=None, checkpoint_file=None,
        checkpoint_must_exist=false, restore=true, accept_unclean=false, allow_any_filesystem=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are given by name")]
    fn new(
        py: Python<'_>,
        path: FilePath,
        read_only: bool,
        create: bool,
        timeout: Patience,
        max_size: Option<&Bound<'_, PyAny>>,
        checkpoints: Option<&Bound<'_, PyAny>>,
        checkpoint_file: Option<FilePath>,
        checkpoint_must_exist: bool,
        restore: bool,
        accept_unclean: bool,
        allow_any_filesystem: bool,
    ) -> PyResult<Self> {
        let path = path.into_inner();
        let (name, known) = (path.clone(), events::Known::default());
        let of_listener = known.clone();
        let mut options = endura::Pool::options()
            .read_only(read_only)
            .restore(restore)
            .accept_unclean(accept_unclean)
            .allow_any_filesystem(allow_any_filesystem)
            .on_event(move |event| events::log(&name, &of_listener, event));
        let max_size = max_size.map(bytes).transpose()?;
        options = with(options, max_size, endura::PoolOptions::max_size);
        let file = checkpoint_file.map(FilePath::into_inner);
        let kept = self::checkpoints(checkpoints, file, checkpoint_must_exist)?;
        options = with(options, kept, endura::PoolOptions::checkpoints);
        let until = timeout.0.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let left = until.map_or(Duration::MAX, |until| until.duration_since(Instant::now()));
            let options = options.clone().lock_timeout(left.min(WITHOUT_LOOKING));
            let opened = py.detach(|| match create && !read_only {
                true => options.open(&path),
                false => options.open_existing(&path),
            });
            match opened {
                Err(Error::Locked) if left > WITHOUT_LOOKING => py.check_signals()?,
                Err(Error::Locked) => return Err(locked(py, &path)),
                Err(error @ Error::NotAPool { .. }) if path.is_dir() => {
                    return Err(is_a_folder(&error, &path));
                }
                opened => {
                    let shared = Arc::new(Shared::new(opened.map_err(failure)?));
                    known.set(&shared);
                    return Ok(Self { shared, is_read_only: read_only });
                }
            }
        }
    }

    /// The path of the file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.shared.pool.path().to_owned()
    }

    /// Whether the pool was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Whether this process has the pool open.
    fn _is_open_here(&self) -> bool {
        !self.shared.is_closed() && self.shared.is_of_this_process()
    }

    fn __repr__(&self) -> String {
        let state = match (self.shared.is_closed(), self.shared.is_of_this_process()) {
            (true, _) => ", closed",
            (_, false) => ", of the process before the fork",
            _ if self.is_read_only => ", read-only",
            _ => "",
        };
        format!("<endura.Pool {:?}{state}>", self.shared.pool.path().display().to_string())
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        // A forked child leaves the pool to its parent.
        if self.shared.is_of_this_process() { self.close(py) } else { Ok(()) }
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a pool cannot be pickled or copied: another process opens it itself, when this one has closed it (one process at \
             a time writes)",
        ))
    }

    /// Opens a map, with types by their recorded names, or with the types it has. A codec is a pair of functions, `encode`
    /// and `decode`. `stored_as` has three functions for the keys and three for the values, as `StoredAs` names them.
    #[pyo3(signature = (name, types, codec, kind, stored_as))]
    fn _map(
        this: &Bound<'_, Self>,
        name: &str,
        types: Option<(String, String)>,
        codec: Option<(Py<PyAny>, Py<PyAny>)>,
        kind: Option<&str>,
        stored_as: (Option<Functions>, Option<Functions>),
    ) -> PyResult<Map> {
        let (py, shared) = (this.py(), &this.get().shared);
        if let Some((key, value)) = &types {
            expect_known("key", key, false)?;
            expect_known("value", value, codec.is_some())?;
        }
        let codec = codec.map(|(encode, decode)| Codec { encode, decode });
        let mut options = MapOptions::new();
        if let Some(kind) = kind {
            options = options.kind(kind.parse::<Kind>().map_err(PyValueError::new_err)?);
        }
        // A map that is given its types is made, except where the pool is only read.
        let is_given = types.is_some();
        let opened = py.detach(|| match types {
            Some((key, value)) => {
                DynamicMap::open_as(&shared.pool, name, options, Types { key, value })
            }
            None => DynamicMap::open(&shared.pool, name),
        });
        let map = opened.map_err(|error| match error {
            Error::NoSuchMap { name } if is_given => no_map_to_read(&name),
            error => failure(error),
        })?;
        let types = map.types().clone();
        let keys = format!("keys of the map `{name}`");
        let values = format!("values of the map `{name}`");
        let open = OpenMap {
            key: Side::new(map.key_type(), &types.key, keys).by(None, stored_as.0.map(functions)),
            value: Side::new(map.value_type(), &types.value, values)
                .by(codec, stored_as.1.map(functions)),
            map,
            changes: shared.changes(name),
        };
        Ok(Map::new(open, this.clone().into_any().unbind(), Arc::clone(shared)))
    }

    /// The maps of the pool by name: each with its types, its kind, and its number of entries (`None` until they are counted,
    /// after the end of a process that did not close the pool).
    fn maps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for info in py.detach(|| self.shared.pool.maps()).map_err(failure)? {
            dict.set_item(&info.name, report::map(py, &info)?)?;
        }
        Ok(dict)
    }

    /// Removes a map with all its entries at once; returns whether there was one.
    fn drop(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let dropped = py.detach(|| self.shared.pool.drop_map(name)).map_err(failure)?;
        self.shared.dropped(name);
        Ok(dropped)
    }

    /// Gives a map another name.
    fn rename(&self, py: Python<'_>, old: &str, new: &str) -> PyResult<()> {
        py.detach(|| self.shared.pool.rename(old, new)).map_err(failure)?;
        self.shared.renamed(old, new);
        Ok(())
    }

    fn _parts(&self) -> Parts {
        Parts::of(&self.shared.pool)
    }

    /// Runs `run`, which gets a `Run`, until its changes are made.
    fn _transact<'py>(&self, run: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        batch::transact(&self.shared.pool, run)
    }

    /// Runs `look`, which takes no arguments, and returns its result, if everything that it has read in maps of this pool
    /// has each batch whole or not at all; else it runs again. Single writes of other threads may come between its reads.
    fn read<'py>(&self, look: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        batch::read(&self.shared.pool, look)
    }

    /// Makes a checkpoint now: from here on a power loss costs at most what is written later. Returns when it was made
    /// (`at`), for how many seconds writers were `held` and `slowed`, and the `written_bytes`.
    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = py.detach(|| self.shared.pool.checkpoint()).map_err(failure)?;
        report::checkpoint(py, &made)
    }

    /// Writes a copy of the pool to the path `to`, where no file may exist. Writers continue meanwhile.
    fn backup(&self, py: Python<'_>, to: FilePath) -> PyResult<()> {
        py.detach(|| self.shared.pool.backup(to)).map_err(failure)
    }

    /// Facts and figures of the pool, as in `endura info --json`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = py.detach(|| self.shared.pool.stats()).map_err(failure)?;
        report::stats(py, &stats)
    }

    /// Checks everything in the pool, and returns figures of each map; raises `endura.Corrupt` for damage. Writers wait
    /// meanwhile. O(n).
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = py.detach(|| self.shared.pool.verify()).map_err(failure)?;
        report::check(py, &report)
    }

    /// How the open took the pool back to a checkpoint, or made it from one; `None` if it did neither. It has when the
    /// checkpoint was made (`at`), the `written_bytes`, the `reason`, and where the pool is kept as it was found (`kept`, or
    /// `None`).
    #[getter]
    fn restored<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.shared.pool.restored().map(|restored| report::restored(py, restored)).transpose()
    }

    /// Closes the pool: waits for operations of other threads; later operations raise `endura.Closed`. Its memory and its
    /// files are released at once, and so is the disk space of a removed file. A second call does nothing.
    ///
    /// Raises an exception if the data may not survive, and warns with `endura.CheckpointWarning` if the pool is closed, but
    /// without a checkpoint of the last writes.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let closed = py.detach(|| {
            self.shared.failure();
            self.shared.pool.close()
        });
        // A close that fails has closed the pool too, except where it could not begin.
        if closed.is_ok() || matches!(self.shared.pool.maps(), Err(Error::Closed { .. })) {
            self.shared.closed();
        }
        match closed {
            Err(Error::Closed { .. }) => Ok(()),
            closed => match closed.map_err(failure)?.checkpoint_error {
                Some(error) => warn_of_checkpoint(py, &error),
                None => Ok(()),
            },
        }
    }
}

type Functions = (Py<PyAny>, Py<PyAny>, Py<PyAny>);

fn functions((store, load, store_prefix): Functions) -> StoredAs {
    StoredAs { store, load, store_prefix }
}

/// Warns that the pool is closed, and whole, but its checkpoint is an older one.
fn warn_of_checkpoint(py: Python<'_>, error: &Error) -> PyResult<()> {
    let category =
        py.import(intern!(py, "endura._errors"))?.getattr(intern!(py, "CheckpointWarning"))?;
    let text = format!(
        "the pool is closed, but no checkpoint could be made of its last writes ({}): until a later session makes one, a \
         power loss leaves a pool that is refused",
        error_text(error)
    );
    PyErr::warn(py, &category, &CString::new(text.replace('\0', ""))?, 2)
}

/// Fails for a type that the library does not know, unless it is the name of a codec, and for a codec that has the name of
/// a type.
fn expect_known(what: &str, name: &str, has_codec: bool) -> PyResult<()> {
    match (Type::named(name), has_codec) {
        (Type::Unknown(_), false) => Err(PyTypeError::new_err(format!(
            "`{name}` is not a {what} type that a pool records; these are: u8 to u128, i8 to i128, f32, f64, bool, char, (), \
             str, [u8], [u8; N], Option<T>, Reverse<T>, (A, B) and `NAME: T`, and for values json and the names of codecs"
        ))),
        (Type::Json | Type::Unknown(_), _) | (_, false) => Ok(()),
        (_, true) => Err(PyValueError::new_err(format!(
            "`{name}` is a type of the library: choose another name for a codec"
        ))),
    }
}
