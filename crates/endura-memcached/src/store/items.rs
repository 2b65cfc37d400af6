//! The map of items.

use std::ops::{Bound, ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use endura::{Error, Kind, Map, MapOptions, Pool, PoolOptions, Result};

use super::cas::CasNumbers;
use super::counters::{Counter, Counters};
use super::evictions::Evictions;
use super::flush::Flushes;
use super::item::{HEAD, Item};
use super::seen::{Seen, Uses};
use crate::eviction::Print;

/// The most bytes of data that an item can have, whatever the options: a value of a map has at most 2^30.
pub const MAX_ITEM: usize = (1 << 30) - HEAD;

/// Where items are kept.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// How the pool is opened. Its largest size bounds the space of all items.
    pub pool: PoolOptions,
    /// The most bytes of data of an item. A larger number counts as [`MAX_ITEM`].
    pub max_item: usize,
    /// Whether a store that finds no room evicts other items. Otherwise it is refused.
    pub evicts: bool,
}

/// All items.
#[derive(Debug)]
pub(crate) struct Store {
    pool: Pool,
    pub(super) items: Map<[u8], [u8]>,
    pub(super) cas: CasNumbers,
    flushes: Flushes,
    pub(super) seen: Seen,
    max_item: usize,
    /// None if nothing is evicted.
    evictions: Option<Evictions>,
    /// The counters of what the store does by itself.
    counters: Arc<Counters>,
    /// Whether a store has found the pool full since the sweep last looked at this.
    is_short: AtomicBool,
}

impl Store {
    /// Opens the items in the pool at `path`, which is created if it does not exist.
    pub(crate) fn open(path: &Path, options: &StoreOptions, now: u32) -> Result<Self> {
        let pool = options.pool.clone().open(path)?;
        // Other programs do not use maps of these names in the pool, because the sweep removes entries.
        let items = pool.map_with("memcached items", MapOptions::new().kind(Kind::Roart))?;
        let facts = || pool.map("memcached facts");
        let (cas, flushes) = (CasNumbers::open(facts()?, now)?, Flushes::open(facts()?)?);
        // The time of a planned flush may have come while no server ran.
        flushes.flush_if_due(now)?;
        let (max_item, is_short) = (options.max_item.min(MAX_ITEM), AtomicBool::new(false));
        let most = pool.stats()?.max_bytes;
        let (seen, counters) = (Seen::new(most), Arc::default());
        let evictions = options.evicts.then(|| Evictions::new(most));
        Ok(Self { pool, items, cas, flushes, seen, max_item, evictions, counters, is_short })
    }

    /// The state of evictions, if the store evicts.
    pub(super) fn evictions(&self) -> Option<&Evictions> {
        self.evictions.as_ref()
    }

    /// The counters of what the store does by itself.
    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The pool.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The most bytes of data of an item.
    pub(crate) fn max_item(&self) -> usize {
        self.max_item
    }

    /// The number of items, including dead ones that the sweep has not removed yet.
    pub(crate) fn count(&self) -> Result<usize> {
        self.items.approximate_len()
    }

