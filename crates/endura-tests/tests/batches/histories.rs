//! What threads are told of two maps, of each pair of kinds, is what some order of their calls tells: batches, transactions and
//! reads of one moment are one call each. In each round some threads only read.
//!
//! The threads are those of the system, with the orders of this processor; `endura-sim` chooses the turns.
//! `ENDURA_SIM_SECONDS` is how long all pairs take.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::thread;
use std::time::{Duration, Instant};

use endura::dynamic::Encoding;
use endura::{Batch, Checkpoints, Error, Pool, Result};
use endura_linear::{CallOf, Deal, Part, Place, PoolAnswer, PoolOp, check};

use crate::maps::{KINDS, Numbers, Random, number};

/// Calls of a thread in a round.
const ROUND: u64 = 120;
const THREADS: usize = 4;
/// Keys of each map. In every second round there are reads of one moment, of these two keys, which only batches and transactions
/// write then.
const KEPT: [u64; 2] = [40, 50];
const KEYS: [u64; 5] = [20, 30, KEPT[0], KEPT[1], 60];
const LOOSE: [u64; 3] = [20, 30, 60];

/// A time that all threads have in common. The fences keep an operation's loads and stores on their side of it.
fn now(start: Instant) -> u64 {
    fence(Ordering::SeqCst);
    let now = start.elapsed().as_nanos() as u64;
    fence(Ordering::SeqCst);
    now
}

struct World {
    pool: Pool,
    maps: [Numbers; 2],
}

fn entry(found: Result<Option<(Encoding, Encoding)>>) -> PoolAnswer {
    PoolAnswer::Entry(found.unwrap().map(|(key, value)| (number(&key), number(&value))))
}

impl World {
    fn perform(&self, op: PoolOp) -> PoolAnswer {
        let map = |place: Place| &self.maps[place.0];
        match op {
            PoolOp::Get(place) => PoolAnswer::Value(map(place).get(place.1)),
            PoolOp::Put(place, value) => PoolAnswer::Value(map(place).insert(place.1, value)),
            PoolOp::PutNew(place, value) => {
                // What is there instead is not told.
                unreachable!("{place:?} {value}")
            }
            PoolOp::Fill(place, value) => {
                map(place).put(place.1, value);
                PoolAnswer::Done
            }
            PoolOp::Delete(place) => PoolAnswer::Value(map(place).remove(place.1)),
            PoolOp::First(i) => entry(self.maps[i].map.first_key_value()),
            PoolOp::Last(i) => entry(self.maps[i].map.last_key_value()),
            PoolOp::PopFirst(i) => entry(self.maps[i].map.pop_first()),
            PoolOp::PopLast(i) => entry(self.maps[i].map.pop_last()),
            PoolOp::Read(places) => {
                let look = || Ok(places.iter().map(|place| map(place).get(place.1)).collect());
                PoolAnswer::Values(self.pool.read(look).unwrap())
            }
            PoolOp::Batch(parts) => {
                let mut batch: Batch = self.pool.batch();
                for (place, part) in parts.iter() {
                    let (map, key) = (map(place), place.1);
                    match part {
                        Part::Put(value) => map.set_in(&mut batch, key, Some(value)).unwrap(),
                        Part::Delete => map.set_in(&mut batch, key, None).unwrap(),
                        Part::Expect(value) => map.expect_in(&mut batch, key, value),
                    }
                }
                PoolAnswer::Committed(match batch.commit() {
                    Ok(()) => Ok(()),
                    Err(Error::Unmet { index }) => Err(index),
                    Err(error) => panic!("{op:?}: {error}"),
                })
            }
            PoolOp::Transact(deal, places) => {
                let run = |tx: &mut endura::Transaction<'_>| {
                    let seen = [
                        map(places[0]).get_in(tx, places[0].1)?,
                        map(places[1]).get_in(tx, places[1].1)?,
                    ];
                    for (place, new) in places.into_iter().zip(deal.outcome(seen)) {
                        match new {
                            Some(Some(value)) => map(place).put_in(tx, place.1, value)?,
                            Some(None) => map(place).delete_in(tx, place.1)?,
                            None => {}
                        }
                    }
                    Ok(seen)
                };
                PoolAnswer::Values(self.pool.transact(run).unwrap().into_iter().collect())
            }
        }
    }

    fn state(&self) -> BTreeMap<Place, u64> {
        let places = (0..2).flat_map(|map| KEYS.map(|key| (map, key)));
        places.filter_map(|(map, key)| Some(((map, key), self.maps[map].get(key)?))).collect()
    }
}

/// Draws what a thread does.
struct Draw {
    random: Random,
    fresh: u64,
    has_reads: bool,
}

impl Draw {
    fn map(&mut self) -> usize {
        self.random.below(2) as usize
    }

    fn pick(&mut self, keys: &[u64]) -> Place {
        (self.map(), keys[self.random.below(keys.len() as u64) as usize])
    }

    fn value(&mut self) -> u64 {
        self.fresh += 1;
        self.fresh
    }

    fn change(&mut self) -> Part {
        if self.random.below(4) == 0 { Part::Delete } else { Part::Put(self.value()) }
    }

