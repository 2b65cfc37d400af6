//! `crossbeam-skiplist`, a skip list in DRAM without locks, as a [`Store`].

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_skiplist::SkipMap;

use super::{Footprint, Session, Store};
use crate::Result;

/// A map of numbers. Values change where they are: its own replacement takes the entry out before it
/// puts the new one in, and a lookup between the two finds no key.
#[derive(Default)]
pub struct SkipListStore(SkipMap<u64, AtomicU64>);

/// Acquire and Release: what one thread wrote before it put a number in, another that finds the number
/// sees. The other stores promise it.
const LOAD: Ordering = Ordering::Acquire;
const STORE: Ordering = Ordering::Release;

impl Store for SkipListStore {
    type Session<'s> = &'s SkipMap<u64, AtomicU64>;

    fn name(&self) -> &'static str {
        "crossbeam-skiplist"
    }

    fn session(&self) -> Result<&SkipMap<u64, AtomicU64>> {
        Ok(&self.0)
    }

    fn footprint(&self) -> Result<Footprint> {
        Ok(Footprint::UNKNOWN)
    }

    fn settings(&self) -> String {
        "volatile, values of AtomicU64 replaced in place; does not say what it takes up".into()
    }
}

impl Session for &SkipMap<u64, AtomicU64> {
    #[inline]
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        let entry = self.get_or_insert_with(key, || AtomicU64::new(value));
        if entry.value().load(LOAD) != value {
            entry.value().store(value, STORE);
        }
        Ok(())
    }

    #[inline]
    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        let entry = SkipMap::get(self, &key);
        Ok(entry.is_some_and(|entry| {
            entry.value().store(value, STORE);
            true
        }))
    }

    #[inline]
    fn remove(&mut self, key: u64) -> Result<bool> {
        Ok(SkipMap::remove(self, &key).is_some())
    }

    #[inline]
    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        Ok(SkipMap::get(self, &key).map(|entry| entry.value().load(LOAD)))
    }

    fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>> {
        Ok(self.range(from..).next().map(|entry| (*entry.key(), entry.value().load(LOAD))))
    }

    #[inline]
    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
        let entries = self.range(from..).take(count);
        Ok(entries.fold((0, 0), |(seen, sum), entry| {
            (seen + 1, sum ^ *entry.key() ^ entry.value().load(LOAD))
        }))
    }
}
