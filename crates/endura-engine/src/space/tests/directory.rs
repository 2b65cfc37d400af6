//! Named maps.

use std::sync::Arc;

use super::*;
use crate::Error;
use crate::media::{Ordering, Region};
use crate::types::Types;

fn no_nodes(_: &Guard<'_, impl Media>, _: u64) -> crate::Result<u64> {
    Ok(7)
}

fn reopened(space: &Space<Heap>) -> Space<Heap> {
    Space::mount(copy(space.media()), Session { generation: 2, clean: false, read_only: false })
        .unwrap()
}

#[test]
fn a_map_keeps_its_name_kind_parameters_and_root() {
    let space = pool(4);
    let longest = "\u{e4}".repeat(127) + "x";
    for (name, kind) in [("a", 1), (&longest, 255), ("with space/\n", 3)] {
        let map = space.open_map(name, kind, (1 << 48) - 1, no_nodes).unwrap();
        assert_eq!((&*map.name(), map.kind(), map.parameters()), (name, kind, (1 << 48) - 1));
        assert_eq!(map.counted(), Counted::All);
        let again = space.open_map(name, 9, 9, |_, _| panic!("made twice")).unwrap();
        assert!(Arc::ptr_eq(&map, &again));
    }
    let next = reopened(&space);
    let names: Vec<_> = next.maps().unwrap().iter().map(|m| m.name().to_string()).collect();
    assert_eq!(names, ["a", "with space/\n", &longest]);
    let map = next.find_map(&longest).unwrap().unwrap();
    assert_eq!((map.kind(), map.parameters()), (255, (1 << 48) - 1));
    assert_eq!(Region::new(next.media(), map.root(), 1).unwrap().load(0, Ordering::Relaxed), 7);
    assert_eq!(map.counted(), Counted::Below(0), "after an unclean close");
}

#[test]
fn bad_names_are_refused() {
    let space = pool(2);
    for name in ["", "a\0b", &"x".repeat(256)] {
        assert!(matches!(space.open_map(name, 1, 0, no_nodes), Err(Error::BadName)));
    }
    assert!(space.open_map(&"x".repeat(255), 1, 0, no_nodes).is_ok());
}

#[test]
fn a_map_whose_first_node_finds_no_room_does_not_exist() {
    let space = pool(1);
    let made = space.open_map("m", 1, 0, |guard, _| guard.alloc(PAGE));
    assert!(matches!(made, Err(Error::Full { .. })));
    assert!(space.find_map("m").unwrap().is_none());
    assert!(reopened(&space).maps().unwrap().is_empty());
    // The next map uses its entry.
    let map = space.open_map("n", 1, 0, no_nodes).unwrap();
    assert_eq!(map.entry(), layout::DIRECTORY);
}

#[test]
fn a_dropped_map_is_gone_and_its_space_is_free() {
    let space = pool(4);
    let map = space.open_map("m", 1, 0, |guard, _| guard.alloc(512)).unwrap();
    let drop = || {
        space.drop_map("m", |_| {
            Ok(Box::new(|media, map, note, _| {
                let root = Region::new(media, map.root(), 1)?.load(0, Ordering::Acquire);
                // The chunk is listed twice and freed once.
                assert!(note(root, 512) && !note(root, 512));
                Ok(true)
            }))
        })
    };
    assert!(drop().unwrap());
    assert!(map.is_dropped());
    assert!(!drop().unwrap());
    assert!(space.find_map("m").unwrap().is_none());
    let again = space.open_map("m", 2, 0, no_nodes).unwrap();
    assert!(!again.is_dropped() && again.kind() == 2);
    assert_eq!(again.entry(), map.entry());
    space.reclaim(&space.pin_mut().unwrap()).unwrap();
    assert_eq!(space.stats().bytes_in_use, EMPTY);
}

#[test]
fn nodes_of_a_dropped_map_stay_while_somebody_is_inside() {
    let space = pool(4);
    let map = space.open_map("m", 1, 0, no_nodes).unwrap();
    let freed = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut reader = Worker::new();
    let guard = reader.run(|| space.pin().unwrap());
    let flag = Arc::clone(&freed);
    space
        .drop_map("m", move |_| {
            Ok(Box::new(move |_, _, _, _| {
                flag.store(true, Ordering::Release);
                Ok(true)
            }))
        })
        .unwrap();
    assert!(map.is_dropped() && !freed.load(Ordering::Acquire));
    // The entry is not FREE yet: a crash now finds a drop to complete.
    let next = reopened(&space);
    assert!(next.maps().unwrap().is_empty());
    assert_eq!(next.open_map("x", 1, 0, no_nodes).unwrap().entry(), map.entry());
    reader.run(|| drop(guard));
    space.relieve().unwrap();
    assert!(freed.load(Ordering::Acquire));
}

