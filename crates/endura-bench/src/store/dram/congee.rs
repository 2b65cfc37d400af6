//! `congee`, a concurrent adaptive radix tree, as a [`Store`]: volatile, and none the less the peer of
//! a radix tree. Keys are numbers, which it takes as big-endian bytes.

use congee::Congee;
use congee::epoch::Guard;

use crate::store::contract::{Client, Footprint, Store};
use crate::{Error, Result};

/// Operations under one guard.
const OPERATIONS_PER_GUARD: u32 = 256;

/// An empty tree.
#[derive(Default)]
pub struct CongeeStore(Congee<usize, usize>);

impl Store for CongeeStore {
    type Client<'s> = CongeeClient<'s>;

    fn name(&self) -> &'static str {
        "congee"
    }

    fn client(&self) -> Result<CongeeClient<'_>> {
        Ok(CongeeClient { tree: &self.0, guard: self.0.pin(), left: OPERATIONS_PER_GUARD })
    }

    /// It does not say what it takes up.
    fn footprint(&self) -> Result<Footprint> {
        Ok(Footprint::UNKNOWN)
    }

    fn settings(&self) -> String {
        "volatile, guards kept for 256 operations; does not say what it takes up".into()
    }
}

/// One thread's work.
pub struct CongeeClient<'s> {
    tree: &'s Congee<usize, usize>,
    guard: Guard,
    left: u32,
}

impl CongeeClient<'_> {
    #[inline]
    fn guard(&mut self) -> &Guard {
        self.left -= 1;
        if self.left == 0 {
            self.left = OPERATIONS_PER_GUARD;
            self.guard.repin();
        }
        &self.guard
    }
}

impl Client for CongeeClient<'_> {
    #[inline]
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        let tree = self.tree;
        let inserted = tree.insert(key as usize, value as usize, self.guard());
        inserted.map(drop).map_err(|_| Error::Config("congee is out of memory"))
    }

    #[inline]
    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        let tree = self.tree;
        let update = |_| Some(value as usize);
        Ok(tree.compute_if_present(&(key as usize), update, self.guard()).is_some())
    }

    #[inline]
    fn remove(&mut self, key: u64) -> Result<bool> {
        let tree = self.tree;
        Ok(tree.remove(&(key as usize), self.guard()).is_some())
    }

    #[inline]
    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        let tree = self.tree;
        Ok(tree.get(&(key as usize), self.guard()).map(|value| value as u64))
    }

    fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>> {
        let mut entry = [(0, 0)];
        let tree = self.tree;
        let seen = tree.range(&(from as usize), &usize::MAX, &mut entry, self.guard());
        Ok(entry[..seen].first().map(|&(key, value)| (key as u64, value as u64)))
    }

    #[inline]
    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
        let mut entries = vec![(0, 0); count];
        let tree = self.tree;
        let seen = tree.range(&(from as usize), &usize::MAX, &mut entries, self.guard());
        let sum = entries[..seen].iter().fold(0, |sum, (key, value)| sum ^ key ^ value);
        Ok((seen, sum as u64))
    }
}
