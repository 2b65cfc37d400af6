//! What all connections of a thread share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::store::{Counter, Counters, Store};

/// What is known of the server, by all threads.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) store: Arc<Store>,
    /// Of each thread that counts.
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

    /// Connections that are open.
    pub(super) fn open(&self) -> usize {
        // Relaxed: a figure.
        self.connections.load(Ordering::Relaxed)
    }
}

/// What one thread has.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) facts: Arc<Facts>,
    pub(crate) counters: Arc<Counters>,
    /// Seconds since 1970, when the thread was last woken.
    pub(crate) now: u32,
}

impl Context {
    pub(super) fn store(&self) -> &Store {
        &self.facts.store
    }

    pub(super) fn count(&self, counter: Counter) {
        self.counters.count(counter);
    }
}
