//! The parts of a batch, and a run of a transaction. `python/endura/_batch.py` has the classes that programs see.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use endura::{Error, Transaction};
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;

use crate::call::{call, detached};
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
    /// Python does not run under the lock.
    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, running: Running) {
        *self.lock() = Some(running);
    }

    fn end(&self) -> Running {
        match self.lock().take() {
            Some(running) => running,
            None => unreachable!("a run is ended once"),
        }
    }

    fn with<R>(&self, change: impl FnOnce(&mut Running) -> endura::Result<R>) -> PyResult<R> {
        match &mut *self.lock() {
            Some(running) => change(running).map_err(failure),
            None => Err(PyRuntimeError::new_err(
                "the function of this transaction has returned: use what `transact` passes to it there only",
            )),
        }
    }
}

/// Why a transaction is not made.
enum Stop {
    Endura(Error),
    Python(PyErr),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Endura(error)
    }
}

/// What ends a program or a thread of it, such as Ctrl-C: it is raised even by a run in vain.
fn ends_program(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
}

/// Runs `run`, which gets a [`Run`], until its changes are made. Other threads run Python while it does not run.
pub(crate) fn transact<'py>(
    pool: &endura::Pool,
    run: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, run) = (run.py(), run.clone().unbind());
    let (mut changed, mut ended) = (Vec::new(), None);
    let made = detached(py, |caller| {
        pool.transact_moved(|transaction| {
            caller.attach(|py| {
                if let Some(error) = ended.take() {
                    return (transaction, Err(Stop::Python(error)));
                }
                let own = match Bound::new(py, Run(Mutex::default())) {
                    Ok(own) => own,
                    Err(error) => return (transaction, Err(Stop::Python(error))),
                };
                own.get().begin(Running { transaction, maps: Vec::new() });
                let returned = py.check_signals().and_then(|()| call(run.bind(py), (&own,)));
                let Running { transaction, maps } = own.get().end();
                changed = maps;
                if let Err(error) = &returned
                    && ends_program(py, error)
                {
                    ended = Some(error.clone_ref(py));
                }
                (transaction, returned.map(Bound::unbind).map_err(Stop::Python))
            })
        })
    });
    match made {
        Ok(result) => {
            note(&changed);
            Ok(result.into_bound(py))
        }
        Err(Stop::Endura(error)) => Err(failure(error)),
        Err(Stop::Python(error)) => Err(error),
    }
}

/// Runs `look` until everything that it reads in maps of this pool has each batch whole or not at all.
pub(crate) fn read<'py>(
    pool: &endura::Pool,
    look: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, mut seen) = (look.py(), None);
    let read = pool.read(|| {
        if !matches!(&seen, Some(Err(error)) if ends_program(py, error)) {
            seen = Some(call(look, ()));
        }
        Ok(())
    });
    read.map_err(failure)?;
    match seen {
        Some(seen) => seen,
        None => unreachable!("a read that succeeds has run"),
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
