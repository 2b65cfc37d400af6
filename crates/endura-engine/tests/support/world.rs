//! A map on a medium that the test directs, which can be reopened and crashed.

use std::ops::RangeBounds;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use endura_engine::Result;
use endura_engine::media::{Heap, Media, Region};
use endura_engine::space::{PAGE, Session, Space};
use endura_engine::tree::fast_fair::{self, LineBinary, Search};
use endura_engine::tree::{Index, TreeCheck, nbtree};
use endura_variants::fast_fair::{Binary, Linear};
use endura_variants::handles::WordMap;
use endura_variants::media::Staged;

use super::readers::read_in_every_way;
use super::vectors;

/// The medium below a map under test. The test keeps one owner, the map has the other.
pub(crate) type Medium = Arc<Staged<Heap>>;

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

/// The session word that says how many pages were ever taken (`docs/design.md`).
const NEXT_PAGE: u64 = 8192;

/// Room for the pool's own pages and for some thousand tiny nodes. What a crash leaves half used is
/// not used again before a leak recovery, so every session may need pages of its own.
const BYTES: u64 = 64 * PAGE;

pub(crate) struct World<S: Shape> {
    medium: Medium,
    generation: u64,
    space: Arc<Space<Medium>>,
    map: MapOf<S>,
}

impl<S: Shape> World<S> {
    /// An empty map on a fresh medium.
    pub(crate) fn new() -> Self {
        Self::on(Heap::new(BYTES))
    }

    /// An empty map on a medium that wants its flushes: readers help.
    pub(crate) fn adr() -> Self {
        Self::on(Heap::adr(BYTES))
    }

    /// An empty map on a fresh medium of so many pages.
    pub(crate) fn of_pages(pages: u64) -> Self {
        Self::on(Heap::new(pages * PAGE))
    }

    fn on(heap: Heap) -> Self {
        let medium = Arc::new(Staged::new(heap));
        Space::format(&medium).unwrap();
        Self::mount(medium, 1, true).unwrap()
    }

    fn mount(medium: Medium, generation: u64, clean: bool) -> Result<Self> {
        vectors::use_named();
        let session = Session { generation, clean, read_only: false };
        if generation > 1 {
            // Whatever a test does to a pool: who only reads what it left stores nothing.
            read_in_every_way::<S>(&medium, session);
        }
        let space = Arc::new(Space::mount(Arc::clone(&medium), session)?);
        let map = WordMap::over(S::open(&space)?);
        Ok(Self { medium, generation, space, map })
    }

    /// A fresh map with `entries`, inserted in this order.
    pub(crate) fn with(entries: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let world = Self::new();
        for (key, value) in entries {
            world.map.insert(key, value).unwrap();
        }
        world
    }

    pub(crate) fn space(&self) -> &Arc<Space<Medium>> {
        &self.space
    }

    pub(crate) fn map(&self) -> &MapOf<S> {
        &self.map
    }

    pub(crate) fn stage(&self) -> &Staged<Heap> {
        &self.medium
    }

    /// Ends the session as a killed process does (nothing is written any more) and starts the
    /// next one on the same medium.
    pub(crate) fn killed(self) -> Self {
        let (medium, generation) = (Arc::clone(&self.medium), self.generation + 1);
        self.end();
        Self::mount(medium, generation, false).unwrap()
    }

    /// Closes the pool and opens it again.
    pub(crate) fn closed(self) -> Self {
        assert!(self.space.close().unwrap(), "nobody is inside an operation");
        self.space.save().unwrap();
        let (medium, generation) = (Arc::clone(&self.medium), self.generation + 1);
        self.end();
        Self::mount(medium, generation, true).unwrap()
    }

    /// Returns when nobody uses the space of this session any more; a count may be under way.
    fn end(self) {
        let Self { space, map, .. } = self;
        drop(map);
        while Arc::strong_count(&space) > 1 {
            std::thread::yield_now();
        }
    }

    /// The map as the next session finds it if the process is killed at this moment. The world
    /// itself goes on.
    pub(crate) fn crashed(&self) -> Self {
        let medium = Arc::new(Staged::new(copy(self.medium.inner())));
        Self::mount(medium, self.generation + 1, false).unwrap()
    }

    /// Checks the whole structure.
    pub(crate) fn verify(&self) -> TreeCheck {
        S::check(self.map.index(), &mut |_, _| ()).expect("the structure is sound")
    }

    /// Bytes of the pool that are in use.
    pub(crate) fn bytes_in_use(&self) -> u64 {
        self.space.stats().bytes_in_use
    }

    /// Chunks that were taken and are neither in the tree nor free again, in bytes.
    pub(crate) fn lost_bytes(&self) -> u64 {
        while self.space.stats().limbo_bytes > 0 {
            self.space.relieve().unwrap();
        }
        let mut chunks = Vec::new();
        S::check(self.map.index(), &mut |at, bytes| chunks.push((at, bytes))).unwrap();
        let quiesced = self.space.quiesce().unwrap();
        let mut check = quiesced.check().unwrap();
        chunks.into_iter().for_each(|(at, bytes)| check.reach(at, bytes).unwrap());
        check.finish().unwrap().leaked
    }

    pub(crate) fn entries(&self) -> Vec<(u64, u64)> {
        let forward: Vec<_> = self.map.range(..).map(|entry| entry.unwrap()).collect();
        assert!(forward.is_sorted_by(|a, b| a.0 < b.0), "sorted, without duplicates: {forward:?}");
        forward
    }

    pub(crate) fn keys(&self) -> Vec<u64> {
        self.entries().into_iter().map(|(key, _)| key).collect()
    }
}

/// The pages that `from` has in use at this moment, word by word.
fn copy(from: &Heap) -> Heap {
    let to = if from.needs_flush() { Heap::adr(from.len()) } else { Heap::new(from.len()) };
    let pages_ever_taken = Region::new(from, NEXT_PAGE, 1).unwrap().load(0, Ordering::Acquire);
    let words = (pages_ever_taken * PAGE).min(from.len()) as usize / 8;
    let source = Region::new(from, 0, words).unwrap();
    let target = Region::new(&to, 0, words).unwrap();
    for i in 0..words {
        // Zeros stay untouched: most of a page is never used here.
        match source.load(i, Ordering::Acquire) {
            0 => {}
            word => target.store(i, word, Ordering::Relaxed),
        }
    }
    to
}

/// Everything in the range.
pub(crate) fn collect<I: Index>(map: &WordMap<I>, range: impl RangeBounds<u64>) -> Vec<(u64, u64)> {
    map.range(range).map(|entry| entry.unwrap()).collect()
}
