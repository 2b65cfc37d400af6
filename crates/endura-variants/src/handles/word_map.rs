//! What a map offers, made of the primitives of its index.

use std::ops::RangeBounds;
use std::sync::Arc;

use super::word_range::WordRange;
use endura_engine::Result;
use endura_engine::tree::{Change, Index, Len, Popped};

/// A map from `u64` to `u64` over any index. Its methods do what the methods of a `Map` with the same purpose do, by
/// the same primitives of the index, and keep the same promises. Cheap to clone; the caller keeps the pool open.
pub struct WordMap<I> {
    index: Arc<I>,
}

impl<I> Clone for WordMap<I> {
    fn clone(&self) -> Self {
        Self { index: Arc::clone(&self.index) }
    }
}

impl<I: Index> WordMap<I> {
    /// A map over this index.
    pub fn over(index: I) -> Self {
        Self { index: Arc::new(index) }
    }

    /// The index below.
    pub fn index(&self) -> &I {
        &self.index
    }

    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: u64) -> Result<Option<u64>> {
        self.index().get(key)
    }

    /// The values of `keys`, in their order.
    pub fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        self.index().get_many(keys)
    }

    /// Whether `key` is in the map.
    pub fn contains_key(&self, key: u64) -> Result<bool> {
        Ok(self.get(key)?.is_some())
    }

    /// Inserts or replaces the value of `key`; returns the value it had.
    #[inline]
    pub fn insert(&self, key: u64, value: u64) -> Result<Option<u64>> {
        self.index().apply(key, |_| Change::Put(value))
    }

    /// Inserts the value if `key` is not in the map; returns whether it was not.
    pub fn insert_new(&self, key: u64, value: u64) -> Result<bool> {
        let put_new = |old: Option<u64>| old.map_or(Change::Put(value), |_| Change::Keep);
        Ok(self.index().apply(key, put_new)?.is_none())
    }

    /// Replaces the value if `key` is in the map; returns the value it had.
    pub fn update(&self, key: u64, value: u64) -> Result<Option<u64>> {
        self.index().apply(key, |old| old.map_or(Change::Keep, |_| Change::Put(value)))
    }

    /// Removes `key`; returns the value it had.
    pub fn remove(&self, key: u64) -> Result<Option<u64>> {
        self.index().apply(key, |_| Change::Remove)
    }

    /// If `key` has the value `expected` (`None`: is absent), gives it `new` (`None`: removes it). Otherwise changes
    /// nothing and returns what it found as the inner error.
    pub fn compare_exchange(
        &self,
        key: u64,
        expected: Option<u64>,
        new: Option<u64>,
    ) -> Result<Result<(), Option<u64>>> {
        let found = self.index().apply(key, |old| match new {
            _ if old != expected => Change::Keep,
            Some(value) => Change::Put(value),
            None => Change::Remove,
        })?;
        Ok(if found == expected { Ok(()) } else { Err(found) })
    }

    /// Replaces the value of `key` (`None`: absent) by what `update` makes of it; returns the value it had.
    pub fn fetch_update(
        &self,
        key: u64,
        mut update: impl FnMut(Option<u64>) -> Option<u64>,
    ) -> Result<Option<u64>> {
        let mut old = self.get(key)?;
        loop {
            match self.compare_exchange(key, old, update(old))? {
                Ok(()) => return Ok(old),
                Err(found) => old = found,
            }
        }
    }

    /// The entries with keys in `keys`, in order, from both ends.
    pub fn range(&self, keys: impl RangeBounds<u64>) -> WordRange<I> {
        WordRange::new(Arc::clone(&self.index), keys)
    }

    /// All entries.
    pub fn iter(&self) -> WordRange<I> {
        self.range(..)
    }

    /// The entry with the smallest key.
    pub fn first(&self) -> Result<Option<(u64, u64)>> {
        self.index().first()
    }

    /// The entry with the largest key.
    pub fn last(&self) -> Result<Option<(u64, u64)>> {
        self.index().last()
    }

    /// Removes the entry with the smallest key.
    pub fn pop_first(&self) -> Result<Option<(u64, u64)>> {
        self.pop(true)
    }

    /// Removes the entry with the largest key.
    pub fn pop_last(&self) -> Result<Option<(u64, u64)>> {
        self.pop(false)
    }

    fn pop(&self, smallest: bool) -> Result<Option<(u64, u64)>> {
        let mut missed = None;
        while let Some(entry) = if smallest { self.first()? } else { self.last()? } {
            match self.index().pop(smallest, entry)? {
                Popped::Taken => return Ok(Some(entry)),
                Popped::Beaten => {}
                // Others were faster, twice; or only scans come across this key, and will again and again.
                Popped::Missed if missed == Some(entry.0) => self.index().check_ends()?,
                Popped::Missed => missed = Some(entry.0),
            }
        }
        Ok(None)
    }

    /// How many entries there are.
    pub fn len(&self) -> Result<Len> {
        self.index().len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.first()?.is_none())
    }

    /// Removes all entries, one after the other.
    pub fn clear(&self) -> Result<()> {
        self.remove_range(..).map(drop)
    }

    /// Removes the entries with keys in `keys`, one after the other; returns how many.
    pub fn remove_range(&self, keys: impl RangeBounds<u64>) -> Result<u64> {
        let mut removed = 0;
        for entry in self.range(keys) {
            removed += u64::from(self.remove(entry?.0)?.is_some());
        }
        Ok(removed)
    }

    /// Removes the entries for which `keep` returns false, one after the other; returns how many.
    pub fn retain(&self, mut keep: impl FnMut(u64, u64) -> bool) -> Result<u64> {
        let mut removed = 0;
        for entry in self.iter() {
            let (key, value) = entry?;
            let mut present = Some(value);
            while let Some(value) = present
                && !keep(key, value)
            {
                match self.compare_exchange(key, present, None)? {
                    Ok(()) => {
                        removed += 1;
                        break;
                    }
                    Err(found) => present = found,
                }
            }
        }
        Ok(removed)
    }
}
