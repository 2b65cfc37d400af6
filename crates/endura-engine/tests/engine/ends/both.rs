//! What is said of the two ends of a map was true at one moment of the call: of `first`, `last` and `is_empty` whole,
//! of a pop that its entry was the first (or last) at one, and that there was a moment without
//! entries if it found none.
//!
//! Between the loads of a call others write, at moments that are drawn. They are atomic then, so that the
//! states of the map during the call are known, and the answer has to be that of one of them. Real
//! threads do the same beside it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use endura::Pool;

use crate::ends::one_moment::unless_it_waits;
use crate::support::numbers::{Numbers, each_kind, watched};
use crate::support::patience::ends;
use crate::support::watched::interrupted;

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (self.0 >> 33) % end
    }
}

/// Numbers in all parts of the key space, some of them close together.
fn key(random: &mut Random) -> u64 {
    let spread = [1, 1 << 8, 1 << 32, 1 << 56, 1 << 61];
    let near = random.below(3);
    near + spread[random.below(5) as usize] * random.below(8)
}

/// A map, and what is in it.
struct Tracked {
    map: Rc<dyn Numbers>,
    entries: BTreeMap<u64, u64>,
    /// The entries at each moment of the call.
    states: Vec<BTreeMap<u64, u64>>,
    /// A value that no entry had before.
    fresh: u64,
    random: Random,
    few: bool,
    is_popping: bool,
}

impl Tracked {
    /// The same, unless it has to wait for the pop that it comes between.
    fn try_write(&mut self) {
        unless_it_waits(|| self.write());
    }

    /// Enters a key or takes one out, or gives one another value; keeps few in it, if they are to be few.
    fn write(&mut self) {
        let most = if self.few { 2 } else { 40 };
        let len = self.entries.len() as u64;
        let nth = self.random.below(len.max(1)) as usize;
        let one = self.entries.keys().nth(nth).copied();
        self.fresh += 1;
        match one {
            Some(key) if self.random.below(3) == 0 => self.put(key),
            Some(key) if len > self.random.below(most) => {
                // A pop may have been there first.
                assert!(self.map.take(key) || self.is_popping);
                self.entries.remove(&key);
            }
            _ => {
                let key = key(&mut self.random);
                self.put(key);
            }
        }
        self.states.push(self.entries.clone());
    }

    fn put(&mut self, key: u64) {
        self.map.put(key, self.fresh);
        self.entries.insert(key, self.fresh);
    }
}

/// What is asked: whether it is about the first, and whether it takes that out.
#[derive(Debug, Clone, Copy)]
enum Ask {
    End { first: bool },
    Empty,
    Pop { first: bool },
}

fn ask(map: &dyn Numbers, what: Ask) -> Option<(u64, u64)> {
    match what {
        Ask::End { first: true } => map.first(),
        Ask::End { first: false } => map.last(),
        Ask::Empty => (!map.is_empty()).then_some((0, 0)),
        Ask::Pop { first: true } => map.pop_first(),
        Ask::Pop { first: false } => map.pop_last(),
    }
}

fn expected(state: &BTreeMap<u64, u64>, what: Ask) -> Option<(u64, u64)> {
    let entry = match what {
        Ask::Empty => return (!state.is_empty()).then_some((0, 0)),
        Ask::End { first: true } | Ask::Pop { first: true } => state.first_key_value(),
        Ask::End { first: false } | Ask::Pop { first: false } => state.last_key_value(),
    };
    entry.map(|(&key, &value)| (key, value))
}

fn call(tracked: &Rc<RefCell<Tracked>>, what: Ask, kind: &str) {
    let (map, at) = {
        let mut tracked = tracked.borrow_mut();
        tracked.states = vec![tracked.entries.clone()];
        tracked.is_popping = matches!(what, Ask::Pop { .. });
        let map = Rc::clone(&tracked.map);
        // How long it takes alone, were it not a pop.
        let alone = if let Ask::Pop { first } = what { Ask::End { first } } else { what };
        let (_, loads) = interrupted(Vec::new(), || {}, || ask(&*map, alone));
        let writes = 1 + tracked.random.below(5);
        let at: Vec<u64> = (0..writes).map(|_| tracked.random.below(loads + loads / 2)).collect();
        (map, at)
    };
    let other = Rc::clone(tracked);
    let (answer, _) =
        interrupted(at.clone(), move || other.borrow_mut().try_write(), || ask(&*map, what));
    let mut tracked = tracked.borrow_mut();
    tracked.is_popping = false;
    let states = &tracked.states;
    let was_true = states.iter().any(|state| expected(state, what) == answer);
    assert!(was_true, "{kind}: {what:x?} gave {answer:x?}, writes at {at:?}, states {states:x?}");
    if let (Ask::Pop { .. }, Some((key, _))) = (what, answer) {
        // It may have come again since it was taken out.
        if map.get(key).is_none() {
            tracked.entries.remove(&key);
        }
    }
}

