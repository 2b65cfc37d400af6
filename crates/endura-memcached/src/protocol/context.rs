//! The state that the connections of a thread share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::clock::now;
use crate::store::{Counter, Counters, Store};

/// The state of the server that all threads share.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) store: Arc<Store>,
    /// The counters of each thread.
    pub(crate) counters: Vec<Arc<Counters>>,
    pub(crate) connections: AtomicUsize,
    pub(crate) max_connections: usize,
    pub(crate) threads: usize,
    pub(crate) since: Instant,
}

impl Facts {
    /// The sum of a counter over all threads.
    pub(super) fn sum(&self, counter: Counter) -> u64 {
        self.counters.iter().map(|counters| counters.get(counter)).sum()
    }

    /// Sets all counters to 0.
    pub(super) fn reset(&self) {
        self.counters.iter().for_each(|counters| counters.reset());
    }

    /// The number of connections that are open.
    pub(super) fn open(&self) -> usize {
        // Relaxed, because the number is only a figure.
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
    /// Reads the clock, and carries out a planned flush that is due, before the next command.
    pub(crate) fn wake(&mut self) {
        self.now = now();
        // If the pool fails, the commands fail too, and their replies say why.
        let _ = self.store().flush_if_due(self.now);
    }

    pub(super) fn store(&self) -> &Store {
        &self.facts.store
    }

    pub(super) fn count(&self, counter: Counter) {
        self.counters.count(counter);
    }
}
