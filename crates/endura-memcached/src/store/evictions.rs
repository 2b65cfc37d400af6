//! The state of evictions, and what a store does that finds no room.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use endura::{Error, Result};

use super::hand::{Done, Fate, Hand, Met};
use super::items::Store;
use super::levels::{Levels, Room};
use crate::clock::now;
use crate::eviction::{Fetches, Sample};

/// The items that the hand meets at a time. Then another thread may have the hand.
pub(super) const PIECE: usize = 1_000;
/// The bytes of records of the same size that a store evicts, of which it needs one.
const AT_ONCE: u64 = 64 << 10;
/// The pieces in which a store looks for items of its size.
const LOOKS: u32 = 8;
/// How many times windows are cleared for a store, before all items go that the hand meets.
const TRIES: u64 = 6;
/// The longest that a store waits for the thread that evicts.
const PATIENCE: Duration = Duration::from_secs(20);
const WAIT: Duration = Duration::from_millis(50);

/// The state of evictions.
#[derive(Debug)]
pub(super) struct Evictions {
    pub(super) fetches: Fetches,
    pub(super) hand: Mutex<Hand>,
    /// Bytes that were stored since the thread that evicts has looked at the levels.
    stored: AtomicU64,
    /// After so many bytes it looks again.
    each: u64,
    /// The bytes of the largest record for which a store waits.
    pub(super) wanted: AtomicU64,
    /// How many times windows were cleared.
    pub(super) cleared: AtomicU64,
    /// Whether a store waits for which this was often in vain.
    pub(super) takes_all: AtomicBool,
    calls: Calls,
    chances: AtomicU64,
}

/// Wakes the thread that evicts, and the stores that wait for it.
#[derive(Debug, Default)]
struct Calls {
    is_called: AtomicBool,
    turns: Mutex<u64>,
    call: Condvar,
    turn: Condvar,
}

impl Evictions {
    /// Those of a pool of at most `most` bytes.
    pub(super) fn new(most: u64) -> Self {
        Self {
            fetches: Fetches::default(),
            hand: Mutex::default(),
            stored: AtomicU64::new(0),
            each: Levels::marks(most).0 / 4,
            wanted: AtomicU64::new(0),
            cleared: AtomicU64::new(0),
            takes_all: AtomicBool::new(false),
            calls: Calls::default(),
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
        // Relaxed, because the count only says when to look.
        let before = self.stored.fetch_add(record, Ordering::Relaxed);
        if before < self.each && before + record >= self.each {
            self.call();
        }
    }

    /// Wakes the thread that evicts.
    pub(super) fn call(&self) {
        if !self.calls.is_called.swap(true, Ordering::AcqRel) {
            let _turns = self.turns();
            self.calls.call.notify_one();
        }
    }

    /// Waits until there is something to do, or the time is over.
    pub(super) fn wait_for_call(&self, time: Duration) {
        let turns = self.turns();
        let is_idle = |_: &mut u64| !self.calls.is_called.load(Ordering::Acquire);
        // A lock that a panic has poisoned protects a number only.
        let _waited = self.calls.call.wait_timeout_while(turns, time, is_idle);
        self.calls.is_called.store(false, Ordering::Release);
        self.stored.store(0, Ordering::Relaxed);
    }

    /// Tells the stores that wait that the thread has done something.
    pub(super) fn end_turn(&self) {
        *self.turns() += 1;
        self.calls.turn.notify_all();
    }

    fn wait_for_turn(&self) {
        let turns = self.turns();
        let seen = *turns;
        let _waited = self.calls.turn.wait_timeout_while(turns, WAIT, |turns| *turns == seen);
    }

    fn turns(&self) -> MutexGuard<'_, u64> {
        self.calls.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hand, for one step.
    pub(super) fn hand(&self) -> MutexGuard<'_, Hand> {
        self.hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store that finds no room.
#[derive(Debug, Default)]
pub(super) struct Search {
    looks: u32,
    /// When it began to wait, and how often windows had been cleared before.
    since: Option<(Instant, u64)>,
}

impl Search {
    /// Makes room for a record of so many bytes after the pool was found full, or returns the error: first it evicts items of
    /// the same size, which gives room at once, then it waits for the thread that evicts.
    pub(super) fn go_on(&mut self, store: &Store, record: u64, full: Error) -> Result<()> {
        let is_full = matches!(full, Error::Full { .. } | Error::ReclaimStalled { .. });
        let Some(evictions) = store.evictions().filter(|_| is_full) else { return Err(full) };
        while self.looks < LOOKS {
            self.looks += 1;
            if look(store, evictions, record)? {
                return Ok(());
            }
        }
        // Relaxed here and below, because a store that has seen an old number waits once more.
        let cleared = evictions.cleared.load(Ordering::Relaxed);
        let (since, before) = *self.since.get_or_insert_with(|| (Instant::now(), cleared));
        if since.elapsed() > PATIENCE || store.count()? == 0 {
            return Err(full);
        }
        if cleared - before >= TRIES {
            evictions.takes_all.store(true, Ordering::Relaxed);
        }
        evictions.wanted.fetch_max(record, Ordering::Relaxed);
        evictions.call();
        evictions.wait_for_turn();
        Ok(())
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
    let mut gone = 0;
    let decide = |sample: &Sample, met: Met| {
        if gone < AT_ONCE.max(record) && fits(met.record) && met.worth < sample.below(0.5) {
            gone += met.record;
            return Fate::Goes;
        }
        Fate::Stays
    };
    let Done { gone, .. } = evictions.hand().step(store, evictions, (PIECE, now()), decide)?;
    Ok(!gone.is_empty())
}
