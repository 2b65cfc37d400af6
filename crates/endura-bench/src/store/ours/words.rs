//! endura as a [`Store`].

use endura::Pool;
use endura::lab::handles::Handles as _;
use endura::lab::handles::{FastFairIndex, NbTree, NbTreeIndex, WordMap};
use endura::lab::tree::Index;

use crate::Result;
use crate::store::contract::{Client, Footprint, Store};
use crate::store::options::StoreOptions;

/// A map of numbers in an endura pool, of a kind that is known: as those who embed it call it.
pub struct EnduraStore<I> {
    pool: Pool,
    map: WordMap<I>,
    name: &'static str,
    about: String,
}

impl EnduraStore<FastFairIndex> {
    /// The maps of a pool, which are made if they are not there.
    pub fn fast_fair(options: &StoreOptions) -> Result<Vec<Self>> {
        let pool = options.open_pool()?;
        let store = |name: String| {
            let map = match options.layout {
                Some(layout) => pool.fast_fair_with(&name, layout)?,
                None => pool.fast_fair(&name)?,
            };
            let layout = map.index().layout();
            let (leaf, inner) = (layout.leaf_bytes(), layout.inner_bytes());
            let about = format!("FastFair, leaves of {leaf} bytes, inner nodes of {inner}");
            Ok(Self { pool: pool.clone(), map, name: "fast-fair", about })
        };
        options.map_names().map(store).collect()
    }
}

impl EnduraStore<NbTreeIndex> {
    /// The same as NBTrees.
    pub fn nbtree(options: &StoreOptions) -> Result<Vec<Self>> {
        let pool = options.open_pool()?;
        let store = |name: String| {
            let map: NbTree = pool.nbtree(&name)?;
            Ok(Self { pool: pool.clone(), map, name: "nbtree", about: "NbTree".to_owned() })
        };
        options.map_names().map(store).collect()
    }
}

impl<I: Index + Send + Sync> Store for EnduraStore<I> {
    type Client<'s>
        = WordMap<I>
    where
        I: 's;

    fn name(&self) -> &'static str {
        self.name
    }

    fn client(&self) -> Result<WordMap<I>> {
        Ok(self.map.clone())
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
        format!("{medium}, {}", self.about)
    }
}

impl<I: Index> Client for WordMap<I> {
    #[inline]
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        Self::insert(self, key, value)?;
        Ok(())
    }

    #[inline]
    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        Ok(Self::update(self, key, value)?.is_some())
    }

    #[inline]
    fn remove(&mut self, key: u64) -> Result<bool> {
        Ok(Self::remove(self, key)?.is_some())
    }

    #[inline]
    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        Ok(Self::get(self, key)?)
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
        Ok(Self::get_many(self, keys)?.iter().flatten().count())
    }
}
