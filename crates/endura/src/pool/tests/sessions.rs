//! What a clean close keeps, and what else is found at an open.

use super::*;
use crate::Error;
use crate::media::{Ordering, Region};
use crate::pool::layout::{NEXT_PAGE, SAVED_BLOCK, SAVED_FREE};

/// Closes a session, or does not, and opens the next one.
fn next_session(space: Space<Heap>, clean: bool) -> Space<Heap> {
    if clean {
        space.save().unwrap();
    }
    let session = Session { generation: space.generation() + 1, clean, read_only: false };
    Space::mount(space.media, session).unwrap()
}

fn poke(medium: &Heap, at: u64, value: u64) {
    Region::new(medium, at, 1).unwrap().store(0, value, Ordering::Relaxed);
}

fn peek(medium: &Heap, at: u64) -> u64 {
    Region::new(medium, at, 1).unwrap().load(0, Ordering::Relaxed)
}

#[test]
fn a_thousand_short_sessions_take_one_page() {
    let mut space = pool(3);
    let mut chunks = Vec::new();
    for round in 0..1_000 {
        let guard = space.pin_mut().unwrap();
        chunks.push(guard.alloc(512).unwrap());
        if round % 3 == 0 {
            let unlinked = guard.alloc(512).unwrap();
            guard.retire(unlinked, 512);
        }
        drop(guard);
        space = next_session(space, true);
        assert_eq!(space.stats().pages, 2, "round {round}");
    }
    chunks.sort_unstable();
    chunks.dedup();
    assert_eq!(chunks.len(), 1_000);
    let quiesced = space.quiesce().unwrap();
    let mut check = quiesced.check().unwrap();
    chunks.iter().for_each(|&at| check.reach(at, 512).unwrap());
    assert_eq!(check.finish().unwrap().leaked, 0);
}

#[test]
fn free_pages_and_large_runs_are_remembered() {
    let space = pool(12);
    let guard = space.pin_mut().unwrap();
    let keep = guard.alloc(5 * PAGE).unwrap();
    let lose = guard.alloc(3 * PAGE - 64).unwrap();
    guard.discard(lose, 3 * PAGE - 64);
    drop(guard);
    let before = space.stats();
    let space = next_session(space, true);
    assert_eq!(space.stats(), before);
    let guard = space.pin_mut().unwrap();
    assert_eq!(guard.alloc(3 * PAGE - 64).unwrap(), lose);
    guard.discard(keep, 5 * PAGE);
    drop(guard);
    assert!(!space.is_poisoned());
    assert_eq!(space.stats().pages_in_use, before.pages_in_use + 3 - 6);
}

#[test]
fn a_list_longer_than_page_0_goes_on_in_free_pages() {
    // Nearly all of it is never touched.
    let space = pool(400);
    let guard = space.pin_mut().unwrap();
    // In each of 300 pages one chunk of 64 bytes stays: bitmaps of 4 KiB each.
    let per_page = (PAGE / 64 - 1) as usize;
    let chunks: Vec<u64> = (0..300 * per_page).map(|_| guard.alloc(64).unwrap()).collect();
    for rest in chunks.chunks(per_page).map(|page| &page[1..]) {
        rest.iter().for_each(|&at| guard.discard(at, 64));
    }
    let run = guard.alloc(4 * PAGE).unwrap();
    guard.discard(run, 4 * PAGE);
    drop(guard);
    space.save().unwrap();
    let before = space.stats();
    assert!(peek(space.media(), SAVED_BLOCK + 8) > 300 * PAGE, "a second block");
    let session = Session { generation: 2, clean: true, read_only: true };
    let next = Space::mount(space.media, session).unwrap();
    assert_eq!(next.stats(), before);
    let left = peek(next.media(), SAVED_FREE);
    assert_eq!(left, SAVED_BLOCK, "a reader leaves the list alone");
}

