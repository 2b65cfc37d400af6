//! The state of evictions, and what a store does that finds no room.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use endura::{Error, Result};

use super::hand::{Done, Fate, Hand, Met};
use super::items::Store;
use super::levels::{Levels, Room};
use super::windows::{clear_one, window_bytes};
use crate::clock::now;
use crate::eviction::{Fetches, Sample};

/// The items that the hand meets at a time. Then another thread may have the hand, and chunks that were freed meanwhile can be
/// reused.
pub(super) const PIECE: usize = 256;
/// The bytes of records of the same size that a store evicts, of which it needs one.
const AT_ONCE: u64 = 64 << 10;
/// The pieces in which a store looks for items of its size.
const LOOKS: u32 = 8;
/// The fewest items of its size that a piece must have, as far as is known, for a store to look for them.
const FEWEST: f64 = 2.0;
/// The longest that a store looks for room.
const PATIENCE: Duration = Duration::from_secs(10);

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
    windows: Mutex<()>,
    cleared: AtomicU64,
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

    /// Clears a window for a record of so many bytes, unless another store clears one meanwhile.
    fn clear_window(&self, store: &Store, record: u64, tried: &mut BTreeSet<u64>) -> Result<()> {
        // Relaxed, because the lock orders the numbers.
        let before = self.cleared.load(Ordering::Relaxed);
        let _windows = lock(&self.windows);
        if self.cleared.load(Ordering::Relaxed) != before {
            return Ok(());
        }
        let size = window_bytes(&Levels::of(&store.pool().stats()?), record);
        if clear_one(store, self, size, tried)?.is_none() {
            // What was freed in one window may have been taken by other stores meanwhile.
            tried.clear();
        }
        self.cleared.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// A panic ends the process, so a lock that one has poisoned is not met.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A store that finds no room.
#[derive(Debug, Default)]
pub(super) struct Search {
    looks: u32,
    since: Option<Instant>,
    /// The windows that were cleared for it.
    tried: BTreeSet<u64>,
}

impl Search {
    /// Makes room for a record of so many bytes after the pool was found full, or returns the error: first it evicts items of
    /// the same size, which gives room at once, then it clears windows.
    pub(super) fn go_on(&mut self, store: &Store, record: u64, full: Error) -> Result<()> {
        let is_full = matches!(full, Error::Full { .. } | Error::ReclaimStalled { .. });
        let Some(evictions) = store.evictions().filter(|_| is_full) else { return Err(full) };
        while self.looks < LOOKS {
            self.looks += 1;
            if look(store, evictions, record)? {
                return Ok(());
            }
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() > PATIENCE || store.count()? == 0 {
            return Err(full);
        }
        evictions.clear_window(store, record, &mut self.tried)
    }
}

/// Looks for items whose room a record can have, and which are worth less than most, and evicts some. Returns whether it has.
fn look(store: &Store, evictions: &Evictions, record: u64) -> Result<bool> {
    let levels = Levels::of(&store.pool().stats()?);
    let room = levels.room(record);
    let fits = |other: u64| match room {
        Room::Alone => levels.room(other) == Room::Alone && other >= record,
        of_size => levels.room(other) == of_size,
    };
    let mut hand = evictions.hand();
    if hand.sample.share_of(fits) * (PIECE as f64) < FEWEST {
        return Ok(false);
    }
    let mut gone = 0;
    let decide = |sample: &Sample, met: Met| {
        if gone < AT_ONCE.max(record) && fits(met.record) && met.worth < sample.below(0.5) {
            gone += met.record;
            return Fate::Goes;
        }
        Fate::Stays
    };
    let Done { gone, .. } = hand.step(store, evictions, (PIECE, now()), decide)?;
    Ok(gone > 0)
}
