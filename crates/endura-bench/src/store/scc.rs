//! `scc::TreeIndex`, a B+-tree in DRAM whose readers take no locks, as a [`Store`].

use scc::{Guard, TreeIndex};

use super::{Footprint, Session, Store};
use crate::Result;

/// A map of numbers.
#[derive(Default)]
pub struct SccStore(TreeIndex<u64, u64>);

impl Store for SccStore {
    type Session<'s> = &'s TreeIndex<u64, u64>;

    fn name(&self) -> &'static str {
        "scc"
    }

    fn session(&self) -> Result<&TreeIndex<u64, u64>> {
        Ok(&self.0)
    }

    fn footprint(&self) -> Result<Footprint> {
        Ok(Footprint::UNKNOWN)
    }

    fn settings(&self) -> String {
        "volatile, TreeIndex, a guard per operation; does not say what it takes up".into()
    }
}

impl Session for &TreeIndex<u64, u64> {
    #[inline]
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        self.upsert_sync(key, value);
        Ok(())
    }

    /// An upsert: it has no update.
    #[inline]
    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        self.upsert_sync(key, value);
        Ok(true)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> Result<bool> {
        Ok(self.remove_sync(&key))
    }

    #[inline]
    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        Ok(self.peek_with(&key, |_, value| *value))
    }

    fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>> {
        let guard = Guard::new();
        Ok(self.range(from.., &guard).next().map(|(&key, &value)| (key, value)))
    }

    #[inline]
    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
        let guard = Guard::new();
        let entries = self.range(from.., &guard).take(count);
        Ok(entries.fold((0, 0), |(seen, sum), (key, value)| (seen + 1, sum ^ key ^ value)))
    }
}
