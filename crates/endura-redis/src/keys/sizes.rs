//! The sizes of keys, which MEMORY USAGE shows.
//!
//! The pool has no count of the entries of a key, so after a start a thread counts those of all keys, one key after the
//! other. Until it comes to a key, the size of that key is estimated.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use super::session::{Session, session};
use crate::redis::{Level, log};
use crate::store::{Form, Order, Span, Value};

/// The bytes that an entry takes besides its field and value: its number, a header, its share of nodes and of free space.
/// Measured by `.ci/redis --measure`: half of the bytes of both files, per entry, less the 118 of field and value.
const ENTRY: usize = 124;

/// The smallest number of entries that is looked at before a size is estimated: smaller keys are counted at once.
const LOOKED_AT: usize = 1_000;

/// Counts the entries of keys that have just been attached, on a thread that rests half of the time.
pub(super) fn count_all(mut attached: Vec<Arc<Value>>) {
    attached.retain(|value| value.form == Form::Shared && value.count.known().is_none());
    if attached.is_empty() {
        return;
    }
    let started = thread::Builder::new().name("endura-count".into()).spawn(move || {
        // One step is enough for small keys. It comes first, so that the large ones are known as such.
        attached.retain(|value| session().makes_step(value));
        session().uncounted.large.store(attached.len() as u64, Ordering::Relaxed);
        for value in attached {
            while session().makes_step(&value) {}
            session().uncounted.large.fetch_sub(1, Ordering::Relaxed);
        }
    });
    if let Err(error) = started {
        log(Level::Warning, format!("no thread that counts entries: {error}"));
    }
}

impl Session {
    /// Counts some entries of a key, and rests. Returns whether there may be more.
    fn makes_step(&self, value: &Arc<Value>) -> bool {
        // Redis has dropped the keys that only this thread holds.
        if Arc::strong_count(value) == 1 {
            return false;
        }
        let begin = Instant::now();
        match self.store.entries.step_of_count(value) {
            Ok(None) => {
                thread::sleep(begin.elapsed());
                true
            }
            Ok(Some(entries)) => {
                self.uncounted.counted.fetch_add(entries.unsigned_abs(), Ordering::Relaxed);
                false
            }
            Err(_) => false,
        }
    }

    /// The bytes of a key in the pool: the mean of its first `samples` entries, or of all if `samples` is 0, times the
    /// number of entries.
    pub(super) fn bytes_of(&self, value: &Value, samples: usize) -> usize {
        let known = self.entries_of(value);
        let most = if samples == 0 { usize::MAX } else { samples };
        let most = if known.is_none() { most.max(LOOKED_AT) } else { most };
        let (mut seen, mut bytes, mut has_more) = (0, 0, false);
        let visit = |field: &[u8], data: &[u8]| {
            has_more = seen == most;
            if has_more {
                return ControlFlow::Break(());
            }
            seen += 1;
            bytes += ENTRY + field.len() + data.len();
            ControlFlow::Continue(())
        };
        let visited = self.store.entries.visit(value, &Span::ALL, Order::Ascending, visit);
        if visited.is_err() || !has_more {
            return bytes;
        }
        let mean = bytes / seen;
        mean * known.unwrap_or_else(|| self.estimated(mean)).max(seen)
    }

    fn entries_of(&self, value: &Value) -> Option<usize> {
        match &value.own {
            Some(own) => own.approximate_len().ok(),
            None => value.count.known().and_then(|entries| usize::try_from(entries).ok()),
        }
    }

    /// The number of entries of a large key whose entries have not been counted: its share of those that have not been
    /// counted in the pool. The library counts all entries of the pool, and until it has, the bytes in use say more.
    fn estimated(&self, mean: usize) -> usize {
        let store = &self.store;
        let in_use = store.pool.stats().map_or(0, |stats| stats.bytes_in_use as usize);
        let all = store.entries.approximate_len().unwrap_or(0).max(in_use / mean.max(1));
        let counted = self.uncounted.counted.load(Ordering::Relaxed) as usize;
        let large = self.uncounted.large.load(Ordering::Relaxed).max(1) as usize;
        all.saturating_sub(counted) / large
    }
}
