//! Chunks: sizes, places, exhaustion, owners.

use std::collections::BTreeMap;
use std::sync::mpsc;

use super::*;
use crate::Error;
use crate::media::{LINE, Ordering, Region, STEP};
use crate::space::alloc::class::{Class, Room};

/// The largest chunk that has a class, and the largest one in a span of its own.
const LARGEST: u64 = 16 << 10;
const LARGEST_RUN: u64 = 511 * UNIT;

/// A10, A14. The low four bits of an offset and the high sixteen are free for tags.
#[test]
fn a14_chunks_are_aligned_and_apart_at_every_class_boundary() {
    let space = pool(192);
    let guard = space.pin_mut().unwrap();
    let mut taken = BTreeMap::new();
    for class in Class::all() {
        for bytes in class.size() - 1..=class.size() + 1 {
            let at = guard.alloc(bytes).unwrap();
            let size = Room::of(bytes).bytes();
            let aligned = match size {
                size if size.is_power_of_two() => at.is_multiple_of(size.min(UNIT)),
                size if size.is_multiple_of(LINE) => at.is_multiple_of(LINE),
                _ => at.is_multiple_of(16),
            };
            assert!(aligned, "{bytes} bytes at {at:#x}");
            assert_eq!(at & !(((1 << 48) - 1) & !0xF), 0, "{at:#x}");
            assert!(at >= EMPTY && at + size <= space.stats().length);
            taken.insert(at, size);
        }
    }
    let places: Vec<_> = taken.into_iter().collect();
    for pair in places.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{pair:?}");
    }
}

#[test]
fn large_chunks_take_units_or_pages_of_their_own_and_give_them_back() {
    let space = pool(16);
    let guard = space.pin_mut().unwrap();
    let whole = [LARGEST_RUN + 1, PAGE - LINE, PAGE - LINE + 1, PAGE, 5 << 20];
    for bytes in [LARGEST + 1, 70_000, 1 << 20, LARGEST_RUN].into_iter().chain(whole) {
        let before = space.stats().bytes_in_use;
        let at = guard.alloc(bytes).unwrap();
        if bytes > LARGEST_RUN {
            assert_eq!(at % PAGE, LINE);
            let pages = (bytes + LINE).div_ceil(PAGE);
            assert_eq!(space.stats().bytes_in_use - before, pages * PAGE);
        } else {
            // The table of a page is in use too while anything in the page is.
            let used = space.stats().bytes_in_use - before;
            assert!(at.is_multiple_of(UNIT) && used - bytes.next_multiple_of(UNIT) <= UNIT);
        }
        let words = Region::new(space.media(), at, bytes as usize / 8).unwrap();
        (0..words.words()).for_each(|i| words.store(i, u64::MAX, Ordering::Release));
        guard.discard(at, bytes);
        assert_eq!(space.stats().bytes_in_use, before);
    }
    // Two runs that were freed side by side are one run again.
    let (a, b) = (guard.alloc(2 * PAGE).unwrap(), guard.alloc(3 * PAGE).unwrap());
    guard.discard(a, 2 * PAGE);
    guard.discard(b, 3 * PAGE);
    let taken = space.stats().length;
    guard.alloc(7 * PAGE - LINE).unwrap();
    assert_eq!(space.stats().length, taken);
    assert!(!space.is_poisoned());
}

#[test]
fn impossible_sizes_are_refused() {
    let space = pool(4);
    let guard = space.pin_mut().unwrap();
    for bytes in [4 * PAGE, 1 << 40, u64::MAX - 63, u64::MAX] {
        assert!(matches!(guard.alloc(bytes), Err(Error::Full { .. })), "{bytes}");
    }
    assert!(guard.alloc(0).is_ok());
}

#[test]
fn small_pools_stay_small() {
    let space = pool(16);
    assert_eq!(space.stats().length, STEP);
    let all_at_work = std::sync::Barrier::new(32);
    std::thread::scope(|s| {
        for _ in 0..32 {
            s.spawn(|| {
                all_at_work.wait();
                space.pin_mut().unwrap().alloc(512).unwrap();
                all_at_work.wait();
            });
        }
    });
    // At the most one span for each thread that came at once when there was no chunk left.
    assert!(space.stats().length <= 3 * STEP, "{:?}", space.stats());
}

