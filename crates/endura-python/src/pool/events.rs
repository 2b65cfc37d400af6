//! The events of a pool as records of `logging`, in the logger `endura`.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use endura::{Event, LeakRecoveryState};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::call::call;
use crate::error::in_python;
use crate::shared::Shared;

static LOG: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The levels of `logging`.
const DEBUG: u8 = 10;
const INFO: u8 = 20;
const WARNING: u8 = 30;
const ERROR: u8 = 40;

/// From this time on, it is a warning that writers had to wait.
const LONG_HELD: Duration = Duration::from_secs(1);

/// The number of threads that log, or are about to.
static LOGGING: AtomicUsize = AtomicUsize::new(0);
/// Whether the interpreter is about to end.
static IS_ENDED: AtomicBool = AtomicBool::new(false);
/// The longest time that the end of the interpreter waits for a thread that logs. A handler of `logging` may block.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The pool, once it is open: it knows why a checkpoint failed.
#[derive(Clone, Default)]
pub(super) struct Known(Arc<OnceLock<Weak<Shared>>>);

impl Known {
    pub(super) fn set(&self, pool: &Arc<Shared>) {
        // The pool is set once, so this does not fail.
        let _ = self.0.set(Arc::downgrade(pool));
    }

    /// Why the last checkpoint failed, in words of Python.
    fn reason(&self) -> Option<String> {
        let shared = self.0.get().and_then(Weak::upgrade)?;
        shared.failure().map(|reason| in_python(&reason).into_owned())
    }
}

/// Logs an event. A thread of the pool calls this, so no operation waits for it.
pub(super) fn log(path: &Path, known: &Known, event: &Event) {
    // The end of the interpreter waits for this thread, so that the record is not cut off. Both accesses are `SeqCst`, and
    // pair with those of `end_events`: either this thread sees that the end has begun, or the end sees this thread.
    LOGGING.fetch_add(1, Ordering::SeqCst);
    if !IS_ENDED.load(Ordering::SeqCst) {
        let (level, text) = record(known, event);
        Python::try_attach(|py| {
            if let Err(error) = write(py, path, level, &text) {
                error.write_unraisable(py, None);
            }
        });
    }
    LOGGING.fetch_sub(1, Ordering::SeqCst);
}

/// Called at the end of the interpreter: from here on no event is logged.
#[pyfunction]
#[pyo3(name = "_end_events")]
pub(crate) fn end_events(py: Python<'_>) {
    IS_ENDED.store(true, Ordering::SeqCst);
    py.detach(|| {
        let begin = Instant::now();
        while LOGGING.load(Ordering::SeqCst) > 0 && begin.elapsed() < LONGEST_WAIT {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Called in the child of a fork, which has none of its parent's threads.
pub(crate) fn forget_threads() {
    LOGGING.store(0, Ordering::SeqCst);
}

/// Imports nothing: an import has the lock of its module. A fork waits for such locks while it has the interpreter's lock of
/// imports (it warns of threads, and Python 3.12 imports what shows a warning), so both would wait for each other for ever.
/// The module `endura` has imported `logging` before.
fn write(py: Python<'_>, path: &Path, level: u8, text: &str) -> PyResult<()> {
    let log = LOG.get_or_try_init(py, || {
        let import = py.import(intern!(py, "builtins"))?.getattr(intern!(py, "__import__"))?;
        let logger = call(&import, ("logging",))?.getattr(intern!(py, "getLogger"))?;
        let logger = logger.call1((intern!(py, "endura"),))?;
        Ok::<_, PyErr>(logger.getattr(intern!(py, "log"))?.unbind())
    })?;
    // As a `str`: a `Path` would import `pathlib`.
    let path = path.as_os_str();
    call(log.bind(py), (level, intern!(py, "%s: %s"), path, text)).map(drop)
}

fn record(known: &Known, event: &Event) -> (u8, String) {
    match *event {
        Event::OpenedUnclean { generation } => (
            INFO,
            format!("opened after an unclean end: no process had closed it (session {generation})"),
        ),
        Event::BatchReplayed { operations, took } => {
            (INFO, format!("batches of the last process completed: {operations} changes, {took:?}"))
        }
        Event::LeakRecoveryBegan => (DEBUG, "the search for stranded space began".to_owned()),
        Event::LeakRecoveryEnded { state: LeakRecoveryState::Failed, .. } => {
            (WARNING, "the search for stranded space was given up".to_owned())
        }
        Event::LeakRecoveryEnded { freed_bytes, .. } => {
            (DEBUG, format!("the search for stranded space ended: {freed_bytes} bytes freed"))
        }
        Event::Grew { file_bytes } => (DEBUG, format!("grew to {file_bytes} bytes")),
        Event::ReclaimStalled { waiting_bytes } => (
            WARNING,
            format!("{waiting_bytes} freed bytes wait for a thread that stays inside an operation"),
        ),
        Event::CheckpointEnded { held, written_bytes, failed_before: 0 } => {
            (DEBUG, format!("checkpoint: {written_bytes} bytes, writers held for {held:?}"))
        }
        Event::CheckpointEnded { failed_before, .. } => {
            (WARNING, format!("a checkpoint was made again, after {failed_before} failures"))
        }
        // Only the first failure is a warning, and the first success after it.
        Event::CheckpointFailed { code, in_a_row } => {
            let level = if in_a_row == 1 { WARNING } else { DEBUG };
            let reason = known.reason().unwrap_or_else(|| code.to_owned());
            (
                level,
                format!(
                    "no checkpoint could be made: {reason}. It is tried again ({in_a_row} in a row have failed): \
                     `pool.stats()['checkpoints']` has as `newest` when the last one was made"
                ),
            )
        }
        Event::CloseFailed { code } => {
            (ERROR, format!("closing failed when the last object of the pool went ({code})"))
        }
        Event::WritersHeld { held } => {
            let level = if held >= LONG_HELD { WARNING } else { DEBUG };
            (level, format!("writers waited {held:?} for a checkpoint"))
        }
        Event::CheckpointSlow { took } => (
            WARNING,
            format!(
                "a checkpoint took {took:?}, longer than the interval between two: a power loss may cost as much more"
            ),
        ),
        Event::Restored { age, written_bytes } => (
            WARNING,
            format!("taken back to the checkpoint of {age:?} ago: {written_bytes} bytes written"),
        ),
        Event::Poisoned => {
            (ERROR, "an operation failed midway: close the pool, and open it again".to_owned())
        }
        _ => (INFO, format!("{event:?}")),
    }
}
