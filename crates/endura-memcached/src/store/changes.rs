//! The atomic change of one item. Where there is no room for the new one, other items make way.

use endura::Result;

use super::item::{About, Item};
use super::items::{Store, live};
use super::levels::record_bytes;
use super::search::Search;

/// What a command does to an entry.
pub(super) enum Change<T> {
    Keep(T),
    Put(Vec<u8>, T),
    Remove(T),
}

impl Store {
    /// Stores an item without a condition; returns the number of the store.
    pub(super) fn put(&self, key: &[u8], about: About, data: &[u8]) -> Result<u64> {
        let (epoch, cas) = (self.epoch(), self.cas.take()?);
        let bytes = Item::new(about, epoch, cas, data).to_bytes();
        let (record, mut search) = (record_bytes(key.len(), bytes.len()), Search::default());
        loop {
            match self.noting(self.items.put(key, &bytes)) {
                Ok(_) => {
                    self.count_stored(record);
                    return Ok(cas);
                }
                Err(error) => search.go_on(self, record, error)?,
            }
        }
    }

    fn count_stored(&self, record: u64) {
        if let Some(evictions) = self.evictions() {
            evictions.count_stored(record);
        }
    }

    /// Changes an entry atomically as `decide` says. `decide` gets the item, if one is alive, and the epoch for a new item.
    /// It runs again if another thread has changed the entry meanwhile.
    pub(super) fn change<T>(
        &self,
        key: &[u8],
        now: u32,
        mut decide: impl FnMut(Option<Item<'_>>, u32) -> Result<Change<T>>,
    ) -> Result<T> {
        let mut search = Search::default();
        loop {
            let old = self.items.get(key)?;
            let (old, epoch) = (old.as_deref(), self.epoch());
            let (new, outcome) = match decide(live(old, epoch, now), epoch)? {
                Change::Keep(outcome) => return Ok(outcome),
                Change::Put(new, outcome) => (Some(new), outcome),
                Change::Remove(outcome) => (None, outcome),
            };
            // No two stores have the same number, so equal bytes are from the same store. (Only a time of expiry can change
            // and change back meanwhile, which loses nothing: a mark goes only with a new number.)
            let changed = self.items.compare_exchange(key, old, new.as_deref());
            let record = record_bytes(key.len(), new.as_ref().map_or(0, Vec::len));
            match self.noting(changed) {
                Ok(Ok(())) => {
                    if new.is_some() {
                        self.count_stored(record);
                    }
                    return Ok(outcome);
                }
                Ok(Err(_)) => {}
                Err(error) => search.go_on(self, record, error)?,
            }
        }
    }
}
