//! The parts of spans that a killed session had not handed out.

use std::collections::BTreeMap;

use super::*;
use crate::Error;
use crate::media::{LINE, Ordering, Region};
use crate::space::alloc::class::Class;
use crate::space::layout::{LENGTH, TABLE};

/// A quarter of a span of few units of small chunks.
const PART: u64 = UNIT;
/// The header of the first span.
const FIRST: u64 = TABLE + 8 * 12;

fn word(medium: &Heap, at: u64) -> Region<'_, Heap> {
    Region::new(medium, at, 1).unwrap()
}

/// The next session, as after `kill -9`.
fn killed(space: Space<Heap>) -> Space<Heap> {
    let session = Session { generation: space.generation() + 1, clean: false, read_only: false };
    Space::mount(space.media, session).unwrap()
}

fn closed(space: Space<Heap>) -> Space<Heap> {
    space.save().unwrap();
    let session = Session { generation: space.generation() + 1, clean: true, read_only: false };
    Space::mount(space.media, session).unwrap()
}

#[test]
fn four_killed_sessions_share_a_span() {
    let mut space = pool(4);
    for round in 0..64 {
        let at = space.pin_mut().unwrap().alloc(512).unwrap();
        assert_eq!(at, EMPTY + round * PART, "session {round}");
        assert_eq!(space.stats().bytes_in_use, EMPTY + (1 + round / 4) * 4 * PART);
        space = killed(space);
    }
}

/// Each session takes chunks of some sizes, and frees some of them. It is killed, or closed.
#[test]
fn no_chunk_is_handed_out_twice_whatever_ends_the_sessions() {
    let classes: Vec<Class> = Class::all().collect();
    for seed in 0..6_u64 {
        let mut space = pool(400);
        let mut taken = BTreeMap::new();
        let mut random = seed;
        let mut next = |n: u64| {
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(seed | 1);
            (random >> 33) % n
        };
        for _ in 0..60 {
            let guard = space.pin_mut().unwrap();
            for _ in 0..next(12) {
                let size = match next(20) {
                    0 => 2 * PAGE,
                    _ => classes[next(classes.len() as u64) as usize].size(),
                };
                for _ in 0..1 + next(8 * PART / size.min(8 * PART)) {
                    let at = guard.alloc(size).unwrap();
                    match next(4) {
                        0 => guard.discard(at, size),
                        _ => assert_eq!(taken.insert(at, size), None, "{at:#x} twice"),
                    }
                }
            }
            drop(guard);
            space = if next(3) == 0 { closed(space) } else { killed(space) };
        }
        let places: Vec<_> = taken.iter().collect();
        assert!(places.len() > 200);
        for pair in places.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= *pair[1].0, "{pair:x?}");
        }
        let quiesced = space.quiesce().unwrap();
        let mut check = quiesced.check().unwrap();
        places.iter().for_each(|&(&at, &size)| check.reach(at, size).unwrap());
        check.finish().unwrap();
    }
}

/// A page that was free, or new and not taken yet, is found again without a leak recovery.
#[test]
fn a_free_page_is_found_after_a_kill() {
    let space = pool(8);
    let guard = space.pin_mut().unwrap();
    let run = guard.alloc(3 * PAGE).unwrap();
    guard.alloc(512).unwrap();
    guard.discard(run, 3 * PAGE);
    drop(guard);
    let space = killed(space);
    assert_eq!(space.pin_mut().unwrap().alloc(3 * PAGE).unwrap(), run);
    assert_eq!(space.stats().length, 5 * PAGE);
}

/// Data that looks like a header is not believed where a run has no headers.
#[test]
fn data_that_looks_like_a_header_is_passed_over() {
    let space = pool(8);
    let guard = space.pin_mut().unwrap();
    // The second does not fit into page 0, and cuts page 1.
    let spans = [1 << 20, 1 << 20].map(|bytes| guard.alloc(bytes).unwrap());
    assert_eq!(spans[1], PAGE + UNIT);
    let run = guard.alloc(2 * PAGE).unwrap() - LINE;
    for place in [0, 8, 8 * 257] {
        let header = word(space.media(), PAGE + place).load(0, Ordering::Relaxed);
        word(space.media(), run + PAGE + place).store(0, header, Ordering::Relaxed);
    }
    drop(guard);
    let space = killed(space);
    let guard = space.pin_mut().unwrap();
    for _ in 0..PAGE / 512 * 2 {
        let at = guard.alloc(512).unwrap();
        assert!(at < run || at >= run + 3 * PAGE, "{at:#x}");
    }
}

