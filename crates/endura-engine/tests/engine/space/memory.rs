//! What is removed is copied at most once, for whom it is given to; what is popped, twice. And what a map takes that is there.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{self, Read};

use endura::{Map, MapOptions, Pool};
use endura_engine::Kind;

thread_local! {
    /// Bytes that the calling thread has on the heap, and the most there were of them.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

struct Counted;

fn hold(bytes: isize) {
    // Not while the thread ends.
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: the system's allocator does all of it.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        hold(layout.size() as isize);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        hold(layout.size() as isize);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static HEAP: Counted = Counted;

/// Bytes that the calling thread has on the heap.
pub(super) fn held() -> isize {
    HELD.get().0
}

/// The most that `work` has on the heap at a time, in values.
fn copies(map: &Map<str, [u8]>, work: impl FnOnce(&Map<str, [u8]>)) -> f64 {
    const VALUE: usize = 4 << 20;
    let zeros =
        |out: &mut dyn io::Write| io::copy(&mut io::repeat(0).take(VALUE as u64), out).map(drop);
    map.insert_from("big", VALUE, zeros).unwrap();
    let (before, _) = HELD.get();
    HELD.set((before, before));
    work(map);
    (HELD.get().1 - before) as f64 / VALUE as f64
}

#[test]
fn a_value_that_is_removed_is_copied_no_more_often_than_it_must() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::options().max_size(1 << 30).create_new(folder.path().join("pool")).unwrap();
    let map = pool.map::<str, [u8]>("m").unwrap();
    let none = [
        ("clear", copies(&map, |map| map.clear().unwrap())),
        ("remove_range", copies(&map, |map| assert_eq!(map.remove_range("a".."c").unwrap(), 1))),
        ("is_empty", copies(&map, |map| assert!(!map.is_empty().unwrap()))),
    ];
    for (what, copies) in none {
        assert!(copies < 0.1, "{what}: {copies} copies");
    }
    let one = [
        ("retain", copies(&map, |map| assert_eq!(map.retain(|_, _| false).unwrap(), 1))),
        ("remove", copies(&map, |map| drop(map.remove("big").unwrap()))),
        ("alter", copies(&map, |map| drop(map.alter("big", |_| None).unwrap()))),
    ];
    for (what, copies) in one {
        assert!((0.9..1.1).contains(&copies), "{what}: {copies} copies");
    }
    // One to find the entry again, and one that is given out.
    let two = [
        ("pop_first", copies(&map, |map| assert!(map.pop_first().unwrap().is_some()))),
        ("pop_last", copies(&map, |map| assert!(map.pop_last().unwrap().is_some()))),
    ];
    for (what, copies) in two {
        assert!((0.9..2.1).contains(&copies), "{what}: {copies} copies");
    }
}

/// What a pool keeps on the heap for a map that has one entry, until the map is dropped or the pool closed. The first
/// map of each kind makes what all of them share, and is not counted.
#[test]
fn a_map_with_one_entry_takes_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::options().max_size(1 << 30).create_new(folder.path().join("pool")).unwrap();
    let touched = |name: &str, kind| {
        let options = MapOptions::new().kind(kind);
        pool.map_with::<u64, u64>(name, options).unwrap().insert(1, 1).unwrap();
    };
    for (kind, most) in [(Kind::FastFair, 1024), (Kind::Roart, 1024), (Kind::NbTree, 12 << 10)] {
        touched(&format!("first {kind}"), kind);
        let (before, _) = HELD.get();
        (0..20).for_each(|n| touched(&format!("{kind} {n}"), kind));
        let bytes = (HELD.get().0 - before) / 20;
        println!("{kind}: {bytes} bytes of memory for a map with one entry");
        assert!(bytes <= most, "{kind}: {bytes} bytes");
    }
}
