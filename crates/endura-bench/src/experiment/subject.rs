//! Any index over any medium, behind one type: what experiments that vary both are run on.
//!
//! [`Store`](crate::store::Store) is compiled for each store, as a comparison with a peer wants it. An
//! experiment of a paper has dozens of trees, media and options; a call through a table of functions
//! costs it a nanosecond.

use std::path::Path;
use std::sync::Arc;

use endura::{Kind, Map, MapOptions, MediaChoice};
use endura_engine::index::NbTree;
use endura_engine::media::Media;
use endura_engine::space::Space;
use endura_engine::tree::nbtree::{Design, NumberKeys, TwoLayers};
use endura_engine::tree::roart::Techniques;
use endura_engine::tree::{Index, fast_fair, nbtree, roart};
use endura_variants::handles::{ByteMap, WordMap};
use endura_variants::sessions;

use crate::Result;
use crate::store::{ByteTreeClient, Client, Numbers, Shape, measured_pool, temporary};

/// An index with its medium.
pub struct Subject {
    /// Its name in tables and plots.
    pub name: String,
    client: Box<dyn Fn() -> Box<dyn Client> + Send + Sync>,
    /// Bytes of DRAM that belong to it, beside the medium.
    dram_bytes: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Bytes of the medium in use.
    medium_bytes: Box<dyn Fn() -> u64 + Send + Sync>,
}

impl Subject {
    /// One thread's work. Not measured.
    pub fn client(&self) -> Box<dyn Client> {
        (self.client)()
    }

    /// Bytes of DRAM that belong to the index, beside the medium.
    pub fn dram_bytes(&self) -> u64 {
        (self.dram_bytes)()
    }

    /// Bytes of pages in use on the medium.
    pub fn medium_bytes(&self) -> u64 {
        (self.medium_bytes)()
    }

    /// Under another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    fn over<M: Media, I: Index>(name: &str, space: &Arc<Space<M>>, map: WordMap<I>) -> Self {
        let used = Arc::clone(space);
        Self {
            name: name.into(),
            client: Box::new(move || Box::new(map.clone())),
            dram_bytes: Box::new(|| 0),
            medium_bytes: Box::new(move || used.stats().bytes_in_use),
        }
    }

    /// A map in a pool of its own, in a folder of its own in `dir`: an index as users have it.
    pub fn pool(dir: &Path, kind: Kind, media: MediaChoice, shape: Shape) -> Result<Self> {
        shape.check()?;
        let folder = temporary(dir)?;
        let pool = measured_pool().media(media).create_new(folder.path().join("pool"))?;
        let client: Box<dyn Fn() -> Box<dyn Client> + Send + Sync>;
        let mut dram_bytes: Box<dyn Fn() -> u64 + Send + Sync> = Box::new(|| 0);
        let how = MapOptions::new().kind(kind);
        if kind.holds_words() {
            let map: Map<u64, u64> = pool.map_with("subject", how)?;
            client = Box::new(move || Box::new(map.clone()));
        } else {
            let map = Numbers::new(pool.map_with::<[u8], [u8]>("subject", how)?, shape);
            client = Box::new(move || Box::new(map.clone()));
        }
        if kind == Kind::NbTree {
            let tree = NbTree::open(pool.space(), "subject")?;
            dram_bytes = Box::new(move || tree.stats().metadata_bytes);
        }
        let name = kind.name();
        // The pool is closed before its folder goes.
        let held = (pool, folder);
        let medium_bytes = Box::new(move || held.0.stats().map_or(0, |stats| stats.bytes_in_use));
        Ok(Self { name: name.into(), client, dram_bytes, medium_bytes })
    }

    /// A FAST & FAIR tree over any medium, with nodes of `WORDS` words on all levels, searched by `S`.
    pub fn fast_fair_of<M: Media, const WORDS: usize, S: fast_fair::Search>(
        medium: M,
    ) -> Result<Self> {
        let space = sessions::first(medium)?;
        let map = WordMap::over(fast_fair::Tree::<_, WORDS, WORDS, S>::open(&space, "subject")?);
        Ok(Self::over("FastFair", &space, map))
    }

    /// An NBTree over any medium.
    pub fn nbtree<M: Media>(medium: M) -> Result<Self> {
        Self::nbtree_of::<M, TwoLayers>(medium)
    }

    /// An NBTree of another design.
    pub fn nbtree_of<M: Media, D: Design<Keys = NumberKeys>>(medium: M) -> Result<Self> {
        let space = sessions::first(medium)?;
        let map = WordMap::over(nbtree::Tree::<_, 128, 64, D>::open_as(&space, "subject")?);
        let tree = map.clone();
        let dram_bytes = Box::new(move || tree.index().stats().metadata_bytes);
        Ok(Self { dram_bytes, ..Self::over("NbTree", &space, map) })
    }

    /// A ROART over any medium, with keys and values of this shape and these techniques.
    pub fn roart<M: Media, T: Techniques>(medium: M, shape: Shape) -> Result<Self> {
        shape.check()?;
        let space = sessions::first(medium)?;
        let map = ByteMap::over(roart::Tree::<M, T>::open(&space, "subject")?);
        Ok(Self {
            name: "Roart".into(),
            client: Box::new(move || Box::new(ByteTreeClient::new(map.clone(), shape))),
            dram_bytes: Box::new(|| 0),
            medium_bytes: Box::new(move || space.stats().bytes_in_use),
        })
    }
}
