//! `flush_all`. Each item has the epoch in which it was stored, and is alive only in that epoch. A flush starts the next
//! epoch with one 8-byte store; the sweep removes the dead items later.
//!
//! A command reads the item first and the epoch second, and gives a new item the epoch that it has read. A flush in
//! between kills the new item as well: the command then came before the flush.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use endura::{Error, Map, Result};

/// The key of the epoch (upper half) and the time of a flush to come (lower half, 0 for none). Both are in one word, so
/// that a kill cannot separate a flush from the removal of its plan.
const FLUSH: u64 = 1;

/// The epoch, and the flush to come.
#[derive(Debug)]
pub(super) struct Flushes {
    epoch: AtomicU32,
    planned: AtomicU32,
    /// Held by the thread that changes the entry, so that a planned flush happens once.
    facts: Mutex<Map<u64, u64>>,
}

impl Flushes {
    pub(super) fn open(facts: Map<u64, u64>) -> Result<Self> {
        let found = facts.get(FLUSH)?.unwrap_or(0);
        // From now on the entry exists, and can be changed in place even in a full pool.
        facts.put(FLUSH, found)?;
        let [epoch, planned] = [found >> 32, found].map(|half| AtomicU32::new(half as u32));
        Ok(Self { epoch, planned, facts: Mutex::new(facts) })
    }

    /// The epoch of items that are alive.
    pub(super) fn epoch(&self) -> u32 {
        // Acquire pairs with the Release in `commit`: an epoch that a thread sees is in the pool, also after a kill.
        self.epoch.load(Ordering::Acquire)
    }

    /// Kills all items, and forgets a flush to come.
    pub(super) fn flush(&self) -> Result<()> {
        self.commit(&self.lock())
    }

    /// Plans a flush in place of an earlier plan.
    pub(super) fn plan(&self, at: u32) -> Result<()> {
        let facts = self.lock();
        facts.put(FLUSH, word(self.epoch(), at))?;
        // Relaxed, because other threads need not see the plan at once.
        self.planned.store(at, Ordering::Relaxed);
        Ok(())
    }

    /// Flushes if a planned flush is due.
    pub(super) fn flush_if_due(&self, now: u32) -> Result<()> {
        if !self.is_due(now) {
            return Ok(());
        }
        let facts = self.lock();
        // Another thread may have flushed meanwhile. A second flush would kill what was stored after the first.
        if self.is_due(now) { self.commit(&facts) } else { Ok(()) }
    }

    fn is_due(&self, now: u32) -> bool {
        // Relaxed: a caller that finds a flush due looks again under the lock, and that look decides.
        let planned = self.planned.load(Ordering::Relaxed);
        planned != 0 && planned <= now
    }

    fn lock(&self) -> MutexGuard<'_, Map<u64, u64>> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn commit(&self, facts: &Map<u64, u64>) -> Result<()> {
        let next = self.epoch().checked_add(1).ok_or(Error::Unsupported {
            what: "a pool takes 4,294,967,295 flushes; make a new one",
        })?;
        facts.put(FLUSH, word(next, 0))?;
        self.epoch.store(next, Ordering::Release);
        // Relaxed, because the lock orders this store.
        self.planned.store(0, Ordering::Relaxed);
        Ok(())
    }
}

fn word(epoch: u32, planned: u32) -> u64 {
    u64::from(epoch) << 32 | u64::from(planned)
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Threads that find a planned flush due at the same time flush once. A second flush would kill what was stored after
    /// the first.
    #[test]
    fn a_planned_flush_happens_once() {
        let folder = tempfile::tempdir().unwrap();
        let pool = endura::Pool::open(folder.path().join("pool")).unwrap();
        let flushes = Flushes::open(pool.map("facts").unwrap()).unwrap();
        flushes.plan(10).unwrap();
        flushes.flush_if_due(9).unwrap();
        assert_eq!(flushes.epoch(), 0);
        thread::scope(|scope| {
            let held = flushes.lock();
            for _ in 0..3 {
                scope.spawn(|| flushes.flush_if_due(10).unwrap());
            }
            // All of them have found it due, and wait.
            thread::sleep(Duration::from_millis(100));
            drop(held);
        });
        assert_eq!(flushes.epoch(), 1);
        let again = Flushes::open(pool.map("facts").unwrap()).unwrap();
        assert!(again.epoch() == 1 && !again.is_due(u32::MAX));
    }

    #[test]
    fn the_last_epoch_stays() {
        let folder = tempfile::tempdir().unwrap();
        let pool = endura::Pool::open(folder.path().join("pool")).unwrap();
        let facts = pool.map::<u64, u64>("facts").unwrap();
        facts.put(FLUSH, word(u32::MAX - 1, 0)).unwrap();
        let flushes = Flushes::open(facts).unwrap();
        flushes.flush().unwrap();
        flushes.flush().unwrap_err();
        assert_eq!(flushes.epoch(), u32::MAX);
    }
}
