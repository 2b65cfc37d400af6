//! Worlds with a map of numbers: the shapes of its nodes, and what it contains.

use std::ops::RangeBounds;
use std::sync::Arc;
use std::time::Duration;

use endura_engine::Result;
use endura_engine::space::Space;
use endura_engine::tree::fast_fair::{self, LineBinary, Search};
use endura_engine::tree::{Index, TreeCheck, nbtree};
use endura_variants::fast_fair::{Binary, Linear};
use endura_variants::handles::WordMap;

use super::sessions::{Contents, Medium};
use super::{readers, vectors};

pub(crate) use super::sessions::World;

/// A tree with nodes of one size.
pub(crate) trait Shape: 'static {
    type Tree: Index + Clone;

    /// Records that fit in a leaf.
    const CAPACITY: usize;

    /// Whether a writer that stands still stops nobody.
    const LOCK_FREE: bool;

    /// Opens the map, made if there is none.
    fn open(space: &Arc<Space<Medium>>) -> Result<Self::Tree>;

    /// Bytes of the chunk that a node takes, for shapes whose nodes all take the same.
    fn chunk() -> u64;

    /// Walks the whole structure.
    fn check(tree: &Self::Tree, visit: &mut dyn FnMut(u64, u64)) -> Result<TreeCheck>;
}

/// Inner nodes of `INNER` words and leaves of `LEAF` words, 8 of which are the header.
pub(crate) struct Nodes<const INNER: usize, const LEAF: usize, S>(S);

impl<const INNER: usize, const LEAF: usize, S: Search> Shape for Nodes<INNER, LEAF, S> {
    type Tree = fast_fair::Tree<Medium, INNER, LEAF, S>;

    const CAPACITY: usize = (LEAF - 8) / 2;
    const LOCK_FREE: bool = false;

    fn open(space: &Arc<Space<Medium>>) -> Result<Self::Tree> {
        fast_fair::Tree::open(space, "map")
    }

    fn chunk() -> u64 {
        assert_eq!(INNER.div_ceil(8), LEAF.div_ceil(8));
        64 * LEAF.div_ceil(8) as u64
    }

    fn check(tree: &Self::Tree, visit: &mut dyn FnMut(u64, u64)) -> Result<TreeCheck> {
        tree.check(visit)
    }
}

/// NBTree blocks of `W` words, 2 of which are the header, under inner nodes of `FANOUT` children.
pub(crate) struct Blocks<const W: usize, const FANOUT: usize>;

impl<const W: usize, const FANOUT: usize> Shape for Blocks<W, FANOUT> {
    type Tree = nbtree::Tree<Medium, W, FANOUT>;

    const CAPACITY: usize = (W - 2) / 2;
    const LOCK_FREE: bool = true;

    fn open(space: &Arc<Space<Medium>>) -> Result<Self::Tree> {
        nbtree::Tree::open(space, "map")
    }

    fn chunk() -> u64 {
        8 * W as u64
    }

    fn check(tree: &Self::Tree, visit: &mut dyn FnMut(u64, u64)) -> Result<TreeCheck> {
        tree.check(visit)
    }
}

/// The handle of a map of some shape.
pub(crate) type MapOf<S> = WordMap<<S as Shape>::Tree>;

/// Three records in every node: the fewest with which a node can split.
pub(crate) type Cap3 = Nodes<14, 14, Linear>;
/// Four: a node of one line of records.
pub(crate) type Cap4 = Nodes<16, 16, LineBinary>;
/// Inner nodes of 4 and leaves of 8 records: two lines.
pub(crate) type Cap8 = Nodes<16, 24, Binary>;
/// Nodes of 512 bytes on all levels.
pub(crate) type Cap28 = Nodes<64, 64, LineBinary>;
/// What a pool uses where lines are flushed.
pub(crate) type Narrow = Nodes<128, 64, LineBinary>;
/// What a pool uses where nothing is flushed.
pub(crate) type Wide = Nodes<256, 128, LineBinary>;

/// Three slots a block, one line, and the smallest inner nodes.
pub(crate) type Slots3 = Blocks<8, 4>;
/// Seven slots a block, two lines.
pub(crate) type Slots7 = Blocks<16, 5>;
/// What a pool uses.
pub(crate) type Slots63 = Blocks<128, 64>;

impl<S: Shape> Contents for S {
    type Map = MapOf<S>;

    const PAGES: u64 = 64;
    const PATIENCE: Duration = Duration::from_millis(3);

    fn open_map(space: &Arc<Space<Medium>>) -> Result<MapOf<S>> {
        vectors::use_named();
        S::open(space).map(WordMap::over)
    }

    fn check_map(map: &MapOf<S>, visit: &mut dyn FnMut(u64, u64)) -> Result<TreeCheck> {
        S::check(map.index(), visit)
    }

    fn read_in_every_way(map: &MapOf<S>) -> usize {
        readers::read_in_every_way(map)
    }
}

impl<S: Shape> World<S> {
    /// A fresh map with `entries`, inserted in this order.
    pub(crate) fn with(entries: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let world = Self::new();
        for (key, value) in entries {
            world.map().insert(key, value).unwrap();
        }
        world
    }

    /// Bytes of the pool that are in use.
    pub(crate) fn bytes_in_use(&self) -> u64 {
        self.space().stats().bytes_in_use
    }

    /// Chunks that were taken and are neither in the tree nor free again, in bytes.
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.verify_settled().1.leaked
    }

    pub(crate) fn entries(&self) -> Vec<(u64, u64)> {
        let forward: Vec<_> = self.map().range(..).map(|entry| entry.unwrap()).collect();
        assert!(forward.is_sorted_by(|a, b| a.0 < b.0), "sorted, without duplicates: {forward:?}");
        forward
    }

    pub(crate) fn keys(&self) -> Vec<u64> {
        self.entries().into_iter().map(|(key, _)| key).collect()
    }
}

/// Everything in the range.
pub(crate) fn collect<I: Index>(map: &WordMap<I>, range: impl RangeBounds<u64>) -> Vec<(u64, u64)> {
    map.range(range).map(|entry| entry.unwrap()).collect()
}
