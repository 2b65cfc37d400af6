//! endura as a [`Store`].

use std::path::Path;

use endura::{AnyIndex, AnyMap, Kind, NodeLayout, Pool, PoolOptions};

use super::{Footprint, Session, Store};
use crate::Result;

/// A fresh endura pool with one map.
pub struct EnduraStore {
    pool: Pool,
    map: AnyMap,
}

impl EnduraStore {
    /// Creates a pool at `path`, which must not exist, with one empty map.
    ///
    /// # Errors
    ///
    /// Whatever [`PoolOptions::create`] says.
    pub fn create(
        path: &Path,
        options: PoolOptions,
        kind: Kind,
        layout: Option<NodeLayout>,
    ) -> Result<Self> {
        let pool = options.create(path)?;
        if let (Kind::FastFair, Some(layout)) = (kind, layout) {
            pool.fast_fair_with("bench", layout)?;
        }
        let map = pool.any_map("bench", Some(kind))?;
        Ok(Self { pool, map })
    }
}

impl Store for EnduraStore {
    type Session<'s> = &'s AnyMap;

    const NAME: &'static str = "endura";

    fn session(&self) -> Result<&AnyMap> {
        Ok(&self.map)
    }

    fn footprint(&self) -> Result<Footprint> {
        let stats = self.pool.stats()?;
        Ok(Footprint { used_bytes: stats.page_bytes_in_use, file_bytes: stats.file_bytes })
    }

    fn settings(&self) -> String {
        let medium = match self.pool.stats() {
            Ok(stats) => format!("{} on {}", stats.domain, stats.filesystem),
            Err(error) => error.to_string(),
        };
        match self.map.index() {
            AnyIndex::FastFair(tree) => {
                let layout = tree.layout();
                let (leaf, inner) = (layout.leaf_bytes(), layout.inner_bytes());
                format!("{medium}, FastFair, leaves of {leaf} bytes, inner nodes of {inner}")
            }
            AnyIndex::NbTree(_) => format!("{medium}, NbTree"),
        }
    }
}

impl Session for &AnyMap {
    #[inline]
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        AnyMap::insert(self, key, value)?;
        Ok(())
    }

    #[inline]
    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        Ok(AnyMap::update(self, key, value)?.is_some())
    }

    #[inline]
    fn remove(&mut self, key: u64) -> Result<bool> {
        Ok(AnyMap::remove(self, key)?.is_some())
    }

    #[inline]
    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        Ok(AnyMap::get(self, key)?)
    }

    #[inline]
    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
        let (mut seen, mut sum) = (0, 0);
        for entry in self.range(from..).take(count) {
            let (key, value) = entry?;
            seen += 1;
            sum ^= key ^ value;
        }
        Ok((seen, sum))
    }

    #[inline]
    fn get_many(&mut self, keys: &[u64]) -> Result<usize> {
        Ok(AnyMap::get_many(self, keys)?.iter().flatten().count())
    }
}
