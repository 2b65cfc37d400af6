//! endura as a [`Store`].

use std::path::Path;

use endura::{FastFair, NodeLayout, Pool, PoolOptions};

use super::{Footprint, Session, Store};
use crate::Result;

/// A fresh endura pool with one FAST & FAIR map.
pub struct EnduraStore {
    pool: Pool,
    map: FastFair,
}

impl EnduraStore {
    /// Creates a pool at `path`, which must not exist, with one empty map.
    ///
    /// # Errors
    ///
    /// Whatever [`PoolOptions::create`] says.
    pub fn create(path: &Path, options: PoolOptions, layout: Option<NodeLayout>) -> Result<Self> {
        let pool = options.create(path)?;
        let map = match layout {
            Some(layout) => pool.fast_fair_with("bench", layout)?,
            None => pool.fast_fair("bench")?,
        };
        Ok(Self { pool, map })
    }
}

impl Store for EnduraStore {
    type Session<'s> = &'s FastFair;

    const NAME: &'static str = "endura";

    fn session(&self) -> Result<&FastFair> {
        Ok(&self.map)
    }

    fn footprint(&self) -> Result<Footprint> {
        let stats = self.pool.stats()?;
        Ok(Footprint { used_bytes: stats.page_bytes_in_use, file_bytes: stats.file_bytes })
    }

    fn settings(&self) -> String {
        let layout = self.map.index().layout();
        let medium = match self.pool.stats() {
            Ok(stats) => format!("{} on {}", stats.domain, stats.filesystem),
            Err(error) => error.to_string(),
        };
        format!(
            "{medium}, leaves of {} bytes, inner nodes of {}",
            layout.leaf_bytes(),
            layout.inner_bytes()
        )
    }
}

impl Session for &FastFair {
    #[inline]
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        FastFair::insert(self, key, value)?;
        Ok(())
    }

    #[inline]
    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        Ok(FastFair::update(self, key, value)?.is_some())
    }

    #[inline]
    fn remove(&mut self, key: u64) -> Result<bool> {
        Ok(FastFair::remove(self, key)?.is_some())
    }

    #[inline]
    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        Ok(FastFair::get(self, key)?)
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
        Ok(FastFair::get_many(self, keys)?.iter().flatten().count())
    }
}