#[test]
fn there_is_room_for_any_number_of_maps() {
    let space = pool(6);
    let count = 5_000;
    for i in 0..count {
        space.open_map(&format!("map {i}"), 1, i, no_nodes).unwrap();
    }
    // 16 entries in page 0, 63 in each span, and the tables of two further pages.
    let bytes = (count - 16).div_ceil(63) * 16 * UNIT + 2 * UNIT;
    assert_eq!(space.stats().bytes_in_use, EMPTY + bytes);
    let next = reopened(&space);
    assert_eq!(next.maps().unwrap().len() as u64, count);
    assert_eq!(next.find_map("map 4999").unwrap().unwrap().parameters(), 4999);
    next.open_map("one more", 1, 0, no_nodes).unwrap();
    assert_eq!(next.stats().bytes_in_use, EMPTY + bytes);
}

#[test]
fn concurrent_opens_of_one_name_make_one_map() {
    let space = pool(2);
    let entries: Vec<u64> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..8)
            .map(|_| s.spawn(|| space.open_map("m", 1, 0, no_nodes).unwrap().entry()))
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(entries.iter().all(|&entry| entry == entries[0]));
}

#[test]
fn entries_are_counted_by_all_threads() {
    let space = pool(2);
    let map = space.open_map("m", 1, 0, no_nodes).unwrap();
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| (0..1000).for_each(|i| map.add(if i % 4 == 0 { -1 } else { 1 })));
        }
    });
    assert_eq!((map.sum(), map.counted()), (2000, Counted::All));
    map.set_counted(Counted::Below(5));
    assert_eq!(map.counted(), Counted::Below(5));
}

#[test]
fn damaged_entries_are_reported_and_end() {
    use crate::space::layout::{DIRECTORY, DIRECTORY_NEXT, ENTRY, TABLE};
    let space = pool(6);
    for i in 0..2_100 {
        space.open_map(&format!("m{i}"), 1, 0, no_nodes).unwrap();
    }
    let next = Region::new(space.media(), DIRECTORY_NEXT, 1).unwrap().load(0, Ordering::Relaxed);
    let damages = [
        (DIRECTORY, 3, "state"),
        (DIRECTORY + 8, 2 << 56, "kind 0"),
        (DIRECTORY + 8, 1, "no name"),
        (DIRECTORY + 64, u64::MAX, "not UTF-8"),
        (DIRECTORY + 64, 0, "NUL"),
        (DIRECTORY + 320, u64::MAX, "a type that is not UTF-8"),
        (DIRECTORY + ENTRY + 64, u64::from_le_bytes(*b"m0\0\0\0\0\0\0"), "a name twice"),
        (DIRECTORY_NEXT, 77 * PAGE, "no such page"),
        (DIRECTORY_NEXT, u64::MAX, "no page"),
        (DIRECTORY_NEXT, next + 64, "inside a span"),
        (DIRECTORY_NEXT, next + 15 * UNIT, "not its start"),
        (next, next, "a loop"),
        (TABLE + 8 * (next / UNIT), 0, "no header"),
    ];
    for (at, value, what) in damages {
        let medium = copy(space.media());
        Region::new(&medium, at, 1).unwrap().store(0, value, Ordering::Relaxed);
        let mounted = Space::mount(medium, Session { generation: 2, ..FRESH });
        assert!(matches!(mounted.err(), Some(Error::Corrupt { .. })), "{what}");
    }
}

