//! Iterators over a map.
//!
//! They fetch entries in batches, without the lock of the interpreter, and hold nothing in the pool between two batches.
//! After a change by this process, entries that were fetched and not returned are fetched again, so that a loop sees its
//! own writes. No key is returned twice, and no key that stays in the map is left out.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

use super::bounds::Bounds;
use super::fetched::{Ahead, Fetched, Part};
use super::open_map::OpenMap;
use crate::error::failure;
use crate::shared::Process;

/// An iterator over keys, values or items. Any thread may use it, also several at once.
#[pyclass(frozen, module = "endura", name = "Iterator")]
pub(crate) struct Entries {
    /// The map, which reports its functions to the garbage collector.
    map: Py<PyAny>,
    open: Arc<OpenMap>,
    part: Part,
    upwards: bool,
    process: Process,
    cursor: Mutex<Cursor>,
}

enum Step {
    Entry(Arc<Fetched>, usize),
    Fetch,
    End,
}

struct Cursor {
    bounds: Bounds,
    fetched: Arc<Fetched>,
    /// The index of the next entry in `fetched`.
    next: usize,
    /// The count of the map's changes, as it was read before `fetched` was filled.
    stamp: u64,
    ahead: Ahead,
    is_at_end: bool,
    /// Whether the iterator goes over the whole map.
    is_whole: bool,
    /// The number of entries that were returned before those in `fetched`.
    returned: u64,
}

impl Entries {
    pub(crate) fn new(
        map: Py<PyAny>,
        open: Arc<OpenMap>,
        part: Part,
        bounds: Bounds,
        upwards: bool,
    ) -> Self {
        let is_whole = bounds.are_all();
        let cursor = Cursor {
            bounds,
            fetched: Arc::default(),
            next: 0,
            stamp: 0,
            ahead: Ahead::START,
            is_at_end: false,
            is_whole,
            returned: 0,
        };
        Self { map, open, part, upwards, process: Process::this(), cursor: Mutex::new(cursor) }
    }

    /// The next entry, as fetched entries and an index. [`Step::Fetch`] if entries have to be fetched, and `may_fetch` is
    /// not set.
    #[inline]
    fn step(&self, py: Python<'_>, may_fetch: bool) -> endura::Result<Step> {
        // In the child of a fork, the lock may be held by a thread that only the parent has.
        if self.process != Process::this() {
            return Err(endura::Error::Forked);
        }
        // No object and no exception is made under the lock: making one may run any Python code, which may use this
        // iterator.
        let cursor = &mut *self.cursor.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let is_old = cursor.stamp != self.open.changes.stamp();
        if cursor.next == cursor.fetched.len() || is_old {
            if cursor.is_at_end {
                return Ok(Step::End);
            }
            if !may_fetch {
                return Ok(Step::Fetch);
            }
            self.fetch(py, cursor)?;
            if cursor.fetched.len() == 0 {
                cursor.is_at_end = true;
                if cursor.is_whole {
                    self.open.map.check_len(cursor.returned)?;
                }
                return Ok(Step::End);
            }
        }
        cursor.next += 1;
        Ok(Step::Entry(Arc::clone(&cursor.fetched), cursor.next - 1))
    }

    #[cold]
    fn fetch(&self, py: Python<'_>, cursor: &mut Cursor) -> endura::Result<()> {
        if let Some((key, _)) =
            cursor.next.checked_sub(1).and_then(|last| cursor.fetched.entry(last))
        {
            cursor.bounds.go_on_behind(key, self.upwards);
        }
        match cursor.next == cursor.fetched.len() {
            true if cursor.next > 0 => cursor.ahead.used(),
            true => {}
            false => cursor.ahead.in_vain(),
        }
        // The stamp is taken before the entries are read, so that a change meanwhile makes them old.
        cursor.stamp = self.open.changes.stamp();
        cursor.returned += cursor.next as u64;
        cursor.next = 0;
        let mut fetched = std::mem::take(&mut cursor.fetched);
        // Another thread may still be making an object from one of the entries.
        if Arc::get_mut(&mut fetched).is_none() {
            fetched = Arc::default();
        }
        if let Some(room) = Arc::get_mut(&mut fetched) {
            let (open, most) = (&self.open, cursor.ahead.most());
            room.fetch(py, open, self.part, &cursor.bounds, self.upwards, most)?;
        }
        cursor.fetched = fetched;
        Ok(())
    }
}

#[pymethods]
impl Entries {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.map)
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut next = self.step(py, false).map_err(failure)?;
        if matches!(next, Step::Fetch) {
            // `list(map)` looks for no signals itself. A handler may run any Python code, so none runs under the lock.
            py.check_signals()?;
            next = self.step(py, true).map_err(failure)?;
        }
        let Step::Entry(fetched, index) = next else { return Ok(None) };
        let Some((key, value)) = fetched.entry(index) else { return Ok(None) };
        let OpenMap { key: keys, value: values, .. } = &*self.open;
        Ok(Some(match self.part {
            Part::Keys => keys.decode(py, key)?,
            Part::Values => values.decode(py, value)?,
            Part::Items => {
                PyTuple::new(py, [keys.decode(py, key)?, values.decode(py, value)?])?.into_any()
            }
        }))
    }
}
