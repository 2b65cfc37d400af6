//! A pop is one moment: who sees a smaller key in the map does not find there what is popped nevertheless.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::time::{Duration, Instant};

use endura::Pool;
use endura_engine::space::set_waiting;
use endura_linear::{CallOf, MapAnswer, MapOp, check};

use crate::support::numbers::{Numbers, each_kind, watched};
use crate::support::patience::ends;
use crate::support::watched::interrupted;

struct HasToWait;

/// What `work` gives, unless it would have to wait: then it is given up there. For what comes between two loads
/// of the very thread that it would wait for.
pub(crate) fn unless_it_waits<R>(work: impl FnOnce() -> R) -> Option<R> {
    let before = set_waiting(Some(|| resume_unwind(Box::new(HasToWait))));
    let result = catch_unwind(AssertUnwindSafe(work));
    set_waiting(before);
    match result {
        Ok(result) => Some(result),
        Err(panic) if panic.is::<HasToWait>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// What a map has in it, and a key that comes in front of all that.
type Case = (&'static [u64], u64);

/// In the same leaf, in another one, in another part of the keys, beside one other and many.
const CASES: [Case; 5] = [
    (&[50, 60], 40),
    (&[1 << 40, 1 << 41], 3),
    (&[u64::MAX - 5], 7 << 61),
    (&[u64::MAX - 5], 1),
    (&[5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19], 4),
];

/// Between two loads of a pop another thread enters a key in front of the first, and looks for that. At each load in
/// turn; how many inserts there were that did not have to wait.
fn at_each_load(kind: &str, map: &Rc<dyn Numbers>, (keys, front): Case, up: bool) -> (u64, u64) {
    let turned = |key: u64| if up { key } else { !key };
    let (end, front) = (turned(keys[0]), turned(front));
    let (mut entered, mut at) = (0, 0);
    loop {
        for &key in keys {
            map.put(turned(key), 7);
        }
        let seen = Rc::new(std::cell::Cell::new(None));
        let act = {
            let (map, seen) = (Rc::clone(map), Rc::clone(&seen));
            move || {
                if unless_it_waits(|| map.put(front, 1)).is_some() {
                    seen.set(Some(map.get(end)));
                }
            }
        };
        let pop = || if up { map.pop_first() } else { map.pop_last() };
        let (popped, loads) = interrupted(vec![at], act, pop);
        match seen.get() {
            Some(Some(7)) => assert_eq!(popped, Some((front, 1)), "{kind}, load {at}: {keys:?}"),
            Some(other) => assert_eq!((popped, other), (Some((end, 7)), None), "{kind}, load {at}"),
            None => assert_eq!(popped, Some((end, 7)), "{kind}, load {at}"),
        }
        entered += u64::from(seen.get().is_some());
        for key in keys.iter().map(|&key| turned(key)).chain([front]) {
            map.take(key);
        }
        assert!(map.is_empty());
        at += 1;
        if at > loads {
            return (entered, at);
        }
    }
}

#[test]
fn who_sees_a_smaller_key_does_not_find_what_is_popped() {
    ends("keys in front of what is popped", || {
        for needs_flush in [false, true] {
            for (kind, map) in watched(needs_flush) {
                for (case, up) in CASES.into_iter().flat_map(|case| [(case, true), (case, false)]) {
                    let (entered, loads) = at_each_load(kind, &map, case, up);
                    assert!(4 * entered > loads, "{kind}: {entered} inserts at {loads} loads");
                }
            }
        }
    });
}

/// Threads that have a processor each show more than those that take turns.
const THREADS: usize = 3;
const KEYS: u64 = 4;
/// Operations of a thread in a round.
const ROUND: u64 = 200;
/// For each kind of map.
const LONG: Duration = Duration::from_millis(1_500);

/// A time that all threads have in common. The fences keep an operation's loads and stores on their side of it.
fn now(start: Instant) -> u64 {
    fence(Ordering::SeqCst);
    let now = start.elapsed().as_nanos() as u64;
    fence(Ordering::SeqCst);
    now
}

fn act(map: &dyn Numbers, op: MapOp) -> MapAnswer {
    match op {
        MapOp::Get(key) => MapAnswer::Value(map.get(key)),
        MapOp::Insert(key, value) => MapAnswer::Value(map.replace(key, value)),
        MapOp::Remove(key) => MapAnswer::Value(map.remove(key)),
        MapOp::First => MapAnswer::Entry(map.first()),
        MapOp::Last => MapAnswer::Entry(map.last()),
        MapOp::PopFirst => MapAnswer::Entry(map.pop_first()),
        MapOp::PopLast => MapAnswer::Entry(map.pop_last()),
    }
}

/// What a thread does in a round.
fn work(
    map: &dyn Numbers,
    keys: [u64; KEYS as usize],
    thread: usize,
    seed: u64,
    start: Instant,
) -> Vec<CallOf<MapOp>> {
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ thread as u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (random >> 33) % below
    };
    let mut calls = Vec::new();
    for n in 0..ROUND {
        let key = keys[next(KEYS) as usize];
        let op = match next(20) {
            0..7 => MapOp::Insert(key, seed << 16 | n << 2 | thread as u64),
            7..8 => MapOp::Remove(key),
            8..12 => MapOp::Get(key),
            12..13 => MapOp::First,
            13..14 => MapOp::Last,
            14..17 => MapOp::PopFirst,
            _ => MapOp::PopLast,
        };
        let called = now(start);
        let answer = Some(act(map, op));
        calls.push(CallOf { thread: thread as u32, called, returned: now(start), op, answer });
    }
    calls
}

/// Rounds for a while, each of which some order of its calls has to explain.
fn soak(kind: &str, map: &dyn Numbers, keys: [u64; KEYS as usize]) {
    let (start, together) = (Instant::now(), AtomicUsize::new(0));
    let (mut state, mut round) = (BTreeMap::new(), 0);
    while start.elapsed() < LONG {
        round += 1;
        let arrive = || {
            together.fetch_add(1, Ordering::SeqCst);
            while together.load(Ordering::SeqCst) < THREADS * round {
                std::thread::yield_now();
            }
        };
        let calls: Vec<CallOf<MapOp>> = std::thread::scope(|scope| {
            let arrive = &arrive;
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    scope.spawn(move || {
                        arrive();
                        work(map, keys, thread, round as u64, start)
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let after = check(state, &calls)
            .unwrap_or_else(|story| panic!("{kind}, round {round}, keys {keys:x?}: {story}"));
        state = keys.iter().filter_map(|&key| Some((key, map.get(key)?))).collect();
        assert!(after.contains(&state), "{kind}, round {round}: {state:?}, not one of {after:?}");
    }
}

#[test]
fn some_order_explains_what_threads_are_told_of_ends() {
    ends("histories with pops", || {
        each_kind(Pool::options(), |kind, map| {
            soak(kind, map, [1, 2, 3, 4]);
            (0..5).for_each(|key| _ = map.take(key));
            // In different leaves, arrays and parts.
            soak(kind, map, [1, 1 << 20, 1 << 61, u64::MAX]);
        });
    });
}