/// An entry of zeros looks as if it was never used, and a FREE one has no map: only the number of maps reveals the
/// loss.
#[test]
fn a_map_whose_entry_is_gone_is_missed_after_a_clean_close() {
    use crate::space::layout::{DIRECTORY, ENTRY};
    let space = pool(2);
    for name in ["a", "b", "c"] {
        space.open_map(name, 1, 0, no_nodes).unwrap();
    }
    space.save().unwrap();
    let found = |zeros: std::ops::Range<u64>, session: Session| {
        let medium = copy(space.media());
        for at in zeros.step_by(8) {
            Region::new(&medium, at, 1).unwrap().store(0, 0, Ordering::Relaxed);
        }
        Space::mount(medium, session).map(|space| space.all_maps().len())
    };
    let next = Session { generation: 2, ..FRESH };
    assert_eq!(found(0..0, next).unwrap(), 3);
    for n in 0..3 {
        let at = DIRECTORY + n * ENTRY;
        for zeros in [at..at + ENTRY, at..at + 8] {
            assert!(matches!(found(zeros, next), Err(Error::Corrupt { .. })), "{n}");
        }
    }
    // The number is not known after a kill, nor after a session that has not recorded it.
    let all = DIRECTORY..DIRECTORY + 3 * ENTRY;
    assert_eq!(found(all.clone(), Session { clean: false, ..next }).unwrap(), 0);
    assert_eq!(found(all, Session { generation: 3, ..FRESH }).unwrap(), 0);
}

/// A map of many chunks is listed and freed in many pins, between which the epoch advances. The remaining chunks count
/// as waiting.
#[test]
fn a_dropped_map_is_freed_piece_by_piece() {
    const CHUNKS: usize = 10_000;
    let space = Arc::new(pool(16));
    space.open_map("m", 1, 0, no_nodes).unwrap();
    let guard = space.pin_mut().unwrap();
    let mut chunks: Vec<u64> = (0..CHUNKS).map(|_| guard.alloc(512).unwrap()).collect();
    drop(guard);
    let epochs = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (told, pool) = (Arc::clone(&epochs), Arc::downgrade(&space));
    space
        .drop_map("m", move |_| {
            Ok(Box::new(move |_, _, note, bite| {
                assert!(bite < CHUNKS / 10);
                told.lock().unwrap().push(pool.upgrade().unwrap().epochs.now());
                chunks.drain(..bite.min(chunks.len())).for_each(|at| assert!(note(at, 512)));
                Ok(chunks.is_empty())
            }))
        })
        .unwrap();
    let epochs = epochs.lock().unwrap();
    assert!(epochs.len() > 10 && epochs.is_sorted_by(|a, b| a < b), "{epochs:?}");
    let shares = space.quiesce().unwrap().check().unwrap().finish().unwrap();
    assert_eq!((shares.reached, shares.limbo, shares.leaked), (0, 0, 0));
}

#[test]
fn a_map_that_is_being_freed_waits() {
    let space = pool(16);
    space.open_map("m", 1, 0, no_nodes).unwrap();
    let mut reader = Worker::new();
    let pin = reader.run(|| space.pin().unwrap());
    let guard = space.pin_mut().unwrap();
    let chunks: Vec<u64> = (0..2_000).map(|_| guard.alloc(512).unwrap()).collect();
    drop(guard);
    space
        .drop_map("m", move |_| {
            Ok(Box::new(move |_, _, note, _| {
                chunks.iter().for_each(|&at| assert!(note(at, 512)));
                Ok(true)
            }))
        })
        .unwrap();
    reader.run(|| drop(pin));
    // The first step notes all chunks, and each later step frees a part.
    for left in [2_000, 1_488, 976] {
        let now = space.epochs.now();
        space.step_of_drops(&space.pin_mut().unwrap(), now.max(1_000), None).unwrap();
        let shares = space.quiesce().unwrap().check().unwrap().finish().unwrap();
        assert_eq!((shares.limbo, shares.leaked), (512 * left, 0));
    }
    space.relieve().unwrap();
    assert_eq!(space.stats().bytes_in_use, EMPTY);
}

#[test]
fn types_are_recorded_and_come_back() {
    let space = pool(4);
    let types = Types { key: "(u64, str)".to_owned(), value: "x".repeat(255) };
    let map = space.open_typed_map("m", 1, 0, &types, no_nodes).unwrap();
    assert_eq!(*map.types(), types);
    assert_eq!(*reopened(&space).find_map("m").unwrap().unwrap().types(), types);
    // An existing map keeps its types.
    let again = space.open_typed_map("m", 1, 0, &Types::numbers(), no_nodes).unwrap();
    assert_eq!(*again.types(), types);
    for bad in ["x".repeat(256), "a\0b".to_owned()] {
        let types = Types { key: "u64".to_owned(), value: bad };
        let outcome = space.open_typed_map("n", 1, 0, &types, no_nodes);
        assert!(matches!(outcome, Err(Error::BadTypeName { .. })));
    }
}