#[test]
fn after_an_unclean_close_what_was_free_leaks_and_old_chunks_can_be_freed() {
    let space = pool(8);
    let old: Vec<u64> = (0..10).map(|_| space.pin_mut().unwrap().alloc(512).unwrap()).collect();
    let large = space.pin_mut().unwrap().alloc(PAGE).unwrap();
    let space = next_session(space, false);
    let guard = space.pin_mut().unwrap();
    let new = guard.alloc(512).unwrap();
    assert_eq!(new, PAGE + PAGE / 32, "the first one that was never handed out");
    old.iter().for_each(|&at| guard.discard(at, 512));
    guard.discard(large, PAGE);
    drop(guard);
    space.reclaim(&space.pin_mut().unwrap()).unwrap();
    let stats = space.stats();
    assert!(!space.is_poisoned());
    assert_eq!((stats.pages, stats.pages_in_use), (4, 2));
    let guard = space.pin_mut().unwrap();
    let again: Vec<u64> = (0..10).map(|_| guard.alloc(512).unwrap()).collect();
    assert_eq!(again, old);
}

#[test]
fn a_list_is_used_up_by_the_open_and_useless_when_stale() {
    let space = pool(4);
    space.pin_mut().unwrap().alloc(512).unwrap();
    space.save().unwrap();
    assert_eq!(peek(space.media(), SAVED_FREE), SAVED_BLOCK);
    let mount = |generation, clean| {
        let session = Session { generation, clean, read_only: false };
        Space::mount(copy(space.media()), session).unwrap()
    };
    let free = |space: &Space<Heap>| space.stats().free_chunk_bytes;
    // What the page itself says: 31 of its 32 parts were never handed out.
    let untold = PAGE / 32 * 31;
    assert!(free(&mount(2, true)) > untold);
    assert_eq!(free(&mount(3, true)), untold, "of another generation");
    assert_eq!(free(&mount(2, false)), untold, "after an unclean close");
    assert_eq!(peek(mount(2, true).media(), SAVED_FREE), 0);
    assert_eq!(peek(mount(2, false).media(), SAVED_FREE), 0);
}

#[test]
fn a_damaged_list_is_no_list() {
    let space = pool(5);
    let guard = space.pin_mut().unwrap();
    guard.alloc(512).unwrap();
    let run = guard.alloc(2 * PAGE).unwrap();
    guard.discard(run, 2 * PAGE);
    drop(guard);
    space.save().unwrap();
    let words = (peek(space.media(), SAVED_BLOCK) >> 32) as usize;
    assert!(words > 64);
    // What pages say themselves: parts that were never handed out, and that the run has ended.
    let untold = (PAGE / 32 * 31, space.stats().pages - 3);
    for word in 0..words as u64 {
        let medium = copy(space.media());
        let at = SAVED_BLOCK + 8 * word;
        poke(&medium, at, peek(&medium, at) ^ 1 << (word * 7 % 64));
        let session = Session { generation: 2, clean: true, read_only: false };
        let stats = Space::mount(medium, session).unwrap().stats();
        assert_eq!((stats.free_chunk_bytes, stats.pages_in_use), untold, "{word}");
    }
    for at in [1, 8, SAVED_FREE, NEXT_PAGE - 8, PAGE, 2 * PAGE, u64::MAX - 7, u64::MAX] {
        let medium = copy(space.media());
        poke(&medium, SAVED_FREE, at);
        let session = Session { generation: 2, clean: true, read_only: false };
        assert_eq!(Space::mount(medium, session).unwrap().stats().free_chunk_bytes, untold.0);
    }
}