#[test]
fn a_full_pool_recovers_after_frees_and_pages_change_class() {
    let space = pool(4);
    for bytes in [512, 1024, 64, 8192, 512] {
        let mut chunks = Vec::new();
        let full = loop {
            match space.pin_mut().unwrap().alloc(bytes) {
                Ok(at) => chunks.push(at),
                Err(error) => break error,
            }
        };
        assert!(matches!(full, Error::Full { .. }), "{full}");
        let class = Class::of(bytes).unwrap();
        let few = class.few_units();
        let spans = 500 / few + 3 * (511 / few);
        assert_eq!(chunks.len(), spans as usize * class.chunks(few), "class {bytes}");
        for at in chunks {
            space.pin_mut().unwrap().retire(at, bytes);
        }
        assert!(space.relieve().unwrap());
    }
    assert_eq!(space.stats().bytes_in_use, EMPTY);
    assert!(!space.is_poisoned());
}

/// Chunks of sizes that are no longer requested would keep their spans for ever if they stayed in a thread's cache.
#[test]
fn a_pool_does_not_grow_while_a_cache_alone_keeps_spans() {
    let space = pool(8);
    for bytes in [64, 128, 192, 256, 448, 704] {
        let guard = space.pin_mut().unwrap();
        let class = Class::of(bytes).unwrap();
        let chunks: Vec<u64> =
            (0..class.chunks(class.few_units())).map(|_| guard.alloc(bytes).unwrap()).collect();
        chunks.into_iter().for_each(|at| guard.discard(at, bytes));
    }
    assert_eq!(space.stats().length, STEP, "one span for all in turn");
}

#[test]
fn an_operation_that_ran_out_of_space_is_begun_again_when_there_is_some() {
    let space = pool(2);
    let mut chunks = Vec::new();
    while let Ok(at) = space.pin_mut().unwrap().alloc(32768) {
        chunks.push(at);
    }
    let retired = chunks.len();
    {
        let guard = space.pin_mut().unwrap();
        chunks.iter().for_each(|&at| guard.retire(at, 32768));
        assert!(matches!(guard.alloc(32768), Err(Error::Full { .. })), "own pin holds them");
    }
    let again: Vec<u64> =
        (0..retired).map(|_| space.with_room(|| space.pin_mut()?.alloc(32768)).unwrap()).collect();
    assert_eq!(again.len(), retired);
    assert!(matches!(space.with_room(|| space.pin_mut()?.alloc(32768)), Err(Error::Full { .. })));
}

