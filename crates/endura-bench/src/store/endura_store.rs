//! endura as a [`Store`].

use endura::{AnyIndex, AnyMap, Kind, Pool};

use super::{Footprint, Place, Session, Store};
use crate::Result;

/// A map of numbers in an endura pool.
pub struct EnduraStore {
    pool: Pool,
    map: AnyMap,
}

impl EnduraStore {
    /// The maps of the pool at `place`, which are made as `kind` if they are not there.
    ///
    /// # Errors
    ///
    /// Whatever [`PoolOptions::open_or_create`](endura::PoolOptions::open_or_create) says.
    pub fn open(place: &Place, kind: Kind) -> Result<Vec<Self>> {
        let pool = place.open_pool()?;
        let map = |name: String| {
            if let (Kind::FastFair, Some(layout)) = (kind, place.layout) {
                pool.fast_fair_with(&name, layout)?;
            }
            Ok(Self { map: pool.any_map(&name, Some(kind))?, pool: pool.clone() })
        };
        place.map_names().map(map).collect()
    }
}

impl Store for EnduraStore {
    type Session<'s> = &'s AnyMap;

    fn name(&self) -> &'static str {
        match self.map.index() {
            AnyIndex::FastFair(_) => "fast-fair",
            AnyIndex::NbTree(_) => "nbtree",
        }
    }

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

    fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>> {
        Ok(self.range(from..).next().transpose()?)
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
