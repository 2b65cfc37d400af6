//! Crashes at every step of the allocator and the directory: whatever is linked afterwards must have
//! one owner, in a pool whose every page is accounted for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::layout::DIRECTORY;
use super::*;
use crate::Error;
use crate::media::recorder::{Image, Recorder};
use crate::media::{Ordering, Region};

/// Where the pool above would say that the last session was closed.
const CLEAN: u64 = 0;

const SIZES: [u64; 5] = [512, 1024, 32 << 10, PAGE + 1, 3 * PAGE - 64];

/// A pool with one map whose directory entry links chunks: a stand-in for a tree.
struct Links {
    space: Space<Recorder>,
    map: Arc<MapState>,
    at: u64,
    /// The threads that take turns: a fence of one does not order the flushes of the other.
    workers: RefCell<[Worker; 2]>,
}

impl Links {
    const MAX: usize = 24;

    /// Opens the pool in an image as the layer above does: first it marks it unclean.
    fn open(image: Image, pages: u64) -> Self {
        let fresh = image.word(layout::NEXT_PAGE) == 0;
        let clean = fresh || image.word(CLEAN) != 0;
        let generation = image.word(CLEAN + 8) + 1;
        let medium = recorder(image, pages * PAGE);
        if fresh {
            Space::format(&medium).unwrap();
        }
        write(&medium, CLEAN, 0);
        write(&medium, CLEAN + 8, generation);
        let session = Session { generation, clean, read_only: false };
        let space = Space::mount(medium, session).unwrap();
        let map = space.open_map("links", 1, 0, |_, _| Ok(0)).unwrap();
        let at = map.spare();
        Self { space, map, at, workers: RefCell::new([Worker::new(), Worker::new()]) }
    }

    fn close(self) -> Recorder {
        self.space.save().unwrap();
        write(&self.space.media, CLEAN, 1);
        self.space.media
    }

    fn get(&self, slot: usize) -> Option<(u64, u64)> {
        let word = Region::new(&self.space.media, self.at, Self::MAX).unwrap();
        link(word.load(slot, Ordering::Relaxed))
    }

    fn set(&self, slot: usize, value: u64) {
        write(&self.space.media, self.at + 8 * slot as u64, value);
    }

    /// Runs one operation on the thread whose turn it is.
    fn turn(&self, work: impl FnOnce()) {
        let mut workers = self.workers.borrow_mut();
        workers[0].run(work);
        workers.reverse();
    }

    fn put(&self, slot: usize, size: usize) {
        self.turn(|| self.put_now(slot, size));
    }

    fn remove(&self, slot: usize) {
        self.turn(|| self.remove_now(slot));
    }

    /// Allocates a chunk and links it.
    fn put_now(&self, slot: usize, size: usize) {
        let at = self.space.with_room(|| self.space.pin_mut()?.alloc(SIZES[size])).unwrap();
        if SIZES[size] > PAGE {
            // Data where the header of the second page would be, made to look like one.
            let header = alloc::header::line(&self.space.media, at / PAGE).unwrap();
            let word = header.load(0, Ordering::Relaxed) | 0xFF00;
            write(&self.space.media, (at / PAGE + 1) * PAGE, word);
        }
        self.set(slot, (at << 3) | (size as u64 + 1));
        self.map.add(1);
    }

    /// Unlinks a chunk and retires it.
    fn remove_now(&self, slot: usize) {
        let (at, bytes) = self.get(slot).unwrap();
        self.set(slot, 0);
        self.map.add(-1);
        self.space.pin_mut().unwrap().retire(at, bytes);
        self.space.relieve().unwrap();
    }
}

fn link(word: u64) -> Option<(u64, u64)> {
    (word != 0).then(|| (word >> 3, SIZES[(word & 7) as usize - 1]))
}