#[test]
fn what_is_no_chunk_in_use_is_not_reused_and_stops_the_pool() {
    type Misuse = fn(&Guard<'_, Heap>, u64);
    let misuses: [(&str, Misuse); 11] = [
        ("twice", |g, at| (0..300).for_each(|_| g.discard(at, 512))),
        ("twice, when the pool is about to grow", |g, at| {
            (0..2).for_each(|_| g.discard(at, 512));
            assert!(g.alloc(4096).is_err());
        }),
        ("inside", |g, at| (0..300).for_each(|_| g.discard(at + 64, 512))),
        ("wrong class", |g, at| (0..300).for_each(|_| g.discard(at, 1024))),
        ("page 0", |g, _| (0..300).for_each(|_| g.discard(512, 512))),
        ("the table", |g, _| (0..300).for_each(|_| g.discard(12_288, 512))),
        ("behind the end", |g, _| (0..300).for_each(|_| g.discard(9 * PAGE + 512, 512))),
        ("outside", |g, _| (0..300).for_each(|_| g.discard(u64::MAX - 511, 512))),
        ("large that is small", |g, at| g.discard(at / UNIT * UNIT, 1 << 20)),
        ("pages that are none", |g, _| g.discard(LINE, 1 << 24)),
        ("large nowhere", |g, _| g.discard(u64::MAX - 63, 1 << 30)),
    ];
    for (name, misuse) in misuses {
        let space = pool(4);
        let chunk = space.pin_mut().unwrap().alloc(512).unwrap();
        misuse(&space.pin_mut().unwrap(), chunk);
        assert!(matches!(space.pin(), Err(Error::Corrupt { .. })), "{name}");
    }
}

/// Fills a chunk with a mark of its owner.
fn mark(space: &Space<Heap>, at: u64, bytes: u64, owner: u64) {
    let words = Region::new(space.media(), at, bytes as usize / 8).unwrap();
    (0..words.words()).for_each(|i| words.store(i, owner, Ordering::Relaxed));
}

/// Whether the chunk still has the owner's mark, which is wiped.
fn unmark(space: &Space<Heap>, at: u64, bytes: u64, owner: u64) -> bool {
    let words = Region::new(space.media(), at, bytes as usize / 8).unwrap();
    (0..words.words()).all(|i| {
        let found = words.load(i, Ordering::Relaxed);
        words.store(i, u64::MAX, Ordering::Relaxed);
        found == owner
    })
}

#[test]
fn no_chunk_has_two_owners_under_stress() {
    const SIZES: [u64; 7] = [32, 144, 512, 1024, 2112, 40_000, 1_500_000];
    let space = pool(32);
    std::thread::scope(|s| {
        for thread in 1..=4_u64 {
            let space = &space;
            s.spawn(move || {
                let mut random = thread;
                let mut own: Vec<(u64, u64, u64)> = Vec::new();
                for step in 0..30_000_u64 {
                    random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(step | 1);
                    let dice = (random >> 33) as usize;
                    if own.len() < 40 || (own.len() < 200 && dice.is_multiple_of(2)) {
                        let bytes = SIZES[dice / 2 % if dice.is_multiple_of(64) { 7 } else { 5 }];
                        let at = space.with_room(|| space.pin_mut()?.alloc(bytes)).unwrap();
                        let owner = thread << 48 | step;
                        mark(space, at, bytes, owner);
                        own.push((at, bytes, owner));
                    } else {
                        let (at, bytes, owner) = own.swap_remove(dice / 2 % own.len());
                        assert!(unmark(space, at, bytes, owner), "{at:#x} has two owners");
                        let guard = space.pin_mut().unwrap();
                        if dice.is_multiple_of(3) {
                            guard.discard(at, bytes)
                        } else {
                            guard.retire(at, bytes)
                        }
                    }
                }
                for (at, bytes, owner) in own {
                    assert!(unmark(space, at, bytes, owner));
                    space.pin_mut().unwrap().retire(at, bytes);
                }
            });
        }
    });
    assert!(!space.is_poisoned());
    space.relieve().unwrap();
    let stats = space.stats();
    assert_eq!((stats.bytes_in_use, stats.limbo_bytes), (EMPTY, 0), "everything came back");
}

#[test]
fn a_producer_and_a_consumer_do_not_let_the_pool_grow() {
    let space = pool(8);
    let (send, receive) = mpsc::sync_channel::<u64>(1000);
    std::thread::scope(|s| {
        s.spawn(|| {
            for _ in 0..200_000 {
                send.send(space.with_room(|| space.pin_mut()?.alloc(1024)).unwrap()).unwrap();
            }
            drop(send);
        });
        s.spawn(|| {
            receive.into_iter().for_each(|at| space.pin_mut().unwrap().retire(at, 1024));
        });
    });
    assert!(space.stats().length <= 2 * PAGE, "{:?}", space.stats());
}

/// While a commit keeps the cache of its thread, all that becomes free comes there. Most of it leaves with the commit.
#[test]
fn a_commit_leaves_a_small_cache() {
    const BYTES: u64 = 64;
    let space = pool(16);
    let guard = space.pin_mut().unwrap();
    let taken: Vec<u64> = (0..(3 << 20) / BYTES).map(|_| guard.alloc(BYTES).unwrap()).collect();
    let aside = guard.set_aside(&Needs::default()).unwrap();
    taken.iter().for_each(|&at| guard.discard(at, BYTES));
    drop(aside);
    let cached = guard.slot.contents.lock().cached().count() as u64;
    assert!(cached * BYTES <= 1 << 20, "{cached} chunks");
}
