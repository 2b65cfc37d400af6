//! What the connections of a thread share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::clock::now;
use crate::store::{Counter, Counters, Store};

/// What all threads know of the server.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) store: Arc<Store>,
    /// Those of each thread that counts.
    pub(crate) counters: Vec<Arc<Counters>>,
    pub(crate) connections: AtomicUsize,
    pub(crate) max_connections: usize,
    pub(crate) threads: usize,
    pub(crate) since: Instant,
}

impl Facts {
    /// What all threads have counted.
    pub(super) fn sum(&self, counter: Counter) -> u64 {
        self.counters.iter().map(|counters| counters.get(counter)).sum()
    }

    /// Sets all counters to 0.
    pub(super) fn reset(&self) {
        self.counters.iter().for_each(|counters| counters.reset());
    }

    /// Connections that are open.
    pub(super) fn open(&self) -> usize {
        // Relaxed, because it is a figure.
        self.connections.load(Ordering::Relaxed)
    }
}

/// The state of one thread.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) facts: Arc<Facts>,
    pub(crate) counters: Arc<Counters>,
    /// Seconds since 1970 when the thread was last woken.
    pub(crate) now: u32,
}

impl Context {
    /// Looks at the clock. A planned flush that is due comes before the next command.
    pub(crate) fn wake(&mut self) {
        self.now = now();
        // Where the pool fails, the commands fail too and tell their clients.
        let _ = self.store().flush_if_due(self.now);
    }

    pub(super) fn store(&self) -> &Store {
        &self.facts.store
    }

    pub(super) fn count(&self, counter: Counter) {
        self.counters.count(counter);
    }
}