    /// Shows an item to a client that fetches it; returns whether it is there.
    pub(crate) fn get(&self, key: &[u8], now: u32, show: impl FnOnce(Item<'_>)) -> Result<bool> {
        let found = self.get_quietly(key, now, show)?;
        self.note_fetch(key, found, now);
        Ok(found)
    }

    /// Notes that a client has asked for an item.
    pub(super) fn note_fetch(&self, key: &[u8], was_found: bool, now: u32) {
        if let Some(evictions) = &self.evictions {
            evictions.fetches.note(Print::of(key), was_found);
        }
        if was_found {
            self.seen.fetched(key, now);
        }
    }

    /// Notes that an item was stored.
    pub(super) fn note_store(&self, key: &[u8], now: u32) {
        if let Some(evictions) = &self.evictions {
            evictions.fetches.begin(Print::of(key));
        }
        self.seen.stored(key, now);
    }

    /// What is known of the uses of an item.
    pub(crate) fn uses(&self, key: &[u8], now: u32) -> Uses {
        self.seen.uses(key, now)
    }

    /// Shows an item, which does not count as a fetch; returns whether it is there.
    pub(crate) fn get_quietly(
        &self,
        key: &[u8],
        now: u32,
        show: impl FnOnce(Item<'_>),
    ) -> Result<bool> {
        let look = |bytes: &[u8]| live(Some(bytes), self.epoch(), now).map(show).is_some();
        Ok(self.items.get_with(key, look)?.unwrap_or(false))
    }

    /// Notes if the pool is full, so that the next turn of the sweep looks at all items.
    pub(super) fn noting<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.inspect_err(|error| {
            if matches!(error, Error::Full { .. }) {
                // Relaxed, because the sweep need not see this at once.
                self.is_short.store(true, Ordering::Relaxed);
            }
        })
    }

    /// Whether a store has found the pool full since the last call.
    pub(super) fn was_short(&self) -> bool {
        self.is_short.swap(false, Ordering::Relaxed)
    }

    /// Kills all items: now, or at the time `at`.
    pub(crate) fn flush_all(&self, at: Option<u32>) -> Result<()> {
        match at {
            Some(at) => self.flushes.plan(at),
            None => self.flushes.flush(),
        }
    }

    /// Kills all items if a planned flush is due.
    pub(crate) fn flush_if_due(&self, now: u32) -> Result<()> {
        self.flushes.flush_if_due(now)
    }

    /// Looks at `count` entries after a key, and removes the dead ones. Returns the last key, from which the next call
    /// continues, or none at the end of the map, and the number of entries that were removed.
    pub(super) fn sweep(
        &self,
        behind: Option<&[u8]>,
        count: usize,
        now: u32,
    ) -> Result<(Option<Vec<u8>>, u64)> {
        let from = behind.map_or(Bound::Unbounded, Bound::Excluded);
        let (mut dead, mut last, mut seen) = (Vec::new(), None, 0);
        self.entries_behind(from, |key, bytes, _| {
            if is_dead(bytes, self.epoch(), now) {
                dead.push(key.to_vec());
            }
            seen += 1;
            if seen == count {
                last = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        let mut removed = 0;
        for key in dead {
            removed += u64::from(self.remove_dead(&key, now)?);
        }
        Ok((last, removed))
    }

    /// Shows the entries behind a key in their order: the key, the bytes before the data, and the length of the whole value.
    pub(super) fn entries_behind(
        &self,
        from: Bound<&[u8]>,
        look: impl FnMut(&[u8], &[u8], usize) -> ControlFlow<()>,
    ) -> Result<()> {
        self.items.heads(from, HEAD, look)
    }

    /// The epoch of items that are alive.
    pub(super) fn epoch(&self) -> u32 {
        self.flushes.epoch()
    }

    /// The bytes of an entry, which may be dead.
    pub(super) fn bytes_of(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.items.get(key)
    }

    /// The keys of the entries that have bytes of this stretch of the pool file.
    pub(super) fn keys_in(&self, stretch: Range<u64>) -> Result<Vec<Vec<u8>>> {
        self.items.keys_in(stretch)
    }

    /// Changes an entry that has exactly these bytes; returns whether it has had them.
    pub(super) fn exchange(&self, key: &[u8], old: &[u8], new: Option<&[u8]>) -> Result<bool> {
        Ok(self.items.compare_exchange(key, Some(old), new)?.is_ok())
    }

    /// Removes an entry if it is dead, and nothing that a client has stored meanwhile.
    pub(super) fn remove_dead(&self, key: &[u8], now: u32) -> Result<bool> {
        let Some(old) = self.items.get(key)? else { return Ok(false) };
        if !is_dead(&old, self.epoch(), now) || !self.exchange(key, &old, None)? {
            return Ok(false);
        }
        self.counters.count(Counter::Reclaimed);
        let has_expired = Item::of(&old).is_some_and(|item| item.expiry.has_come(now));
        let was_fetched = |it: &Evictions| it.fetches.was_fetched(Print::of(key));
        if has_expired && !self.evictions.as_ref().is_some_and(was_fetched) {
            self.counters.count(Counter::ExpiredUnfetched);
        }
        Ok(true)
    }
}

/// The item in these bytes, unless it has expired or was flushed. `epoch` was read after the bytes.
pub(super) fn live(bytes: Option<&[u8]>, epoch: u32, now: u32) -> Option<Item<'_>> {
    let item = Item::of(bytes?)?;
    (item.epoch == epoch && !item.expiry.has_come(now)).then_some(item)
}

/// Whether these bytes are an item that has expired or was flushed.
pub(super) fn is_dead(bytes: &[u8], epoch: u32, now: u32) -> bool {
    Item::of(bytes).is_some() && live(Some(bytes), epoch, now).is_none()
}
