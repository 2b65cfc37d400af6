//! A map on a medium that the test directs, which can be reopened and crashed.

use std::ops::RangeBounds;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use endura::Result;
use endura::media::{Heap, Media, Region, Staged};
use endura::pool::PAGE;

pub(crate) use super::stub::*;

/// The medium below a map under test. The test keeps one owner, the map has the other.
pub(crate) type Medium = Arc<Staged<Heap>>;

/// The session word that says how many pages were ever taken (`docs/design.md`).
const NEXT_PAGE: u64 = 8192;

/// Room for the pool's own pages and for some thousand tiny nodes.
const BYTES: u64 = 64 * PAGE;

/// A tree with nodes of one size, and how to get one on a medium.
pub(crate) trait Shape: 'static {
    type Map: OrderedMap + Send + Sync + 'static;

    /// Records that fit in a leaf and in an inner node.
    const CAPACITY: (usize, usize);

    /// Formats the medium and makes an empty map on it.
    fn create(medium: Medium) -> Self::Map;

    /// Opens the map that is on the medium, in a session of the generation given.
    fn mount(medium: Medium, generation: u64) -> Result<Self::Map>;

    /// Walks the whole structure.
    fn verify(map: &Self::Map) -> Result<Facts>;

    /// Bytes of the pages that the pool has taken.
    fn bytes_in_use(map: &Self::Map) -> u64;

    /// Bytes of the pages in use that are neither in a node of the tree nor in a free chunk.
    fn other_bytes(map: &Self::Map) -> u64;
}

/// What a walk over the whole tree found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) entries: u64,
    pub(crate) nodes: u64,
    pub(crate) height: u64,
    /// States that the next writer repairs.
    pub(crate) repairs_pending: u64,
}

pub(crate) struct World<S: Shape> {
    medium: Medium,
    generation: u64,
    map: S::Map,
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

    /// An empty map on a fresh medium of so many pages. What a crash leaves half used is not used
    /// again before a collection, so every session may need pages of its own.
    pub(crate) fn of_pages(pages: u64) -> Self {
        Self::on(Heap::new(pages * PAGE))
    }

    fn on(heap: Heap) -> Self {
        let medium = Arc::new(Staged::new(heap));
        let map = S::create(Arc::clone(&medium));
        Self { medium, generation: 1, map }
    }

    /// A fresh map with `entries`, inserted in this order.
    pub(crate) fn with(entries: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let world = Self::new();
        for (key, value) in entries {
            world.map.insert(key, value).unwrap();
        }
        world
    }

    pub(crate) fn map(&self) -> &S::Map {
        &self.map
    }

    pub(crate) fn stage(&self) -> &Staged<Heap> {
        &self.medium
    }

    /// Ends the session as a killed process does (nothing is written any more) and starts the
    /// next one on the same medium.
    pub(crate) fn reopen(self) -> Self {
        let Self { medium, generation, map } = self;
        drop(map);
        let map = S::mount(Arc::clone(&medium), generation + 1).unwrap();
        Self { medium, generation: generation + 1, map }
    }

    /// The map as the next session finds it if the process is killed at this moment. The world
    /// itself goes on.
    pub(crate) fn crashed(&self) -> Self {
        let heap = copy(self.medium.inner());
        let medium = Arc::new(Staged::new(heap));
        let map = S::mount(Arc::clone(&medium), self.generation + 1).unwrap();
        Self { medium, generation: self.generation + 1, map }
    }

    /// Checks the whole structure, and that no step of a change is left half done.
    pub(crate) fn verify(&self) -> Facts {
        S::verify(&self.map).expect("the structure is sound")
    }

    /// Bytes of the pages that the pool has taken.
    pub(crate) fn bytes_in_use(&self) -> u64 {
        S::bytes_in_use(&self.map)
    }

    /// Bytes of the pages in use that are neither in a node of the tree nor in a free chunk: page
    /// 0, the headers of pages, and what leaked.
    pub(crate) fn other_bytes(&self) -> u64 {
        S::other_bytes(&self.map)
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
pub(crate) fn collect(map: &impl OrderedMap, range: impl RangeBounds<u64>) -> Vec<(u64, u64)> {
    map.range(range).map(|entry| entry.unwrap()).collect()
}
