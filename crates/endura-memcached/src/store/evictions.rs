//! The state of evictions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::levels::Levels;
use crate::eviction::{Fetches, Sample};

/// The items that the hand meets at a time. Then another thread may have the hand, and chunks that were freed meanwhile can be
/// reused.
pub(super) const PIECE: usize = 256;

/// Where the hand is, and what it has met on its way.
#[derive(Debug, Default)]
pub(super) struct Hand {
    pub(super) behind: Option<Vec<u8>>,
    pub(super) sample: Sample,
}

/// The state of evictions.
#[derive(Debug)]
pub(super) struct Evictions {
    pub(super) fetches: Fetches,
    hand: Mutex<Hand>,
    /// Bytes that were stored since the start.
    stored: AtomicU64,
    /// After so many bytes the thread that evicts looks at the levels again.
    each: u64,
    /// Held by the store that clears a window, and how many were cleared.
    pub(super) windows: Mutex<()>,
    pub(super) cleared: AtomicU64,
    /// Whether the thread that evicts is called.
    is_called: Mutex<bool>,
    call: Condvar,
    chances: AtomicU64,
}

impl Evictions {
    /// Those of a pool of at most `most` bytes.
    pub(super) fn new(most: u64) -> Self {
        Self {
            fetches: Fetches::default(),
            hand: Mutex::default(),
            stored: AtomicU64::new(0),
            each: Levels::marks(most).0 / 4,
            windows: Mutex::default(),
            cleared: AtomicU64::new(0),
            is_called: Mutex::default(),
            call: Condvar::new(),
            chances: AtomicU64::new(0),
        }
    }

    /// A number from 0 to 1, each about as often as each other.
    pub(super) fn chance(&self) -> f64 {
        // Multiples of the golden ratio are spread evenly. Relaxed, because they order nothing.
        let number = self.chances.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        (number >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Counts what is stored, and wakes the thread that evicts from time to time.
    pub(super) fn count_stored(&self, record: u64) {
        // Relaxed here and below, because the count only says when to look.
        let before = self.stored.fetch_add(record, Ordering::Relaxed);
        if before / self.each != before.wrapping_add(record) / self.each {
            self.call();
        }
    }

    /// The bytes that were stored since the start.
    pub(super) fn stored(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    /// Wakes the thread that evicts.
    pub(super) fn call(&self) {
        *lock(&self.is_called) = true;
        self.call.notify_one();
    }

    /// Waits until there is something to do, or the time is over.
    pub(super) fn wait_for_call(&self, time: Duration) {
        let is_called = lock(&self.is_called);
        let waited = self.call.wait_timeout_while(is_called, time, |is_called| !*is_called);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }

    /// The hand, for one step.
    pub(super) fn hand(&self) -> MutexGuard<'_, Hand> {
        lock(&self.hand)
    }
}

/// A panic ends the process, so a lock that one has poisoned is not met.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
