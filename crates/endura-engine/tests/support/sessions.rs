//! A pool with one map on a medium that the test directs, which can be closed, killed and crashed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use endura_engine::media::{Heap, Media, Region};
use endura_engine::space::{PAGE, Session, Shares, Space};
use endura_engine::tree::TreeCheck;
use endura_engine::{Error, Result};
use endura_variants::media::Staged;

/// The medium below a map under test. The test keeps one owner, the map has the other.
pub(crate) type Medium = Arc<Staged<Heap>>;

/// The session word that says how many pages were ever taken (`docs/design.md`).
const NEXT_PAGE: u64 = 8192;

/// What the pool of a [`World`] contains: one map of some kind.
pub(crate) trait Contents: 'static {
    type Map: Send + Sync;

    /// How many pages the pool has, unless a test says another number. What a crash leaves half used is not used again
    /// before a leak recovery, so every session may need pages of its own.
    const PAGES: u64;

    /// How long another thread may take for a few operations before it counts as blocked by a lock that a stopped
    /// thread holds.
    const PATIENCE: Duration;

    /// Opens the map. Makes it if there is none and the session may write.
    fn open_map(space: &Arc<Space<Medium>>) -> Result<Self::Map>;

    /// Walks the whole structure.
    fn check_map(map: &Self::Map, visit: &mut dyn FnMut(u64, u64)) -> Result<TreeCheck>;

    /// Reads all of the map in every way there is, and compares the answers; tries to write and is refused. For a
    /// session that may only read. Returns the number of entries.
    fn read_in_every_way(map: &Self::Map) -> usize;
}

/// An open pool.
pub(crate) struct World<C: Contents> {
    medium: Medium,
    space: Arc<Space<Medium>>,
    map: C::Map,
}

impl<C: Contents> World<C> {
    /// An empty map on a fresh medium.
    pub(crate) fn new() -> Self {
        Self::of_pages(C::PAGES)
    }

    /// An empty map on a medium that wants its flushes: readers help.
    pub(crate) fn adr() -> Self {
        Self::on(Heap::adr(C::PAGES * PAGE))
    }

    /// An empty map on a fresh medium of this many pages.
    pub(crate) fn of_pages(pages: u64) -> Self {
        Self::on(Heap::new(pages * PAGE))
    }

    fn on(heap: Heap) -> Self {
        let medium = Arc::new(Staged::new(heap));
        Space::format(&medium).unwrap();
        Self::mount(medium, 1, true)
    }

    fn mount(medium: Medium, generation: u64, clean: bool) -> Self {
        let session = Session { generation, clean, read_only: false };
        if generation > 1 {
            // Whatever a test does to a pool: who only reads what it left stores nothing.
            read_only::<C>(&medium, session);
        }
        let space = Arc::new(Space::mount(Arc::clone(&medium), session).unwrap());
        let map = C::open_map(&space).unwrap();
        Self { medium, space, map }
    }

    pub(crate) fn map(&self) -> &C::Map {
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

    /// Closes the pool and opens it again as one with other contents.
    pub(crate) fn closed_as<D: Contents>(self) -> World<D> {
        assert!(self.space.close().unwrap(), "nobody is inside an operation");
        self.space.save().unwrap();
        self.next(true)
    }

    /// Ends the session as a killed process does (nothing is written any more) and starts the
    /// next one on the same medium.
    pub(crate) fn killed(self) -> Self {
        self.next(false)
    }

    /// The next session, once nobody uses the space of this one any more; a count may be under way.
    fn next<D: Contents>(self, clean: bool) -> World<D> {
        let Self { medium, space, map } = self;
        drop(map);
        while Arc::strong_count(&space) > 1 {
            std::thread::yield_now();
        }
        let next = space.generation() + 1;
        drop(space);
        World::mount(medium, next, clean)
    }

    /// The map as the next session finds it if the process is killed at this moment. The world
    /// itself goes on.
    pub(crate) fn crashed(&self) -> Self {
        let medium = Arc::new(Staged::new(copy(self.medium.inner())));
        Self::mount(medium, self.space.generation() + 1, false)
    }

    /// Checks the whole structure.
    pub(crate) fn verify(&self) -> TreeCheck {
        C::check_map(&self.map, &mut |_, _| ()).expect("the structure is sound")
    }

    /// Checks the whole structure, and that every chunk has one owner.
    pub(crate) fn verify_owners(&self) -> (TreeCheck, Shares) {
        verify_owners::<C>(&self.space, &self.map)
    }

    /// The same, once no chunk waits any more for threads that may read it.
    pub(crate) fn verify_settled(&self) -> (TreeCheck, Shares) {
        while self.space.stats().limbo_bytes > 0 {
            self.space.relieve().unwrap();
        }
        self.verify_owners()
    }
}

fn verify_owners<C: Contents>(space: &Space<Medium>, map: &C::Map) -> (TreeCheck, Shares) {
    let quiesced = space.quiesce().unwrap();
    let mut check = quiesced.check().unwrap();
    let found = C::check_map(map, &mut |at, bytes| check.reach(at, bytes).unwrap());
    (found.expect("the structure is sound"), check.finish().unwrap())
}

/// A session that only reads: on what a kill or a close has left, it reads in every way there is, and stores
/// nothing. (A store to a file that is mapped to be read only ends the process; here it panics.)
fn read_only<C: Contents>(medium: &Medium, session: Session) {
    medium.set_sealed(true);
    let session = Session { read_only: true, ..session };
    let space = Arc::new(Space::mount(Arc::clone(medium), session).unwrap());
    match C::open_map(&space) {
        // Killed before there was a map.
        Err(Error::NoSuchMap { .. }) => {}
        map => {
            let map = map.unwrap();
            let entries = C::read_in_every_way(&map);
            assert_eq!(verify_owners::<C>(&space, &map).0.entries, entries as u64);
        }
    }
    assert!(matches!(space.relieve(), Err(Error::ReadOnly)));
    let dropped = space.drop_map("map", |_| Ok(Box::new(|_, _, _, _| Ok(true))));
    assert!(matches!(dropped, Err(Error::ReadOnly)));
    space.stats();
    assert!(space.close().unwrap());
    assert!(matches!(space.save(), Err(Error::ReadOnly)));
    drop(space);
    medium.set_sealed(false);
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
