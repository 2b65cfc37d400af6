//! What a clean close keeps, and what an open finds without one.

use super::*;
use crate::Error;
use crate::media::{Ordering, Region, STEP};
use crate::space::layout::{LENGTH, NEXT_PAGE, SAVED_BLOCK, SAVED_FREE, TABLE};

/// Ends a session, by a close if `clean`, and opens the next one.
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
fn a_thousand_short_sessions_take_what_their_chunks_take() {
    let mut space = pool(3);
    let mut chunks = Vec::new();
    for round in 0..1_000_u64 {
        let guard = space.pin_mut().unwrap();
        chunks.push(guard.alloc(512).unwrap());
        if round % 3 == 0 {
            let unlinked = guard.alloc(512).unwrap();
            guard.retire(unlinked, 512);
        }
        drop(guard);
        space = next_session(space, true);
        let need = EMPTY + (round + 1) * 512;
        assert!(space.stats().length <= need + need / 8 + 2 * STEP, "round {round}");
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
    // So that the end of the file stays in use.
    guard.alloc(PAGE - 64).unwrap();
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
    assert_eq!(space.stats().bytes_in_use, before.bytes_in_use + 3 * PAGE - 6 * PAGE);
}

#[test]
fn a_list_longer_than_its_place_goes_on_in_free_units() {
    // Most of the pool is never touched.
    let space = pool(400);
    let guard = space.pin_mut().unwrap();
    // Of each 16 KiB one chunk of 64 bytes stays: a span with a bitmap of 32 bytes, or a part of a span with one of 4
    // KiB.
    let chunks: Vec<u64> = (0..200_000).map(|_| guard.alloc(64).unwrap()).collect();
    for rest in chunks.chunks(256).map(|span| &span[1..]) {
        rest.iter().for_each(|&at| guard.discard(at, 64));
    }
    drop(guard);
    let before = space.stats();
    space.save().unwrap();
    let second = peek(space.media(), SAVED_BLOCK + 8);
    assert!((200_000 * 64..before.length).contains(&second), "a second block");
    assert_eq!(space.stats().length, before.length, "little of it is not in use");
    let before = space.stats();
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
    assert_eq!(new, 14 * 4096, "the first one that was never handed out");
    old.iter().for_each(|&at| guard.discard(at, 512));
    guard.discard(large, PAGE);
    drop(guard);
    space.reclaim(&space.pin_mut().unwrap()).unwrap();
    let stats = space.stats();
    assert!(!space.is_poisoned());
    assert_eq!((stats.length, stats.bytes_in_use), (3 * PAGE, EMPTY + 4 * 4096));
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
    // What the header of the span shows: 3 of its 4 parts were never handed out.
    let untold = 3 * 4096;
    assert!(free(&mount(2, true)) > untold);
    assert_eq!(free(&mount(3, true)), untold, "of another generation");
    assert_eq!(free(&mount(2, false)), untold, "after an unclean close");
    assert_eq!(peek(mount(2, true).media(), SAVED_FREE), 0);
    assert_eq!(peek(mount(2, false).media(), SAVED_FREE), 0);
}

#[test]
fn a_damaged_list_is_no_list() {
    let space = pool(6);
    let guard = space.pin_mut().unwrap();
    guard.alloc(512).unwrap();
    let run = guard.alloc(2 * PAGE).unwrap();
    guard.alloc(PAGE).unwrap();
    guard.discard(run, 2 * PAGE);
    drop(guard);
    space.save().unwrap();
    let words = (peek(space.media(), SAVED_BLOCK) >> 32) as usize;
    assert!(words > 10);
    // What the headers show: parts that were never handed out, and that the run was freed.
    let untold = (3 * 4096, EMPTY + 4 * 4096 + 2 * PAGE);
    for word in 0..words as u64 {
        let medium = copy(space.media());
        let at = SAVED_BLOCK + 8 * word;
        poke(&medium, at, peek(&medium, at) ^ 1 << (word * 7 % 64));
        let session = Session { generation: 2, clean: true, read_only: false };
        let stats = Space::mount(medium, session).unwrap().stats();
        assert_eq!((stats.free_chunk_bytes, stats.bytes_in_use), untold, "{word}");
    }
    for at in [1, 8, SAVED_FREE, NEXT_PAGE - 8, PAGE, 2 * PAGE, u64::MAX - 7, u64::MAX] {
        let medium = copy(space.media());
        poke(&medium, SAVED_FREE, at);
        let session = Session { generation: 2, clean: true, read_only: false };
        assert_eq!(Space::mount(medium, session).unwrap().stats().free_chunk_bytes, untold.0);
    }
}

/// Makes the checksum of a block of the list right.
fn seal(medium: &Heap, at: u64) {
    let count = peek(medium, at) >> 32;
    let words = (1..count).map(|i| peek(medium, at + 8 * i));
    let sum = std::iter::once(count)
        .chain(words)
        .fold(0, |sum, word| crc32c::crc32c_append(sum, &word.to_le_bytes()));
    poke(medium, at, count << 32 | u64::from(sum));
}

#[test]
fn figures_that_no_pool_can_have_are_damage() {
    let space = pool(6);
    space.pin_mut().unwrap().alloc(512).unwrap();
    space.save().unwrap();
    let class = SAVED_BLOCK + 8 * 3;
    assert_eq!((peek(space.media(), class), peek(space.media(), class + 8)), (512 << 8 | 4, 4));
    for units in [513, u64::MAX / 4096 + 1, u64::MAX] {
        let medium = copy(space.media());
        poke(&medium, class + 8, units);
        seal(&medium, SAVED_BLOCK);
        let session = Session { generation: 2, clean: true, read_only: false };
        let space = Space::mount(medium, session).unwrap();
        assert_eq!((space.sizes(), space.stats().free_chunk_bytes), (vec![], 0), "{units}");
        assert!(space.warnings().any(|text| text.contains("contradict")), "{units}");
    }
    seal(space.media(), SAVED_BLOCK);
    assert!(next_session_after(space).leak_recovery().is_done(), "a list that is sealed is one");
}

/// After a clean close a header was replaced by another valid one. The list contradicts it, and nothing that is in use
/// is handed out.
#[test]
fn headers_that_contradict_the_list_make_nothing_free() {
    let space = pool(6);
    let guard = space.pin_mut().unwrap();
    let chunks: Vec<u64> = (0..64).map(|_| guard.alloc(512).unwrap()).collect();
    let freed = guard.alloc(20_000).unwrap();
    guard.alloc(30_000).unwrap();
    guard.discard(freed, 20_000);
    guard.discard(chunks[40], 512);
    drop(guard);
    space.save().unwrap();
    let header = |unit: u64| TABLE + 8 * unit;
    // The free run becomes a span in use; the second span of chunks becomes one of another size.
    let changes = [(freed / UNIT, 0b101), (chunks[40] / UNIT / 4 * 4, 1 << 14)];
    for (unit, flip) in changes {
        let medium = copy(space.media());
        poke(&medium, header(unit), peek(&medium, header(unit)) ^ flip);
        let space = mounted_again(medium);
        assert!(space.warnings().any(|text| text.contains("contradict")), "unit {unit}");
        assert_eq!(space.stats().free_chunk_bytes, 0);
        let guard = space.pin_mut().unwrap();
        assert!((0..1_000).all(|_| guard.alloc(512).unwrap() > PAGE), "unit {unit}");
    }
}

#[test]
fn a_list_that_leads_back_into_itself_is_read_no_further_than_the_pool_is_long() {
    let space = pool(16);
    let guard = space.pin_mut().unwrap();
    let pages = guard.alloc(10 * PAGE).unwrap();
    guard.alloc(PAGE).unwrap();
    guard.discard(pages, 10 * PAGE);
    drop(guard);
    space.save().unwrap();
    let medium = copy(space.media());
    let (block, words) = (2 * PAGE + 64, PAGE / 8 - 9);
    poke(&medium, block, words << 32);
    poke(&medium, block + 8, block);
    poke(&medium, block + 16, 1);
    (3..words).step_by(2).for_each(|i| poke(&medium, block + 8 * i, 1));
    seal(&medium, block);
    poke(&medium, SAVED_FREE, block);
    let begin = std::time::Instant::now();
    next_session(mounted_again(medium), false);
    // Reading thousands of times the bytes of the pool would take many seconds.
    assert!(begin.elapsed().as_millis() < 1_000, "{:?}", begin.elapsed());
}

fn mounted_again(medium: Heap) -> Space<Heap> {
    let session = Session { generation: 2, clean: true, read_only: false };
    Space::mount(medium, session).unwrap()
}

/// Pages that NEXT_PAGE no longer counts would be handed out again.
#[test]
fn too_few_pages_are_refused() {
    let space = pool(12);
    let guard = space.pin_mut().unwrap();
    guard.alloc(PAGE).unwrap();
    guard.alloc(512 * UNIT - UNIT).unwrap();
    drop(guard);
    let next = peek(space.media(), NEXT_PAGE);
    assert_eq!(next, 4);
    for clean in [false, true] {
        if clean {
            assert_eq!(space.save().unwrap(), next * PAGE);
        }
        for pages in 1..=next {
            // Inside a run, no header reveals the error.
            if pages == 2 && !clean {
                continue;
            }
            let medium = copy(space.media());
            poke(&medium, NEXT_PAGE, pages);
            let session = Session { generation: 2, clean, read_only: false };
            let mounted = Space::mount(medium, session);
            let refused = matches!(mounted, Err(Error::Corrupt { offset: NEXT_PAGE, .. }));
            assert_eq!(refused, pages < next, "{pages}, clean: {clean}");
        }
    }
}

/// A growth that was cut short between its two words has left a length that no page needs.
#[test]
fn a_close_makes_the_length_that_of_the_pages() {
    let space = pool(12);
    let medium = copy(space.media());
    poke(&medium, LENGTH, PAGE + STEP);
    let session = Session { generation: 2, clean: false, read_only: false };
    let space = Space::mount(medium, session).unwrap();
    let guard = space.pin_mut().unwrap();
    guard.alloc(480 * UNIT).unwrap();
    drop(guard);
    assert_eq!(space.save().unwrap(), PAGE);
    let space = next_session_after(space);
    assert_eq!((space.stats().length, peek(space.media(), NEXT_PAGE)), (PAGE, 1));
}

#[test]
fn impossible_page_counts_are_refused() {
    let (long, odd) = (u64::MAX - STEP + 1, 2 * PAGE + 8);
    let cases = [
        (0, STEP, false),
        (9, STEP, false),
        (u64::MAX, STEP, false),
        (1 << 43, long, false),
        (1, 0, false),
        (1, long, true),
        (1, 3 * PAGE, true),
        (1, odd, false),
    ];
    for (next, length, truncated) in cases {
        let medium = Heap::new(2 * PAGE);
        Space::format(&medium).unwrap();
        poke(&medium, NEXT_PAGE, next);
        poke(&medium, LENGTH, length);
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
    // The third session does not count. In the fourth, the number of the first is out of date.
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
    assert_eq!(next.stats().bytes_in_use, EMPTY);
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
        (3 * UNIT, 512, "the table"),
        (16 * UNIT, 512, "free units"),
        (0, 512, "page 0"),
        (11 * PAGE + 512, 512, "behind the last page"),
        (chunks[0], 20_000, "a run"),
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

/// A clean close gives back what lies after the last chunk, if it is much.
#[test]
fn a_close_gives_up_the_end_that_nothing_uses() {
    let space = pool(12);
    let guard = space.pin_mut().unwrap();
    let first = guard.alloc(512).unwrap();
    let large: Vec<u64> = (0..3).map(|_| guard.alloc(2 * PAGE).unwrap()).collect();
    guard.discard(large[2], 2 * PAGE);
    drop(guard);
    assert_eq!(space.stats().length, 10 * PAGE);
    assert_eq!(space.save().unwrap(), 7 * PAGE);
    let space = next_session_after(space);
    assert_eq!((space.stats().length, peek(space.media(), NEXT_PAGE)), (7 * PAGE, 7));
    let guard = space.pin_mut().unwrap();
    large[..2].iter().for_each(|&at| guard.discard(at, 2 * PAGE));
    drop(guard);
    assert_eq!(space.save().unwrap(), STEP);
    let space = next_session_after(space);
    let stats = space.stats();
    assert_eq!((stats.length, stats.bytes_in_use), (STEP, EMPTY + 4 * UNIT));
    let guard = space.pin_mut().unwrap();
    guard.discard(first, 512);
    // The space that was given up can be used again.
    let again: Vec<u64> = (0..3).map(|_| guard.alloc(2 * PAGE).unwrap()).collect();
    assert_eq!(again, large);
    drop(guard);
    assert!(!space.is_poisoned());
}

/// The next session of a pool that was saved.
fn next_session_after(space: Space<Heap>) -> Space<Heap> {
    let session = Session { generation: space.generation() + 1, clean: true, read_only: false };
    Space::mount(space.media, session).unwrap()
}

/// A list that does not fit into the free space does not make the pool longer. What is left out is recovered.
#[test]
fn a_pool_without_a_gap_for_its_list_is_collected_again() {
    let space = pool(4);
    let guard = space.pin_mut().unwrap();
    let mut chunks = Vec::new();
    while let Ok(at) = guard.alloc(64) {
        chunks.push(at);
    }
    for span in chunks.chunks(256) {
        span[1..].iter().for_each(|&at| guard.discard(at, 64));
    }
    drop(guard);
    let free = space.stats().free_chunk_bytes;
    assert_eq!(space.save().unwrap(), 4 * PAGE);
    let space = next_session_after(space);
    assert!(!space.leak_recovery().is_done());
    let known = space.stats().free_chunk_bytes;
    assert!(known > free / 4 && known < free, "{known} of {free}");
}