#[test]
fn impossible_page_counts_are_refused() {
    for (next, truncated) in [(0, false), (9, true), (u64::MAX, false), (1 << 40, true)] {
        let medium = Heap::new(2 * PAGE);
        Space::format(&medium).unwrap();
        poke(&medium, NEXT_PAGE, next);
        match Space::mount(medium, FRESH).err() {
            Some(Error::Truncated { .. }) => assert!(truncated),
            Some(Error::Corrupt { .. }) => assert!(!truncated),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_number_of_entries_survives_a_clean_close_only() {
    let space = pool(2);
    let make = |space: &Space<Heap>, name: &str| space.open_map(name, 1, 0, |_, _| Ok(0)).unwrap();
    make(&space, "known").add(41);
    make(&space, "known").add(1);
    make(&space, "unknown").set_counted(Counted::Below(9));
    let second = next_session(space, true);
    let known = make(&second, "known");
    assert_eq!((known.sum(), known.counted()), (42, Counted::All));
    assert_eq!(make(&second, "unknown").counted(), Counted::Below(0));
    known.add(1);
    let third = next_session(second, false);
    let known = make(&third, "known");
    assert_eq!((known.sum(), known.counted()), (0, Counted::Below(0)));
    // Not counted in the third session: the number of the first is stale in the fourth.
    let fourth = next_session(third, true);
    assert_eq!(make(&fourth, "known").counted(), Counted::Below(0));
}

#[test]
fn a_pool_in_doubt_is_not_saved() {
    let space = pool(2);
    space.poison();
    assert!(matches!(space.save(), Err(Error::Poisoned)));
    assert_eq!(peek(space.media(), SAVED_FREE), 0);
    let session = Session { read_only: true, ..FRESH };
    let space = Space::mount(copy(space.media()), session).unwrap();
    assert!(matches!(space.save(), Err(Error::ReadOnly)));
}

#[test]
fn nodes_of_a_dropped_map_are_freed_at_the_close_at_the_latest() {
    let space = pool(4);
    space.open_map("m", 1, 0, |guard, _| guard.alloc(512)).unwrap();
    let mut reader = Worker::new();
    let guard = reader.run(|| space.pin().unwrap());
    space
        .drop_map("m", |_| {
            Ok(Box::new(|media, map, note, _| {
                note(peek(media, map.root()), 512);
                Ok(true)
            }))
        })
        .unwrap();
    reader.run(|| drop(guard));
    let next = next_session(space, true);
    assert_eq!(next.stats().pages_in_use, 1);
}

#[test]
fn a_check_finds_every_second_owner() {
    let space = pool(12);
    let guard = space.pin_mut().unwrap();
    let chunks: Vec<u64> = (0..4).map(|_| guard.alloc(512).unwrap()).collect();
    let large = guard.alloc(2 * PAGE).unwrap();
    guard.discard(chunks[1], 512);
    guard.retire(chunks[2], 512);
    drop(guard);
    let quiesced = space.quiesce().unwrap();
    let begin = || quiesced.check().unwrap();
    let mut good = begin();
    good.reach(chunks[0], 512).unwrap();
    good.reach(large, 2 * PAGE).unwrap();
    let shares = good.finish().unwrap();
    assert_eq!(shares.leaked, 512, "{shares:?}");
    assert_eq!(shares.limbo, 512);
    let bad = [
        (chunks[1], 512, "free"),
        (chunks[2], 512, "limbo"),
        (chunks[0] + 64, 512, "starts nowhere"),
        (chunks[0], 1024, "another class"),
        (chunks[0] / PAGE * PAGE, 512, "the header"),
        (0, 512, "page 0"),
        (11 * PAGE + 512, 512, "behind the last page"),
        (u64::MAX - 511, 512, "outside"),
        (large, 4 * PAGE, "another length"),
        (large + PAGE, 512, "inside a run"),
    ];
    for (at, bytes, what) in bad {
        assert!(matches!(begin().reach(at, bytes), Err(Error::Corrupt { .. })), "{what}");
    }
    let mut twice = begin();
    twice.reach(chunks[3], 512).unwrap();
    assert!(twice.reach(chunks[3], 512).is_err());
}
