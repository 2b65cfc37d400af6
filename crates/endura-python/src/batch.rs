//! The parts of a batch, and a run of a transaction. `python/endura/_batch.py` has the classes that programs see.

use std::sync::{Arc, Mutex, PoisonError};

use endura::Transaction;
use pyo3::prelude::*;

use crate::error::failure;
use crate::map::{Map, OpenMap};

/// What is done to a map that a commit has changed.
fn note(maps: &[Arc<OpenMap>]) {
    maps.iter().for_each(|map| map.changes.note());
}

fn remember(maps: &mut Vec<Arc<OpenMap>>, map: &Arc<OpenMap>) {
    if !maps.iter().any(|other| Arc::ptr_eq(other, map)) {
        maps.push(Arc::clone(map));
    }
}

/// Changes of maps, until they are committed.
struct Listed {
    batch: endura::Batch,
    maps: Vec<Arc<OpenMap>>,
}

/// The parts of a batch.
#[pyclass(frozen, module = "endura._endura")]
pub(crate) struct Parts(Mutex<Listed>);

impl Parts {
    pub(crate) fn of(pool: &endura::Pool) -> Self {
        Self(Mutex::new(Listed { batch: pool.batch(), maps: Vec::new() }))
    }

    /// Python does not run under the lock.
    fn with<R>(&self, change: impl FnOnce(&mut Listed) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl Parts {
    fn put(&self, map: &Map, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let open = map.open();
        let key = open.key.encode(key)?.constant();
        let value = open.value.encode(value)?;
        self.with(|Listed { batch, maps }| {
            remember(maps, open);
            batch.put_encoded(&open.map, &key, &value).map(drop)
        })
        .map_err(failure)
    }

    fn delete(&self, map: &Map, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let open = map.open();
        let key = open.key.encode(key)?;
        self.with(|Listed { batch, maps }| {
            remember(maps, open);
            batch.delete_encoded(&open.map, &key).map(drop)
        })
        .map_err(failure)
    }

    fn expect(&self, map: &Map, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let open = map.open();
        let key = open.key.encode(key)?.constant();
        let value = open.encoding(value)?;
        self.with(|Listed { batch, .. }| {
            batch.expect_encoded(&open.map, &key, value.as_deref()).map(drop)
        })
        .map_err(failure)
    }

    fn clear(&self) {
        self.with(|Listed { batch, maps }| {
            batch.clear();
            maps.clear();
        });
    }

    fn __len__(&self) -> usize {
        self.with(|listed| listed.batch.len())
    }

    /// Makes all changes at once, while other threads run Python.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            self.with(|Listed { batch, maps }| {
                batch.commit()?;
                note(maps);
                maps.clear();
                Ok(())
            })
        })
        .map_err(failure)
    }
}

/// A run of the function of a transaction.
#[pyclass(frozen, module = "endura._endura")]
pub(crate) struct Run(Mutex<Option<Running>>);

struct Running {
    transaction: Transaction<'static>,
    maps: Vec<Arc<OpenMap>>,
}

impl Run {
    pub(crate) fn begin(pool: &endura::Pool, runs: u32) -> Self {
        let transaction = Transaction::begin(pool, runs);
        Self(Mutex::new(Some(Running { transaction, maps: Vec::new() })))
    }

    /// Ends the run. Python does not run under the lock.
    fn end(&self) -> Option<Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn with<R>(&self, change: impl FnOnce(&mut Running) -> endura::Result<R>) -> PyResult<R> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(running) => change(running).map_err(failure),
            None => Err(pyo3::exceptions::PyRuntimeError::new_err(
                "the function of this transaction has returned: use what `transact` passes to it there only",
            )),
        }
    }

    /// Commits the run, with the result of its function. `None` if another thread has changed what it has read.
    pub(crate) fn finish<'py>(
        &self,
        py: Python<'py>,
        returned: PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(Running { transaction, maps }) = self.end() else { return returned.map(Some) };
        if transaction.is_lost() {
            return Ok(None);
        }
        let result = returned?;
        let is_made = py.detach(|| transaction.finish()).map_err(failure)?;
        if is_made {
            note(&maps);
        }
        Ok(is_made.then_some(result))
    }
}

#[pymethods]
impl Run {
    /// The value of a key, or `default`.
    fn get<'py>(
        &self,
        map: &Map,
        key: &Bound<'py, PyAny>,
        default: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, open) = (key.py(), map.open());
        let key = open.key.encode(key)?;
        match self.with(|running| running.transaction.get_encoded(&open.map, &key))? {
            Some(value) => open.value.decode(py, &value),
            None => Ok(default),
        }
    }

    fn put(&self, map: &Map, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let open = map.open();
        let key = open.key.encode(key)?.constant();
        let value = open.value.encode(value)?;
        self.with(|Running { transaction, maps }| {
            remember(maps, open);
            transaction.put_encoded(&open.map, &key, &value)
        })
    }

    fn delete(&self, map: &Map, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let open = map.open();
        let key = open.key.encode(key)?;
        self.with(|Running { transaction, maps }| {
            remember(maps, open);
            transaction.delete_encoded(&open.map, &key)
        })
    }
}
