//! Of two threads that each write and then look for what the other one writes, one sees it: `insert(x); get(y)`
//! beside `insert(y); get(x)`, in every domain.
//!
//! What breaks that is a store that waits in the store buffer while the next lookup is answered. The race
//! seldom meets such a moment, so the rule that excludes it is tested by itself: no write returns with a
//! plain store behind its last locked instruction.

use std::sync::atomic::{AtomicU64, Ordering};

use endura::Pool;
use endura_engine::media::{FlushInstruction, MediaChoice};

use crate::support::numbers::{Numbers, each_kind, watched};
use crate::support::patience::ends;
use crate::support::watched::unfenced;

#[test]
fn no_write_returns_with_a_store_behind_its_last_locked_instruction() {
    for needs_flush in [false, true] {
        for (kind, map) in watched(needs_flush) {
            let mut random = 1_u64;
            let mut next = |below: u64| {
                random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                (random >> 33) % below
            };
            // Up, and down again, so that nodes of all kinds come and go.
            for share in [9, 1, 8, 0] {
                for _ in 0..5000 {
                    let (key, value) = (next(3000) << next(50), next(1 << 30));
                    if next(10) < share {
                        map.put(key, value);
                    } else {
                        map.take(key);
                    }
                    let store = unfenced();
                    assert!(store.is_none(), "{kind}, flushes {needs_flush}: {store:?}");
                }
            }
        }
    }
}

const ROUNDS: u64 = 30_000;

/// How the two threads write: to one key each, or each time to a new one.
#[derive(Clone, Copy)]
enum Way {
    Update,
    Insert,
}

/// Writes `round` of `side`.
fn write(map: &dyn Numbers, way: Way, side: u64, round: u64) {
    match way {
        Way::Update => map.put(side << 60, round),
        Way::Insert => map.put(side << 60 | 1 << 40 | round, round),
    }
}

/// Whether it is there.
fn sees(map: &dyn Numbers, way: Way, side: u64, round: u64) -> bool {
    match way {
        Way::Update => map.get(side << 60).is_some_and(|last| last >= round),
        Way::Insert => map.get(side << 60 | 1 << 40 | round).is_some(),
    }
}

/// Both write and look, each at its own pace. Gives a pair of writes of which each returned before a
/// lookup that missed the other.
fn missed(map: &dyn Numbers, way: Way) -> Option<(u64, u64)> {
    let gate = AtomicU64::new(0);
    let run = |side: u64| {
        gate.fetch_add(1, Ordering::SeqCst);
        while gate.load(Ordering::SeqCst) < 2 {
            std::thread::yield_now();
        }
        // By own round, up to which of the other's it saw.
        let mut seen = vec![0];
        for round in 1..=ROUNDS {
            write(map, way, side, round);
            let mut last = seen[round as usize - 1];
            while last < ROUNDS && sees(map, way, 1 - side, last + 1) {
                last += 1;
            }
            seen.push(last);
        }
        seen
    };
    let (x, y) = std::thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        (run(0), other.join().unwrap())
    });
    let missed_both = |&i: &u64| {
        let first_missed = x[i as usize] + 1;
        first_missed <= ROUNDS && y[first_missed as usize] < i
    };
    (1..=ROUNDS).find(missed_both).map(|i| (i, x[i as usize] + 1))
}

fn race(media: MediaChoice) {
    ends("a race of two writers", move || {
        each_kind(Pool::options().media(media), |kind, map| {
            for way in [Way::Update, Way::Insert] {
                (0..2).for_each(|side| write(map, Way::Update, side, 0));
                assert_eq!(missed(map, way), None, "{kind} in {media:?}");
            }
        });
    });
}

#[test]
fn of_two_writers_one_sees_the_other() {
    race(MediaChoice::PageCache);
    race(MediaChoice::Eadr);
    if FlushInstruction::best().is_some() {
        race(MediaChoice::Adr);
    }
}
