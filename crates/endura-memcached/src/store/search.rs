//! What a store does that finds no room.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use endura::{Error, Result};

use super::evictions::{Evictions, PIECE, lock};
use super::hand::{Done, Fate, Met};
use super::items::Store;
use super::levels::{Levels, Room};
use super::windows::{clear_one, window_bytes};
use crate::clock::now;
use crate::eviction::Sample;

/// The bytes of records of the same size that a store evicts, of which it needs one.
const AT_ONCE: u64 = 64 << 10;
/// The pieces in which a store looks for items of its size.
const LOOKS: u32 = 8;
/// The fewest items of its size that a piece must have, as far as is known, for a store to look for them.
const FEWEST: f64 = 2.0;
/// The longest that a store looks for room.
const PATIENCE: Duration = Duration::from_secs(10);

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
        clear_window(store, evictions, record, &mut self.tried)
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

/// Clears a window for a record of so many bytes, unless another store clears one meanwhile.
fn clear_window(
    store: &Store,
    evictions: &Evictions,
    record: u64,
    tried: &mut BTreeSet<u64>,
) -> Result<()> {
    // Relaxed, because the lock orders the numbers.
    let before = evictions.cleared.load(Ordering::Relaxed);
    let _windows = lock(&evictions.windows);
    if evictions.cleared.load(Ordering::Relaxed) != before {
        return Ok(());
    }
    let size = window_bytes(&Levels::of(&store.pool().stats()?), record);
    if clear_one(store, evictions, size, tried)?.is_none() {
        // What was freed in one window may have been taken by other stores meanwhile.
        tried.clear();
    }
    evictions.cleared.fetch_add(1, Ordering::Relaxed);
    Ok(())
}