/// A pool with one damaged header: no free space is known, and nothing is handed out that may have an owner.
#[test]
fn a_header_with_nonsense_makes_nothing_free() {
    // All bits except those of the size of the chunks, which may be another valid one.
    for bit in (0..14).chain(26..64) {
        let space = pool(4);
        let at = space.pin_mut().unwrap().alloc(512).unwrap();
        let header = word(space.media(), FIRST);
        header.store(0, header.load(0, Ordering::Relaxed) ^ 1 << bit, Ordering::Relaxed);
        let space = killed(space);
        assert_eq!(space.stats().free_chunk_bytes, 0, "bit {bit}");
        assert!(space.warnings().any(|text| text.contains("contradict")), "bit {bit}");
        assert_eq!(space.pin_mut().unwrap().alloc(512).unwrap(), PAGE + UNIT);
        let quiesced = space.quiesce().unwrap();
        let found = quiesced.check().and_then(|mut owners| {
            owners.reach(at, 512)?;
            owners.finish()
        });
        assert!(matches!(found, Err(Error::Corrupt { .. })), "bit {bit}: {found:?}");
    }
}

/// A span in use beyond the end of the file: LENGTH was damaged.
#[test]
fn a_span_behind_the_end_makes_nothing_free() {
    let space = pool(4);
    let at = space.pin_mut().unwrap().alloc(100_000).unwrap();
    assert!(at + 100_000 > 65_536);
    word(space.media(), LENGTH).store(0, 65_536, Ordering::Relaxed);
    let space = killed(space);
    assert!(space.warnings().any(|text| text.contains("contradict")));
    assert_eq!(space.pin_mut().unwrap().alloc(512).unwrap(), PAGE + UNIT);
}

/// A header which claims that a chunk in use was never handed out.
#[test]
fn a_chunk_in_use_in_a_tail_is_damage() {
    let space = pool(4);
    let guard = space.pin_mut().unwrap();
    let chunks: Vec<u64> = (0..3 * PART / 512).map(|_| guard.alloc(512).unwrap()).collect();
    drop(guard);
    let last = *chunks.last().unwrap();
    let other = pool(4);
    other.pin_mut().unwrap().alloc(512).unwrap();
    let fresh = word(other.media(), FIRST).load(0, Ordering::Relaxed);
    let forge = |space: &Space<Heap>| word(space.media(), FIRST).store(0, fresh, Ordering::Relaxed);
    forge(&space);
    {
        let quiesced = space.quiesce().unwrap();
        let found = quiesced.check().and_then(|mut owners| owners.reach(last, 512));
        assert!(matches!(found, Err(Error::Corrupt { .. })), "{found:?}");
    }
    let session = Session { generation: 2, clean: false, read_only: false };
    let space = Space::mount(copy(space.media()), session).unwrap();
    let guard = space.pin_mut().unwrap();
    (0..300).for_each(|_| guard.discard(last, 512));
    drop(guard);
    assert!(matches!(space.pin(), Err(Error::Corrupt { .. })));
}

#[test]
fn a_read_only_session_takes_nothing_over() {
    let space = pool(4);
    space.pin_mut().unwrap().alloc(512).unwrap();
    let before = copy(space.media());
    let session = Session { generation: 2, clean: false, read_only: true };
    let space = Space::mount(space.media, session).unwrap();
    assert_eq!(space.stats().free_chunk_bytes, 0);
    let words = |medium: &Heap| -> Vec<u64> {
        let all = Region::new(medium, 0, medium.len() as usize / 8).unwrap();
        (0..all.words()).map(|i| all.load(i, Ordering::Relaxed)).collect()
    };
    assert_eq!(words(space.media()), words(&before));
}
