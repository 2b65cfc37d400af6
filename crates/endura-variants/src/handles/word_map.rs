//! What a map offers, made of the primitives of its index.

use std::ops::RangeBounds;
use std::sync::Arc;

use super::word_range::WordRange;
use endura_engine::Result;
use endura_engine::tree::{Change, Index, Len, Popped};

/// A map from `u64` to `u64` over any index: what a `Map` is over the trees of a pool, and with its
/// promises. Cheap to clone; the caller keeps the pool open.
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

    /// The value of `key`. Never waits for a writer.
    #[inline]
    pub fn get(&self, key: u64) -> Result<Option<u64>> {
        self.index().get(key)
    }

    /// The values of `keys`, in their order. The lookups overlap their cache misses: from about 16
    /// keys on each costs a fraction of a [`get`](Self::get). Each is linearizable by itself; the
    /// batch is not one moment.
    pub fn get_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        self.index().get_many(keys)
    }

    /// Whether `key` is in the map.
    pub fn contains_key(&self, key: u64) -> Result<bool> {
        Ok(self.get(key)?.is_some())
    }

    /// Gives `key` this value, whether it is in the map or not; returns the value it had.
    #[inline]
    pub fn insert(&self, key: u64, value: u64) -> Result<Option<u64>> {
        self.index().apply(key, |_| Change::Put(value))
    }

    /// Enters `key` if it is not in the map; returns whether it was not.
    pub fn insert_new(&self, key: u64, value: u64) -> Result<bool> {
        let put_new = |old: Option<u64>| old.map_or(Change::Put(value), |_| Change::Keep);
        Ok(self.index().apply(key, put_new)?.is_none())
    }

    /// Replaces the value of `key` if it is in the map; returns the value it had.
    pub fn update(&self, key: u64, value: u64) -> Result<Option<u64>> {
        self.index().apply(key, |old| old.map_or(Change::Keep, |_| Change::Put(value)))
    }

    /// Takes `key` out of the map; returns the value it had.
    pub fn remove(&self, key: u64) -> Result<Option<u64>> {
        self.index().apply(key, |_| Change::Remove)
    }

    /// If `key` has the value `expected` (`None`: is absent), gives it `new` (`None`: takes it out).
    /// Else changes nothing and returns what was found as the inner error.
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

    /// Replaces the value of `key` (`None`: absent) by what `update` makes of it, in one step;
    /// returns the value it had. `update` runs outside any lock, again whenever another thread was
    /// faster, and may call the map.
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
    ///
    /// The range is live: it takes no snapshot and holds nothing back. Each entry was in the map at
    /// some moment of the call to `next` that returned it; keys come in order and none twice; a key
    /// that stays in the map for as long as the range lasts is not passed over. An empty or inverted range yields
    /// nothing.
    pub fn range(&self, keys: impl RangeBounds<u64>) -> WordRange<I> {
        WordRange::new(Arc::clone(&self.index), keys)
    }

    /// All entries: [`range`](Self::range) over everything.
    pub fn iter(&self) -> WordRange<I> {
        self.range(..)
    }

    /// The entry with the smallest key. Never waits for a writer, and looks again only where one has
    /// changed what the answer rests on.
    pub fn first(&self) -> Result<Option<(u64, u64)>> {
        self.index().first()
    }

    /// The entry with the largest key, as [`first`](Self::first).
    pub fn last(&self) -> Result<Option<(u64, u64)>> {
        self.index().last()
    }

    /// Takes out the first entry, at one moment of the call: it has the smallest key then, and nobody sees a smaller
    /// one while it is still there. `None` says that there was a moment of the call without entries.
    ///
    /// It chooses again where another operation has taken this entry out, changed its value, or entered a smaller key
    /// (which waits for no choice, only while the entry is taken out). Pops of one map take turns.
    pub fn pop_first(&self) -> Result<Option<(u64, u64)>> {
        self.pop(true)
    }

    /// Takes out the last entry, as [`pop_first`](Self::pop_first) does the first.
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

    /// How many entries there are: O(1). Exact when no operation is under way; beside writers off by no
    /// more than the operations that were under way while it counted. After an unclean close the first call sets a count going
    /// in the background and says [`Len::AtLeast`] until that is done.
    pub fn len(&self) -> Result<Len> {
        self.index().len()
    }

    /// Whether there is no entry, at one moment of the call. Counts nothing.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.first()?.is_none())
    }

    /// Takes all entries out, one after the other: O(n log n), and entries that others put in
    /// meanwhile may stay. To be rid of a map at once, drop it.
    pub fn clear(&self) -> Result<()> {
        self.remove_range(..).map(drop)
    }

    /// Takes the entries with keys in `keys` out, one after the other; returns how many.
    pub fn remove_range(&self, keys: impl RangeBounds<u64>) -> Result<u64> {
        self.retain_in(keys, |_, _| false)
    }

    /// Takes out the entries for which `keep` says no, one after the other; returns how many. `keep`
    /// runs outside any lock, again if the value changed meanwhile, and may call the map.
    pub fn retain(&self, keep: impl FnMut(u64, u64) -> bool) -> Result<u64> {
        self.retain_in(.., keep)
    }

    fn retain_in(
        &self,
        keys: impl RangeBounds<u64>,
        mut keep: impl FnMut(u64, u64) -> bool,
    ) -> Result<u64> {
        let mut removed = 0;
        for entry in self.range(keys) {
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
