//! `len` beside writers: off by no more than the operations that are under way, however many of them there were
//! while it counted.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use endura::Pool;
use endura_engine::tree::Len;

use crate::support::numbers::{Numbers, each_kind};
use crate::support::patience::ends;

/// One thread enters, and when the key is in another takes one out: there are 1000 or 1001 entries at every
/// moment, and two operations under way.
fn asked_beside_two_writers(kind: &str, map: &dyn Numbers) {
    (0..1000).for_each(|key| map.put(key, 0));
    let (came, went, stop) = (AtomicU64::new(1000), AtomicU64::new(0), AtomicBool::new(false));
    let is_open = || !stop.load(Ordering::Relaxed);
    let enter = || {
        while is_open() {
            let now = came.load(Ordering::Relaxed);
            if now - went.load(Ordering::Acquire) <= 1000 {
                map.put(now % 4096, 0);
                came.store(now + 1, Ordering::Release);
            }
        }
    };
    let take = || {
        while is_open() {
            let now = went.load(Ordering::Relaxed);
            if came.load(Ordering::Acquire) - now > 1000 {
                assert!(map.take(now % 4096));
                went.store(now + 1, Ordering::Release);
            }
        }
    };
    let count = || {
        let mut found = (u64::MAX, 0);
        while is_open() {
            let Len::Exact(len) = map.len() else { panic!("{kind}: not counted") };
            found = (found.0.min(len), found.1.max(len));
        }
        found
    };
    let found = std::thread::scope(|scope| {
        scope.spawn(enter);
        scope.spawn(take);
        let counts = [scope.spawn(count), scope.spawn(count)];
        let end = Instant::now() + Duration::from_millis(300);
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        counts.map(|count| count.join().unwrap())
    });
    for (least, most) in found {
        assert!(least >= 998 && most <= 1003, "{kind}: from {least} to {most}");
    }
    let left = came.into_inner() - went.into_inner();
    assert_eq!(map.len(), Len::Exact(left), "{kind}: when all is quiet");
}

#[test]
fn a_length_beside_writers_is_off_by_what_is_under_way() {
    ends("a length beside writers", || {
        each_kind(Pool::options(), asked_beside_two_writers);
    });
}

/// An insert is counted when it returns, also if two threads each insert and then ask.
#[test]
fn of_two_that_insert_and_ask_one_counts_both() {
    ends("lengths after inserts", || {
        each_kind(Pool::options(), |kind, map| {
            let (turn, end) = (&AtomicU64::new(0), &AtomicU64::new(u64::MAX));
            let begin = Instant::now();
            let run = |side: u64| {
                (0..5000).map_while(move |round| {
                    // One decides for both, before the round begins: where others keep the processors busy
                    // each of them takes long.
                    if side == 0 && begin.elapsed() > Duration::from_secs(1) {
                        end.fetch_min(round, Ordering::SeqCst);
                    }
                    // Both begin a round together.
                    turn.fetch_add(1, Ordering::SeqCst);
                    while turn.load(Ordering::SeqCst) < 2 * (round + 1) {
                        std::thread::yield_now();
                    }
                    if round >= end.load(Ordering::SeqCst) {
                        return None;
                    }
                    map.put(side << 60 | round, 0);
                    let Len::Exact(len) = map.len() else { panic!("{kind}: not counted") };
                    Some(len)
                })
            };
            let (ours, theirs): (Vec<_>, Vec<_>) = std::thread::scope(|scope| {
                let other = scope.spawn(|| run(1).collect());
                (run(0).collect(), other.join().unwrap())
            });
            for (round, (ours, theirs)) in ours.into_iter().zip(theirs).enumerate() {
                let both = 2 * (round as u64 + 1);
                assert!(ours.max(theirs) >= both, "{kind}: {ours} and {theirs} of {both}");
            }
        });
    });
}
