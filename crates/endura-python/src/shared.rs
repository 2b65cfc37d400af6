//! The state that the objects of one pool share: the pool, and how often each of its maps was written.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The number of forks between the first process of the program and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static WRITES: Cell<u64> = const { Cell::new(0) };
}

/// How often this thread has written to any map.
pub(crate) fn writes_of_this_thread() -> u64 {
    WRITES.get()
}

/// How often a map was written through objects of this process.
///
/// An iterator fetches entries ahead. Before it returns one of them, it compares this number, so that a program sees
/// what it has written itself, as with a `dict`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes(Arc<AtomicU64>);

impl Changes {
    /// To be called after a write. Relaxed: if another thread has learned of the write by other means, those means also
    /// make the new number visible to it.
    #[inline]
    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        WRITES.set(WRITES.get().wrapping_add(1));
    }

    /// The number, for use before entries are fetched, and before one of them is returned.
    #[inline]
    pub(crate) fn stamp(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A pool, and the changes of its maps by name.
pub(crate) struct Shared {
    pub(crate) pool: endura::Pool,
    maps: Mutex<HashMap<String, Changes>>,
    is_closed: AtomicBool,
    /// Why the last checkpoint before the close could not be made: see [`failure`](Self::failure).
    last_failure: Mutex<Option<String>>,
    process: Process,
}

impl Shared {
    pub(crate) fn new(pool: endura::Pool) -> Self {
        let (is_closed, process) = (AtomicBool::new(false), Process::this());
        Self { pool, maps: Mutex::default(), is_closed, last_failure: Mutex::default(), process }
    }

    /// Why the last checkpoint that failed could not be made. A closed pool does not tell, so that a close keeps it here:
    /// what happened before is logged by another thread, perhaps after the close.
    pub(crate) fn failure(&self) -> Option<String> {
        let known = self.pool.stats();
        let mut kept = self.last_failure.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(stats) = known {
            *kept = stats.checkpoints.and_then(|made| made.last_failure).map(|last| last.reason);
        }
        kept.clone()
    }

    /// Whether the pool was closed through one of its objects.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Whether this process has opened the pool. A forked child has not.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.process == Process::this()
    }

    fn with<R>(&self, use_maps: impl FnOnce(&mut HashMap<String, Changes>) -> R) -> R {
        // Nothing panics under the lock, and Python does not run under it.
        use_maps(&mut self.maps.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn changes(&self, name: &str) -> Changes {
        self.with(|maps| maps.entry(name.to_owned()).or_default().clone())
    }

    pub(crate) fn renamed(&self, from: &str, to: &str) {
        self.with(|maps| {
            if let Some(changes) = maps.remove(from) {
                maps.insert(to.to_owned(), changes);
            }
        });
    }

    pub(crate) fn dropped(&self, name: &str) {
        if let Some(changes) = self.with(|maps| maps.remove(name)) {
            changes.note();
        }
    }

    pub(crate) fn closed(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.with(|maps| maps.values().for_each(Changes::note));
    }
}

/// Called in the child of a fork.
pub(crate) fn note_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The identity of a process, which differs from that of its parent and of its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process(u64);

impl Process {
    #[inline]
    pub(crate) fn this() -> Self {
        Self(FORKS.load(Ordering::Relaxed))
    }
}
