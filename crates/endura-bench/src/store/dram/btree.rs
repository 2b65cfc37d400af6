//! The standard library's B-tree in DRAM as a [`Store`]: what an ordered map costs that survives
//! nothing. And the model that the tests compare every other store with.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::Result;
use crate::store::bytes::{ByteClient, Numbers, copy};
use crate::store::contract::{Client, Footprint, Store};
use crate::store::shape::Shape;

const NAME: &str = "BTreeMap";
const SETTINGS: &str = "volatile, behind one RwLock; does not say what it takes up";

/// A map of numbers.
#[derive(Default)]
pub struct BTreeStore(RwLock<BTreeMap<u64, u64>>);

impl Store for BTreeStore {
    type Client<'s> = &'s BTreeStore;

    fn name(&self) -> &'static str {
        NAME
    }

    fn client(&self) -> Result<&Self> {
        Ok(self)
    }

    fn footprint(&self) -> Result<Footprint> {
        Ok(Footprint::UNKNOWN)
    }

    fn settings(&self) -> String {
        SETTINGS.into()
    }
}

// A thread that panicked ends the run: what it held is looked at no more.

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl Client for &BTreeStore {
    #[inline]
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        write(&self.0).insert(key, value);
        Ok(())
    }

    #[inline]
    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        Ok(write(&self.0).get_mut(&key).map(|old| *old = value).is_some())
    }

    #[inline]
    fn remove(&mut self, key: u64) -> Result<bool> {
        Ok(write(&self.0).remove(&key).is_some())
    }

    #[inline]
    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        Ok(read(&self.0).get(&key).copied())
    }

    fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>> {
        Ok(read(&self.0).range(from..).next().map(|(&key, &value)| (key, value)))
    }

    #[inline]
    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
        let map = read(&self.0);
        let entries = map.range(from..).take(count);
        Ok(entries.fold((0, 0), |(seen, sum), (key, value)| (seen + 1, sum ^ key ^ value)))
    }
}

/// A map of byte strings.
pub struct BTreeBytes {
    map: RwLock<BTreeMap<Vec<u8>, Vec<u8>>>,
    shape: Shape,
}

impl BTreeBytes {
    /// An empty one.
    pub fn new(shape: Shape) -> Self {
        Self { map: RwLock::default(), shape }
    }
}

impl Store for BTreeBytes {
    type Client<'s> = Numbers<&'s BTreeBytes>;

    fn name(&self) -> &'static str {
        NAME
    }

    fn client(&self) -> Result<Self::Client<'_>> {
        Ok(Numbers::new(self, self.shape))
    }

    fn footprint(&self) -> Result<Footprint> {
        Ok(Footprint::UNKNOWN)
    }

    fn settings(&self) -> String {
        SETTINGS.into()
    }
}

impl ByteClient for &BTreeBytes {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        write(&self.map).insert(key.into(), value.into());
        Ok(())
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<bool> {
        Ok(write(&self.map).remove(key).is_some())
    }

    #[inline]
    fn get(&mut self, key: &[u8], into: &mut [u8]) -> Result<bool> {
        Ok(read(&self.map).get(key).map(|value| copy(value, into)).is_some())
    }

    #[inline]
    fn scan(&mut self, from: &[u8], count: usize, mut see: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let map = read(&self.map);
        let range = (std::ops::Bound::Included(from), std::ops::Bound::Unbounded);
        map.range::<[u8], _>(range).take(count).for_each(|(key, value)| see(key, value));
        Ok(())
    }
}