#[test]
fn what_is_said_of_an_end_was_true_at_one_moment() {
    for needs_flush in [false, true] {
        for (kind, map) in watched(needs_flush) {
            let (random, entries, states) = (Random(7), BTreeMap::new(), Vec::new());
            let (few, is_popping, fresh) = (true, false, 0);
            let tracked = Tracked { map, entries, states, fresh, random, few, is_popping };
            let tracked = Rc::new(RefCell::new(tracked));
            for round in 0..4000 {
                tracked.borrow_mut().few = round % 400 < 300;
                for what in [
                    Ask::End { first: true },
                    Ask::End { first: false },
                    Ask::Empty,
                    Ask::Pop { first: round % 2 == 0 },
                ] {
                    call(&tracked, what, kind);
                    tracked.borrow_mut().write();
                }
            }
        }
    }
}

/// Threads, in a pool, for so long.
const LONG: Duration = Duration::from_millis(250);

/// Beside a writer that always leaves one of two keys in it, the map is never empty; and of two keys, of which the
/// smaller one comes before the other and goes after it, the other never is the first.
fn race(kind: &str, map: &dyn Numbers) {
    let (low, high, top) = (5, u64::MAX - 5, u64::MAX);
    let stop = AtomicBool::new(false);
    let wrong = AtomicU64::new(0);
    let beside = |write: &(dyn Fn() + Sync), looks: &[&(dyn Fn() -> bool + Sync)]| {
        stop.store(false, Ordering::Relaxed);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    write();
                }
            });
            for look in looks {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        wrong.fetch_add(u64::from(!look()), Ordering::Relaxed);
                    }
                });
            }
            let end = Instant::now() + LONG;
            while Instant::now() < end {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
        });
        wrong.swap(0, Ordering::Relaxed)
    };
    let exchange = || {
        map.put(low, 0);
        map.take(high);
        map.put(high, 0);
        map.take(low);
    };
    map.put(high, 0);
    let found = beside(
        &exchange,
        &[&|| map.first().is_some(), &|| map.last().is_some(), &|| !map.is_empty()],
    );
    assert_eq!(found, 0, "{kind}: times that a map was empty that never is");
    // What it gets it puts back before it asks again.
    let pop = |first: bool| {
        let key = if first { map.pop_first() } else { map.pop_last() };
        key.inspect(|&(key, _)| map.put(key, 0)).is_some()
    };
    let found = beside(&exchange, &[&|| pop(true) && pop(false)]);
    assert_eq!(found, 0, "{kind}: pops that found nothing where there always is something");
    map.take(low);
    map.put(top, 0);
    map.take(high);
    let nest = || {
        map.put(low, 0);
        map.put(high, 0);
        map.take(high);
        map.take(low);
    };
    let found =
        beside(&nest, &[&|| map.first() != Some((high, 0)), &|| map.last() == Some((top, 0))]);
    assert_eq!(found, 0, "{kind}: keys that never were the first, or the last");
}

/// Two take from a queue what two others put in: each gets everything once, in order, and stops
/// when nothing is left and no more comes.
fn queue(kind: &str, map: &dyn Numbers) {
    const EACH: u64 = 3000;
    let open = AtomicU64::new(2);
    let taken = std::thread::scope(|scope| {
        for side in 0..2 {
            let open = &open;
            scope.spawn(move || {
                (0..EACH).for_each(|number| map.put(2 * number + side, 0));
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
        let consumers = [0, 1].map(|_| {
            scope.spawn(|| {
                let mut taken = Vec::new();
                loop {
                    let is_open = open.load(Ordering::SeqCst) > 0;
                    match map.pop_first() {
                        Some((key, _)) => taken.push(key),
                        None if is_open => std::thread::yield_now(),
                        None => return taken,
                    }
                }
            })
        });
        consumers.map(|consumer| consumer.join().unwrap())
    });
    let mut all: Vec<u64> = taken.into_iter().flatten().collect();
    all.sort_unstable();
    assert_eq!(all, (0..2 * EACH).collect::<Vec<_>>(), "{kind}: what was taken from a queue");
    assert!(map.is_empty() && map.first().is_none(), "{kind}");
}

#[test]
fn the_ends_of_a_map_beside_real_threads() {
    ends("the ends of a map beside writers", || {
        each_kind(Pool::options(), |kind, map| {
            queue(kind, map);
            race(kind, map);
        });
    });
}
