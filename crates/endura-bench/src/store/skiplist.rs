//! `crossbeam-skiplist`, a skip list in DRAM without locks, as a [`Store`].

use crossbeam_skiplist::SkipMap;

use super::{Footprint, Session, Store};
use crate::Result;

/// A map of numbers.
#[derive(Default)]
pub struct SkipListStore(SkipMap<u64, u64>);

impl Store for SkipListStore {
    type Session<'s> = &'s SkipMap<u64, u64>;

    fn name(&self) -> &'static str {
        "crossbeam-skiplist"
    }

    fn session(&self) -> Result<&SkipMap<u64, u64>> {
        Ok(&self.0)
    }

    fn footprint(&self) -> Result<Footprint> {
        Ok(Footprint::UNKNOWN)
    }

    fn settings(&self) -> String {
        "volatile, a replacement is a new node; does not say what it takes up".into()
    }
}

impl Session for &SkipMap<u64, u64> {
    #[inline]
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        SkipMap::insert(self, key, value);
        Ok(())
    }

    /// An upsert: it has no update.
    #[inline]
    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        SkipMap::insert(self, key, value);
        Ok(true)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> Result<bool> {
        Ok(SkipMap::remove(self, &key).is_some())
    }

    #[inline]
    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        Ok(SkipMap::get(self, &key).map(|entry| *entry.value()))
    }

    fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>> {
        Ok(self.range(from..).next().map(|entry| (*entry.key(), *entry.value())))
    }

    #[inline]
    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
        let entries = self.range(from..).take(count);
        Ok(entries
            .fold((0, 0), |(seen, sum), entry| (seen + 1, sum ^ *entry.key() ^ *entry.value())))
    }
}
