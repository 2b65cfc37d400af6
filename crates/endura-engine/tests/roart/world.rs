//! A map on a medium that the test directs, which can be reopened and crashed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use endura_engine::Result;
use endura_engine::media::{Heap, Media, Region};
use endura_engine::space::{PAGE, Session, Shares, Space};
use endura_engine::tree::roart::{Techniques, Tree};
use endura_engine::tree::{Len, TreeCheck};
use endura_variants::handles::{ByteEntry, ByteMap};
use endura_variants::media::Staged;

use crate::readers::read_in_every_way;

/// The medium below a map under test. The test keeps one owner, the map has the other.
pub(crate) type Medium = Arc<Staged<Heap>>;

pub(crate) type MapOf<T> = ByteMap<Tree<Medium, T>>;

/// The session word that says how many pages were ever taken (`docs/design.md`).
const NEXT_PAGE: u64 = 8192;

/// Room for many sessions: what a crash leaves half used is not used again before a leak recovery.
const PAGES: u64 = 512;

pub(crate) struct World<T: Techniques> {
    medium: Medium,
    generation: u64,
    space: Arc<Space<Medium>>,
    map: MapOf<T>,
}

impl<T: Techniques> World<T> {
    /// An empty map on a fresh medium.
    pub(crate) fn new() -> Self {
        Self::on(Heap::new(PAGES * PAGE))
    }

    /// An empty map on a medium that wants its flushes: words carry tags, readers help.
    pub(crate) fn adr() -> Self {
        Self::on(Heap::adr(PAGES * PAGE))
    }

    /// An empty map on a medium of so many pages.
    pub(crate) fn of_pages(pages: u64) -> Self {
        Self::on(Heap::new(pages * PAGE))
    }

    fn on(heap: Heap) -> Self {
        let medium = Arc::new(Staged::new(heap));
        Space::format(&medium).unwrap();
        Self::mount(medium, 1, true).unwrap()
    }

    /// The map with these entries, whose values are their keys.
    pub(crate) fn with<K: AsRef<[u8]>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        for key in keys {
            assert_eq!(self.map.insert(&key, &key).unwrap(), None);
        }
        self
    }

    fn mount(medium: Medium, generation: u64, clean: bool) -> Result<Self> {
        let session = Session { generation, clean, read_only: false };
        if generation > 1 {
            // Whatever a test does to a pool: who only reads what it left stores nothing.
            read_in_every_way::<T>(&medium, session);
        }
        let space = Arc::new(Space::mount(Arc::clone(&medium), session)?);
        let map = ByteMap::over(Tree::open(&space, "map")?);
        Ok(Self { medium, generation, space, map })
    }

    pub(crate) fn map(&self) -> &MapOf<T> {
        &self.map
    }

    pub(crate) fn space(&self) -> &Arc<Space<Medium>> {
        &self.space
    }

    pub(crate) fn stage(&self) -> &Staged<Heap> {
        &self.medium
    }

    /// Closes the pool and opens it again.
    pub(crate) fn closed(self) -> Self {
        self.closed_as()
    }

    /// Closes the pool and opens it again with other techniques.
    pub(crate) fn closed_as<U: Techniques>(self) -> World<U> {
        assert!(self.space.close().unwrap(), "nobody is inside an operation");
        self.space.save().unwrap();
        let (medium, generation) = (Arc::clone(&self.medium), self.generation + 1);
        self.end();
        World::mount(medium, generation, true).unwrap()
    }

    /// Opens the pool as after a killed process.
    pub(crate) fn killed(self) -> Self {
        let (medium, generation) = (Arc::clone(&self.medium), self.generation + 1);
        self.end();
        Self::mount(medium, generation, false).unwrap()
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
    pub(crate) fn check(&self) -> TreeCheck {
        self.map.index().check(&mut |_, _| ()).expect("the structure is sound")
    }

    /// Checks the whole structure, and that every chunk has one owner.
    pub(crate) fn verify(&self) -> (TreeCheck, Shares) {
        let quiesced = self.space.quiesce().unwrap();
        let mut check = quiesced.check().unwrap();
        let found = self.map.index().check(&mut |at, bytes| check.reach(at, bytes).unwrap());
        (found.expect("the structure is sound"), check.finish().unwrap())
    }

    /// Checks the structure of a map that no crash ever met: nothing is left undone, nothing leaks.
    pub(crate) fn verify_tidy(&self) -> TreeCheck {
        while self.space.stats().limbo_bytes > 0 {
            self.space.relieve().unwrap();
        }
        let (check, shares) = self.verify();
        assert_eq!(
            (check.repairs.dirty, check.repairs.barren, shares.leaked),
            (0, 0, 0),
            "{check:?}"
        );
        if let Len::Exact(len) = self.map.len().unwrap() {
            assert_eq!(len, check.entries);
        }
        check
    }

    /// The entries, which both directions agree on.
    pub(crate) fn entries(&self) -> Vec<ByteEntry> {
        let entries: Vec<_> = self.map.iter().map(|entry| entry.unwrap()).collect();
        assert!(entries.is_sorted_by(|a, b| a.0 < b.0), "sorted, without duplicates");
        let mut backward: Vec<_> = self.map.iter().rev().map(|entry| entry.unwrap()).collect();
        backward.reverse();
        assert_eq!(entries, backward);
        entries
    }

    pub(crate) fn keys(&self) -> Vec<Vec<u8>> {
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
