//! The value that Redis holds for a key: the number of the key, under which its entries are in the pool.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use endura::Map;

use super::record::Form;

/// The value of a key in Redis, which takes about 100 bytes. The entries are in the pool.
#[derive(Debug)]
pub(crate) struct Value {
    /// The number of the key, which precedes each of its fields. 0 for an empty key that stands in for a map of a file.
    pub(crate) id: u64,
    pub(crate) form: Form,
    /// The key's own map, if it has one.
    pub(crate) own: Option<Map<i64, i64>>,
    pub(crate) count: Count,
}

/// The number of entries of a key.
///
/// The pool does not store this number, because that would be a second write for each entry. For a key that this
/// session has created, the number is known. For other keys it is unknown until a client asks: then a walk counts the
/// entries, a thousand at a time, while commands continue. A command that adds or removes an entry which the walk has
/// passed corrects the count.
#[derive(Debug)]
pub(crate) struct Count {
    /// Negative: unknown.
    known: AtomicI64,
    walk: Mutex<Walk>,
    /// Whether the thread on which commands run waits for the walk. No other thread makes a step before that thread has
    /// had its turn.
    is_wanted: AtomicBool,
}

/// How far a walk has come.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// The last field that was counted; `None` if no walk has started.
    pub(crate) behind: Option<Vec<u8>>,
    pub(crate) counted: i64,
}

impl Count {
    pub(crate) fn of(entries: i64) -> Self {
        let (known, is_wanted) = (AtomicI64::new(entries), AtomicBool::new(false));
        Self { known, walk: Mutex::default(), is_wanted }
    }

    pub(crate) fn unknown() -> Self {
        Self::of(-1)
    }

    /// Relaxed: this is only a number. A walk stores it under the lock of the walk; after that only commands change it,
    /// which run on one thread.
    pub(crate) fn known(&self) -> Option<i64> {
        Some(self.known.load(Ordering::Relaxed)).filter(|&entries| entries >= 0)
    }

    /// Runs `change`, which adds or removes fields, and adds to the count what it returns: these fields, each with the
    /// difference in the number of entries.
    pub(crate) fn changing<'f, R, E, C>(
        &self,
        change: impl FnOnce() -> Result<(R, C), E>,
    ) -> Result<R, E>
    where
        C: IntoIterator<Item = (&'f [u8], i64)>,
    {
        if self.known().is_some() {
            let (result, changes) = change()?;
            self.known.fetch_add(changes.into_iter().map(|(_, by)| by).sum(), Ordering::Relaxed);
            return Ok(result);
        }
        // The lock puts this change between two steps of a walk, so the walk has either passed a field or will come to
        // it.
        let mut walk = self.walk();
        let (result, changes) = change()?;
        for (field, by) in changes {
            if walk.behind.as_deref().is_some_and(|behind| field <= behind) {
                walk.counted += by;
            } else if self.known().is_some() {
                self.known.fetch_add(by, Ordering::Relaxed);
            }
        }
        Ok(result)
    }

    /// Locks the walk for the thread on which commands run, after the step in progress. `is_wanted` holds other threads
    /// back, which would otherwise take the lock again before this one wakes up.
    pub(crate) fn walk(&self) -> MutexGuard<'_, Walk> {
        // Relaxed: a hint; the lock orders what it guards.
        self.is_wanted.store(true, Ordering::Relaxed);
        let walk = self.walk.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_wanted.store(false, Ordering::Relaxed);
        walk
    }

    /// Locks the walk for the next step of another thread.
    pub(crate) fn next_step(&self) -> MutexGuard<'_, Walk> {
        while self.is_wanted.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        self.walk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the walk: all entries are counted.
    pub(crate) fn finish(&self, walk: &mut Walk) -> i64 {
        let counted = walk.counted;
        *walk = Walk::default();
        self.known.store(counted, Ordering::Relaxed);
        counted
    }
}