/// Stores a word, durably.
fn write(medium: &Recorder, at: u64, value: u64) {
    let word = Region::new(medium, at, 1).unwrap();
    word.store(0, value, Ordering::Release);
    word.flush(0, 1);
    medium.fence();
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Opens what a crash left and uses it.
fn check(image: Image, pages: u64) {
    // A crash of the format itself leaves no pool: the superblock comes after it.
    if image.word(layout::NEXT_PAGE) == 0 {
        return;
    }
    let clean = image.word(CLEAN) != 0;
    let links = Links::open(image, pages + 12);
    let space = &links.space;
    let linked: Vec<(u64, u64)> = (0..Links::MAX).filter_map(|slot| links.get(slot)).collect();
    {
        let quiesced = space.quiesce().unwrap();
        let mut partition = quiesced.partition().unwrap();
        linked.iter().for_each(|&(at, bytes)| partition.reach(at, bytes).unwrap());
        let shares = partition.finish().unwrap();
        assert!(shares.reached >= linked.iter().map(|l| l.1).sum());
        if clean {
            assert_eq!(shares.leaked, 0, "a clean close keeps all free space");
            assert_eq!((links.map.counted(), links.map.sum()), (Counted::All, linked.len() as u64));
        }
    }
    let mut owned: Vec<Range<u64>> = linked.iter().map(|&(at, n)| at..at + n).collect();
    let guard = space.pin_mut().unwrap();
    for bytes in [512, 1024, 2 * PAGE, 512, 32 << 10, PAGE] {
        let at = guard.alloc(bytes).unwrap();
        let new = at..at + bytes;
        assert!(owned.iter().all(|old| !overlap(old, &new)), "{new:x?} among {owned:x?}");
        owned.push(new);
    }
    linked.iter().for_each(|&(at, bytes)| guard.discard(at, bytes));
    drop(guard);
    space.reclaim(&space.pin_mut().unwrap()).unwrap();
    assert!(!space.is_poisoned());
}

/// Runs `work` on an empty pool and crashes it everywhere; how many images there were.
fn crash_everywhere(pages: u64, work: impl FnOnce(Links) -> Recorder) -> usize {
    let recorder = work(Links::open(Image::default(), pages));
    let mut images = 0;
    recorder.crashes(0, |_, image| {
        images += 1;
        check(image, pages);
    });
    images
}

#[test]
fn growing_and_taking_pages() {
    let images = crash_everywhere(12, |links| {
        (0..5).for_each(|i| links.put(i, i));
        links.space.media
    });
    assert!(images > 100, "{images}");
}

#[test]
fn pages_that_change_their_class() {
    crash_everywhere(4, |links| {
        for round in 0..3 {
            links.put(0, round % 3);
            links.remove(0);
            links.space.reclaim(&links.space.pin_mut().unwrap()).unwrap();
        }
        links.put(1, 0);
        links.put(0, 2);
        links.remove(1);
        links.space.reclaim(&links.space.pin_mut().unwrap()).unwrap();
        links.put(2, 1);
        links.space.media
    });
}

#[test]
fn runs_whose_pages_are_used_again() {
    crash_everywhere(6, |links| {
        links.put(0, 4);
        links.remove(0);
        // The second page of the run becomes one of chunks while the first is another's.
        links.put(1, 0);
        links.put(2, 1);
        links.put(3, 2);
        links.remove(1);
        links.space.reclaim(&links.space.pin_mut().unwrap()).unwrap();
        links.put(4, 0);
        links.remove(2);
        links.remove(3);
        links.space.reclaim(&links.space.pin_mut().unwrap()).unwrap();
        links.put(5, 3);
        links.remove(5);
        links.put(6, 4);
        links.space.media
    });
}

#[test]
fn saved_space_is_used_once() {
    let links = Links::open(Image::default(), 8);
    links.put(0, 0);
    links.put(1, 3);
    links.put(2, 2);
    links.remove(1);
    let recorder = links.close();
    recorder.crashes(0, |_, image| check(image, 8));
    // The second session starts from the clean close and uses what was saved.
    let links = Links::open(recorder.image(), 8);
    assert_eq!(links.space.stats().pages, 5);
    links.put(3, 0);
    links.put(4, 1);
    links.put(5, 2);
    assert_eq!(links.space.stats().pages, 5, "what was free is used");
    let recorder = links.close();
    recorder.crashes(0, |_, image| check(image, 8));
}

/// What the directory must show from some moment on: each map that may be there, and whether it must.
type Expected = BTreeMap<&'static str, (u8, bool)>;

fn make(guard: &Guard<'_, Recorder>, _: u64) -> crate::Result<u64> {
    let at = guard.alloc(512)?;
    write(guard.media(), at, 0xC0FFEE);
    Ok(at)
}

/// Opens what a crash left and compares the maps with what was acknowledged.
fn check_maps(image: Image, expected: &Expected) {
    let session = Session { generation: 2, clean: false, read_only: false };
    let next = Space::mount(recorder(image, 9 * PAGE), session).unwrap();
    let maps = next.maps().unwrap();
    for map in maps.iter().filter(|map| !map.name().starts_with("filler")) {
        let &(kind, _) = &expected[map.name()];
        assert_eq!((map.kind(), map.parameters()), (kind, 11 * u64::from(kind)));
        let root = Region::new(&next.media, map.root(), 1).unwrap().load(0, Ordering::Relaxed);
        let node = Region::new(&next.media, root, 1).unwrap();
        assert_eq!(node.load(0, Ordering::Relaxed), 0xC0FFEE);
    }
    for (name, &(_, acknowledged)) in expected {
        assert!(!acknowledged || maps.iter().any(|map| map.name() == *name), "{name} is lost");
    }
    let again = next.open_map("another", 200, 0, make).unwrap();
    assert!(maps.iter().all(|map| map.entry() != again.entry()));
}

const LONG: &str = "second map, with a name beyond one line of sixty-four bytes";

#[test]
fn maps_come_and_go_whole() {
    let space = mounted(recorder(Image::default(), 4 * PAGE));
    let start = space.media.moment();
    let free = |guard: &Guard<'_, Recorder>, map: &MapState| {
        guard.discard(Region::new(guard.media(), map.root(), 1)?.load(0, Ordering::Relaxed), 512);
        Ok(())
    };
    let mut workers = [Worker::new(), Worker::new()];
    let mut expected = vec![];
    let mut now = Expected::new();
    for step in 0..5 {
        // While the step is under way the map may be there or not; afterwards it is or is not.
        let (name, kind) = [("first", 2), ("first", 2), (LONG, 3), ("first", 4), (LONG, 3)][step];
        now.insert(name, (kind, false));
        expected.push((space.media.moment(), now.clone()));
        workers[step % 2].run(|| match step {
            1 | 4 => assert!(space.drop_map(name, free).unwrap()),
            _ => _ = space.open_map(name, kind, 11 * u64::from(kind), make).unwrap(),
        });
        match step {
            1 | 4 => _ = now.remove(name),
            _ => _ = now.insert(name, (kind, true)),
        }
        expected.push((space.media.moment(), now.clone()));
    }
    space.media.crashes(start, |moment, image| {
        let expected = expected.iter().rfind(|(since, _)| *since <= moment);
        check_maps(image, &expected.unwrap().1);
    });
}

