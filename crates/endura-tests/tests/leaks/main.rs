//! The leak recovery of what a crash stranded, from outside: scenarios A1 to A18 of the plan, as far as
//! they are about it. The explorer crashes it (`endura-sim`, `collected`).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../support/killed_file.rs"]
mod killed_file;
mod kinds;
mod lifetime;
mod measure;
mod nested;
mod pools;
mod records;
mod together;

use std::sync::Arc;

use endura_engine::media::Heap;
use endura_engine::space::{LeakRecoverer, LeakWalk, PAGE, Shares, Space};
use endura_engine::tree::{fast_fair, nbtree, roart};
use endura_variants::handles::{ByteMap, WordMap};
use endura_variants::roart::Tiny;
use endura_variants::sessions;
use records::{Records, Values};

/// Trees of tiny nodes, so that a few entries make many chunks.
pub(crate) type FastFair = fast_fair::Tree<Arc<Heap>, 14, 14, fast_fair::LineBinary>;
pub(crate) type NbTree = nbtree::Tree<Arc<Heap>, 8, 4>;
pub(crate) type Roart = roart::Tree<Arc<Heap>, Tiny>;

/// A pool with one map of each kind, and perhaps further ones with records, on a medium that outlives it.
pub(crate) struct World {
    pub(crate) heap: Arc<Heap>,
    pub(crate) space: Arc<Space<Arc<Heap>>>,
    pub(crate) fast_fair: FastFair,
    pub(crate) nbtree: NbTree,
    pub(crate) roart: Roart,
    records: Option<Records>,
}

impl World {
    pub(crate) fn new(pages: u64) -> Self {
        let heap = Arc::new(Heap::new(pages * PAGE));
        Self::of(sessions::first(Arc::clone(&heap)).unwrap(), heap)
    }

    /// With the maps that have records, too.
    pub(crate) fn with_records(pages: u64) -> Self {
        let world = Self::new(pages);
        Self { records: Some(Records::open(&world.space)), ..world }
    }

    pub(crate) fn mounted(heap: Arc<Heap>, generation: u64, clean: bool) -> Self {
        Self::of(sessions::begin(Arc::clone(&heap), generation, clean).unwrap(), heap)
    }

    fn of(space: Arc<Space<Arc<Heap>>>, heap: Arc<Heap>) -> Self {
        let fast_fair = fast_fair::Tree::open(&space, "fast_fair").unwrap();
        let nbtree = nbtree::Tree::open(&space, "nbtree").unwrap();
        let roart = roart::Tree::open(&space, "roart").unwrap();
        Self { heap, space, fast_fair, nbtree, roart, records: None }
    }

    /// The next session, as after `kill -9`: what was stored is there, and no more.
    pub(crate) fn killed(self) -> Self {
        let (generation, has_records) = (self.space.generation() + 1, self.records.is_some());
        let world = Self::mounted(self.heap, generation, false);
        Self { records: has_records.then(|| Records::open(&world.space)), ..world }
    }

    /// The next session after a close.
    pub(crate) fn closed(self) -> Self {
        self.space.save().unwrap();
        let generation = self.space.generation() + 1;
        Self::mounted(self.heap, generation, true)
    }

    pub(crate) fn walks(&self) -> Vec<Box<dyn LeakWalk<Arc<Heap>>>> {
        let mut walks = vec![self.fast_fair.marking(), self.roart.marking()];
        walks.extend(self.nbtree.marking());
        walks.extend(self.records.iter().flat_map(Records::walks));
        walks
    }

    /// A leak recovery in steps of so many chunks.
    pub(crate) fn recoverer(&self, bite: usize) -> Arc<LeakRecoverer<Arc<Heap>>> {
        LeakRecoverer::new(&self.space, self.walks(), bite)
    }

    pub(crate) fn numbers(&self) -> [Box<dyn Numbers>; 2] {
        [
            Box::new(WordMap::over(self.fast_fair.clone())),
            Box::new(WordMap::over(self.nbtree.clone())),
        ]
    }

    fn values(&self) -> impl Iterator<Item = Box<dyn Values>> {
        self.records.iter().flat_map(Records::maps)
    }

    pub(crate) fn bytes(&self) -> ByteMap<Roart> {
        ByteMap::over(self.roart.clone())
    }

    /// Checks the structures and who owns what.
    pub(crate) fn shares(&self) -> Shares {
        let mut chunks = Vec::new();
        let mut note = |at, bytes| chunks.push((at, bytes));
        self.fast_fair.check(&mut note).unwrap();
        self.nbtree.check(&mut note).unwrap();
        self.roart.check(&mut note).unwrap();
        self.records.iter().for_each(|records| records.check(&mut note));
        let quiesced = self.space.quiesce().unwrap();
        let mut check = quiesced.check().unwrap();
        chunks.iter().for_each(|&(at, bytes)| check.reach(at, bytes).unwrap());
        check.finish().unwrap()
    }

    /// Puts `keys` into all maps.
    pub(crate) fn fill(&self, keys: impl Iterator<Item = u64> + Clone, value: u64) {
        let bytes = self.bytes();
        for map in self.numbers() {
            keys.clone().for_each(|key| map.put(key, value));
        }
        let value = |key: u64| value.to_le_bytes().repeat(1 + key as usize % 9);
        for map in self.values() {
            keys.clone().for_each(|key| map.put(key, &value(key)));
        }
        for key in keys {
            bytes.insert(name(key), value(key)).unwrap();
        }
    }

    /// Takes `keys` out of all maps.
    pub(crate) fn empty(&self, keys: impl Iterator<Item = u64> + Clone) {
        let bytes = self.bytes();
        for map in self.numbers() {
            keys.clone().for_each(|key| map.take(key));
        }
        for map in self.values() {
            keys.clone().for_each(|key| map.take(key));
        }
        keys.for_each(|key| _ = bytes.remove(name(key)).unwrap());
    }

    /// All entries of all maps.
    pub(crate) fn entries(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut all = Vec::new();
        for (i, map) in self.numbers().into_iter().enumerate() {
            all.extend(map.all().into_iter().map(|(key, value)| {
                ([&[i as u8][..], &key.to_be_bytes()].concat(), value.to_le_bytes().to_vec())
            }));
        }
        all.extend(self.bytes().range::<Vec<u8>>(..).map(Result::unwrap));
        all.extend(self.values().flat_map(|map| map.all()));
        all
    }
}

/// A map of numbers of whichever kind.
pub(crate) trait Numbers {
    fn put(&self, key: u64, value: u64);
    fn take(&self, key: u64);
    fn all(&self) -> Vec<(u64, u64)>;
}

impl<I: endura_engine::tree::Index> Numbers for WordMap<I> {
    fn put(&self, key: u64, value: u64) {
        self.insert(key, value).unwrap();
    }

    fn take(&self, key: u64) {
        self.remove(key).unwrap();
    }

    fn all(&self) -> Vec<(u64, u64)> {
        self.range(..).map(Result::unwrap).collect()
    }
}

/// Keys that share long prefixes.
pub(crate) fn name(key: u64) -> Vec<u8> {
    format!("https://example.org/{}/{}/{}", key % 7, key % 61, key).into_bytes()
}
