//! Maps in an endura pool as [`Store`]s.

use std::sync::Arc;

use endura::{Kind, Map, MapOptions, Pool};
use endura_engine::media::Mapped;
use endura_engine::space::Space;
use endura_engine::tree::ByteIndex;
use endura_variants::handles::ByteMap;

use crate::Result;
use crate::store::bytes::Numbers;
use crate::store::contract::{BatchStore, Client, Footprint, Store};
use crate::store::options::StoreOptions;
use crate::store::ours::strings::ByteTreeClient;

/// A map in an endura pool, called as those call it who embed it.
pub struct EnduraStore<C> {
    pool: Pool,
    client: C,
    name: &'static str,
    about: String,
}

impl EnduraStore<Map<u64, u64>> {
    /// The maps of a pool, which are made if they are not there: of numbers.
    pub fn words(name: &'static str, kind: Kind, options: &StoreOptions) -> Result<Vec<Self>> {
        let mut map_options = MapOptions::new().kind(kind);
        if let (Kind::FastFair, Some(layout)) = (kind, options.layout) {
            map_options = map_options.node_layout(layout);
        }
        let pool = options.open_pool()?;
        let store = |map: String| {
            let client = pool.map_with(&map, map_options)?;
            let about = about(&pool, &map, kind)?;
            Ok(Self { pool: pool.clone(), client, name, about })
        };
        options.map_names().map(store).collect()
    }
}

impl EnduraStore<Numbers<Map<[u8], [u8]>>> {
    /// The same of byte strings.
    pub fn strings(name: &'static str, kind: Kind, options: &StoreOptions) -> Result<Vec<Self>> {
        let (shape, map_options) = (options.shape, MapOptions::new().kind(kind));
        shape.check()?;
        let pool = options.open_pool()?;
        let store = |map: String| {
            let client = Numbers::new(pool.map_with(&map, map_options)?, shape);
            Ok(Self { pool: pool.clone(), client, name, about: kind.to_string() })
        };
        options.map_names().map(store).collect()
    }
}

impl<I: ByteIndex> EnduraStore<ByteTreeClient<I>> {
    /// The same of byte strings in trees that `open` opens, without what a `Map` adds to a tree.
    pub fn trees(
        name: &'static str,
        options: &StoreOptions,
        open: fn(&Arc<Space<Mapped>>, &str) -> endura::Result<I>,
    ) -> Result<Vec<Self>> {
        let shape = options.shape;
        shape.check()?;
        let pool = options.open_pool()?;
        let store = |map: String| {
            let tree = ByteMap::over(open(pool.space(), &map)?);
            let client = ByteTreeClient::new(tree, shape);
            Ok(Self { pool: pool.clone(), client, name, about: "a tree by itself".into() })
        };
        options.map_names().map(store).collect()
    }
}

impl<C> EnduraStore<C> {
    /// The pool of the map.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }
}

/// The index of a map, and the sizes of its nodes.
fn about(pool: &Pool, map: &str, kind: Kind) -> Result<String> {
    let layout =
        pool.maps()?.into_iter().find(|info| info.name == map).and_then(|info| info.layout);
    Ok(match layout {
        Some(layout) => {
            let (leaf, inner) = (layout.leaf_bytes(), layout.inner_bytes());
            format!("{kind}, leaves of {leaf} bytes, inner nodes of {inner}")
        }
        None => kind.to_string(),
    })
}

impl<C: Client + Clone + Sync> Store for EnduraStore<C> {
    type Client<'s>
        = C
    where
        C: 's;

    fn name(&self) -> &'static str {
        self.name
    }

    fn client(&self) -> Result<C> {
        Ok(self.client.clone())
    }

    fn footprint(&self) -> Result<Footprint> {
        let stats = self.pool.stats()?;
        Ok(Footprint { used_bytes: stats.bytes_in_use, file_bytes: stats.file_bytes })
    }

    fn settings(&self) -> String {
        let medium = match self.pool.stats() {
            Ok(stats) => format!("{} on {}", stats.domain, stats.filesystem),
            Err(error) => error.to_string(),
        };
        format!("{medium}, {}", self.about)
    }
}

impl BatchStore for EnduraStore<Map<u64, u64>> {
    fn insert_all(&self, map: &mut Map<u64, u64>, entries: &[(u64, u64)]) -> Result<()> {
        let mut batch = self.pool.batch();
        for &(key, value) in entries {
            batch.put(map, key, value)?;
        }
        Ok(batch.commit()?)
    }
}