#[test]
fn a_directory_grows_into_a_page_that_was_used_before() {
    let space = mounted(recorder(Image::default(), 8 * PAGE));
    {
        // Stale bytes at every place where the new page will have an entry: kind 9, of 77 letters.
        // Two pages of them, for the lower one will hold nodes.
        let guard = space.pin_mut().unwrap();
        let chunks: Vec<u64> = (0..2 * 4095).map(|_| guard.alloc(512).unwrap()).collect();
        for at in chunks {
            write(&space.media, at, 1);
            write(&space.media, at + 8, 77 << 56 | 9);
            guard.discard(at, 512);
        }
    }
    space.reclaim(&space.pin_mut().unwrap()).unwrap();
    let entries = (layout::DIRECTORY_END - DIRECTORY) / layout::ENTRY;
    for i in 0..entries {
        space.open_map(&format!("filler {i}"), 1, 0, |_, _| Ok(1)).unwrap();
    }
    // A session of its own for the step that is looked at. The old page is free in it.
    space.save().unwrap();
    let session = Session { generation: 2, clean: true, read_only: false };
    let space = Space::mount(recorder(space.media.image(), 8 * PAGE), session).unwrap();
    let mut workers = [Worker::new(), Worker::new()];
    // So that no new page is taken below, which would write the line of the link back as well.
    workers[1].run(|| space.pin_mut().unwrap().alloc(512).unwrap());
    let start = space.media.moment();
    // One thread links the page and then fails, another one relies on the link.
    let failed = workers[0].run(|| space.open_map("none", 9, 0, |_, _| Err(Error::Poisoned)));
    assert!(failed.is_err());
    workers[1].run(|| space.open_map("first", 2, 22, make).unwrap());
    let end = space.media.moment();
    let entry = space.find_map("first").unwrap().unwrap().entry();
    assert_eq!(entry, 2 * PAGE + layout::ENTRY);
    let mut images = 0;
    space.media.crashes(start, |moment, image| {
        images += 1;
        check_maps(image, &Expected::from([("first", (2, moment >= end))]));
    });
    assert!(images > 50, "{images}");
}

#[test]
fn any_allocation_may_fail() {
    let node = |guard: &Guard<'_, Recorder>| guard.alloc(512);
    for n in 1.. {
        let links = Links::open(Image::default(), 12);
        let space = &links.space;
        space.media.refuse(n);
        let mut failed = 0;
        let made = space.open_map("m", 2, 0, |guard, _| {
            let first = node(guard)?;
            let second = node(guard).inspect_err(|_| guard.discard(first, 512))?;
            guard.discard(second, 512);
            guard.discard(first, 512);
            Ok(0)
        });
        failed += usize::from(made.is_err());
        assert_eq!(space.find_map("m").unwrap().is_some(), made.is_ok());
        for bytes in SIZES {
            let at = space.pin_mut().unwrap().alloc(bytes);
            failed += usize::from(matches!(at, Err(Error::Full { .. })));
            let at = at.or_else(|_| space.pin_mut()?.alloc(bytes)).unwrap();
            space.pin_mut().unwrap().discard(at, bytes);
        }
        let shares = space.quiesce().unwrap().partition().unwrap().finish().unwrap();
        assert_eq!(shares.leaked, 0);
        if failed == 0 {
            assert_eq!(n, 8, "seven allocations were refused, one in each round");
            return;
        }
        assert_eq!(failed, 1);
    }
}