    fn commit(&mut self) -> PoolOp {
        let (from, mut to) = (self.pick(&KEYS), self.pick(&KEYS));
        while to == from {
            to = self.pick(&KEYS);
        }
        match self.random.below(6) {
            0 => PoolOp::Transact(Deal::Copy, [from, to]),
            1 => PoolOp::Transact(Deal::Swap, [from, to]),
            2 => PoolOp::Transact(Deal::Look, [from, to]),
            3 => {
                let parts =
                    [(from, Part::Expect(None)), (to, self.change()), (from, self.change())];
                PoolOp::Batch(parts.into_iter().collect())
            }
            _ => {
                let mut parts = vec![((0, from.1), self.change()), ((1, to.1), self.change())];
                parts.push((to, self.change()));
                PoolOp::Batch(parts.into_iter().collect())
            }
        }
    }

    fn single(&mut self) -> PoolOp {
        let place = if self.has_reads { self.pick(&LOOSE) } else { self.pick(&KEYS) };
        match self.random.below(8) {
            0..3 => PoolOp::Put(place, self.value()),
            3 => PoolOp::Fill(place, self.value()),
            4..6 => PoolOp::Delete(place),
            _ if self.has_reads => PoolOp::Get(place),
            6 => PoolOp::PopFirst(place.0),
            _ => PoolOp::PopLast(place.0),
        }
    }

    fn look(&mut self) -> PoolOp {
        match self.random.below(8) {
            0 => PoolOp::First(self.map()),
            1 => PoolOp::Last(self.map()),
            2..5 if self.has_reads => {
                let first = self.map();
                let places = [first, 1 - first].into_iter();
                PoolOp::Read(places.flat_map(|map| KEPT.map(|key| (map, key))).collect())
            }
            _ => PoolOp::Get(self.pick(&KEYS)),
        }
    }

    /// The first thread commits, the second one writes single keys, the others read, and the last one now and then commits.
    fn op(&mut self, thread: usize) -> PoolOp {
        match thread {
            0 => self.commit(),
            1 => self.single(),
            3 if self.random.below(3) == 0 => self.commit(),
            _ => self.look(),
        }
    }
}

fn work(world: &World, thread: usize, round: u64, start: Instant) -> Vec<CallOf<PoolOp>> {
    let seed = (round * THREADS as u64 + thread as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let fresh = round << 16 | (thread as u64) << 10;
    let mut draw = Draw { random: Random(seed), fresh, has_reads: round.is_multiple_of(2) };
    let mut calls = Vec::new();
    for _ in 0..ROUND {
        let op = draw.op(thread);
        let called = now(start);
        let answer = Some(world.perform(op));
        calls.push(CallOf { thread: thread as u32, called, returned: now(start), op, answer });
    }
    calls
}

/// Rounds for a while, each of which some order of its calls has to explain. Returns how many.
fn soak(pair: [usize; 2], world: &World, long: Duration) -> u64 {
    let (start, together) = (Instant::now(), AtomicUsize::new(0));
    let (mut state, mut round) = (world.state(), 0);
    while start.elapsed() < long || round < 2 {
        round += 1;
        let arrive = || {
            together.fetch_add(1, Ordering::SeqCst);
            while together.load(Ordering::SeqCst) < THREADS * round as usize {
                thread::yield_now();
            }
        };
        let calls: Vec<CallOf<PoolOp>> = thread::scope(|scope| {
            let arrive = &arrive;
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    scope.spawn(move || {
                        arrive();
                        work(world, thread, round, start)
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let after =
            check(state, &calls).unwrap_or_else(|story| panic!("{pair:?}, round {round}: {story}"));
        state = world.state();
        assert!(after.contains(&state), "{pair:?}, round {round}: {state:?}, not {after:?}");
    }
    round
}

fn open(folder: &tempfile::TempDir, pair: [usize; 2]) -> World {
    let path = folder.path().join(format!("{pair:?}"));
    let pool =
        Pool::options().checkpoints(Checkpoints::off()).max_size(1 << 30).open(path).unwrap();
    let maps = [0, 1].map(|i| Numbers::open(&pool, &i.to_string(), pair[i]));
    World { pool, maps }
}

#[test]
fn some_order_explains_what_threads_are_told() {
    let pairs: Vec<[usize; 2]> = (0..KINDS.len())
        .flat_map(|first| (first..KINDS.len()).map(move |second| [first, second]))
        .collect();
    let seconds = std::env::var("ENDURA_SIM_SECONDS").ok().and_then(|text| text.parse().ok());
    let long = Duration::from_secs_f64(seconds.unwrap_or(7.0) / pairs.len() as f64);
    let folder = tempfile::tempdir().unwrap();
    let mut rounds = 0;
    for pair in pairs {
        rounds += soak(pair, &open(&folder, pair), long);
    }
    println!("{rounds} rounds of {} calls", ROUND * THREADS as u64);
}

/// Commits of two different maps, of so many keys that they have most stripes in common: neither waits for the other for
/// ever.
#[test]
fn commits_of_different_maps_end() {
    const MANY: u64 = 3_000;
    let folder = tempfile::tempdir().unwrap();
    let world = open(&folder, [0, 1]);
    let hangs = Instant::now() + Duration::from_secs(60);
    thread::scope(|scope| {
        let threads: Vec<_> = world
            .maps
            .iter()
            .map(|map| {
                let pool = &world.pool;
                scope.spawn(move || {
                    for round in 0..12 {
                        let mut batch = pool.batch();
                        (0..MANY).for_each(|key| map.set_in(&mut batch, key, Some(round)).unwrap());
                        batch.commit().unwrap();
                    }
                })
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            if Instant::now() > hangs {
                println!("commits wait for each other");
                std::process::abort();
            }
            thread::sleep(Duration::from_millis(2));
        }
    });
    assert!(world.maps.iter().all(|map| (0..MANY).all(|key| map.get(key) == Some(11))));
}
