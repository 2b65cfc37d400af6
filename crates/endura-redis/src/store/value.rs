//! What Redis holds of a key: the number of its entries.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use endura::Map;

use super::record::Form;

/// A map, as a key of Redis holds it: 100 bytes or so. Its entries are in the pool.
#[derive(Debug)]
pub(crate) struct Value {
    /// The number of the key, in front of each of its fields. 0 for a value of a file that is not taken over.
    pub(crate) id: u64,
    pub(crate) form: Form,
    /// The map of its own, if it has one.
    pub(crate) own: Option<Map<i64, i64>>,
    pub(crate) count: Count,
}

/// How many entries a key has.
///
/// The pool does not keep it, for that would be a second write for each entry. It is known of a key that this session
/// made. Of others it is unknown until a client asks: then a walk counts, a thousand entries at a time, while commands go
/// on; what they add or remove behind the walk is added to what it has counted.
#[derive(Debug)]
pub(crate) struct Count {
    /// Negative: unknown.
    known: AtomicI64,
    walk: Mutex<Walk>,
    /// Whether the thread on which commands run waits for the walk: nobody takes the next step before it had its turn.
    is_wanted: AtomicBool,
}

/// How far a walk has come.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// The last field that was counted; `None` if no walk is under way.
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

    /// Relaxed: the commands that write it run on one thread, and what another reads of it is a number.
    pub(crate) fn known(&self) -> Option<i64> {
        Some(self.known.load(Ordering::Relaxed)).filter(|&entries| entries >= 0)
    }

    /// Runs `change`, which says by how much it changed whether `field` is there, and counts that.
    pub(crate) fn changing<R, E>(
        &self,
        field: &[u8],
        change: impl FnOnce() -> Result<(R, i64), E>,
    ) -> Result<R, E> {
        if self.known().is_some() {
            let (result, by) = change()?;
            self.known.fetch_add(by, Ordering::Relaxed);
            return Ok(result);
        }
        // Between two steps of a walk: each entry is then either behind it or ahead of it.
        let mut walk = self.walk();
        let (result, by) = change()?;
        if walk.behind.as_deref().is_some_and(|behind| field <= behind) {
            walk.counted += by;
        } else if self.known().is_some() {
            self.known.fetch_add(by, Ordering::Relaxed);
        }
        Ok(result)
    }

    /// The turn of the thread on which commands run: it waits for the step that is under way. Without a word to those who
    /// walk they would have the lock again before it wakes up.
    pub(crate) fn walk(&self) -> MutexGuard<'_, Walk> {
        // Relaxed: a hint; the lock orders what it guards.
        self.is_wanted.store(true, Ordering::Relaxed);
        let walk = self.walk.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_wanted.store(false, Ordering::Relaxed);
        walk
    }

    /// The turn of another thread.
    pub(crate) fn next_step(&self) -> MutexGuard<'_, Walk> {
        while self.is_wanted.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        self.walk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The walk is over: all entries are counted.
    pub(crate) fn finish(&self, walk: &mut Walk) -> i64 {
        let counted = walk.counted;
        *walk = Walk::default();
        self.known.store(counted, Ordering::Relaxed);
        counted
    }
}
