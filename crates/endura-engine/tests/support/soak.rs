//! Eight threads on everything at once; every answer they got must fit into one order per key.
//!
//! The keys are few and the nodes tiny, so that all threads meet in the same leaves while these
//! split, merge and move. `ENDURA_SOAK_SECONDS` sets how long it lasts (5 if unset).

use std::collections::BTreeMap;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use endura_engine::tree::Index;
use endura_linear::{Answer, Call, Op, check};
use endura_variants::handles::WordMap;

use crate::support::clock::Clock;
use crate::support::ops::scatter;
use crate::support::stage::ends;
use crate::support::world::{Shape, World};

const THREADS: u32 = 8;
/// Operations of one thread between two checks.
const ROUND: u64 = 1_500;
/// Every fifth key stays for ever with one value; scans must always see it.
const PERMANENT: u64 = 5;

fn seconds() -> u64 {
    std::env::var("ENDURA_SOAK_SECONDS")
        .map_or(5, |text| text.parse().expect("a number of seconds"))
}

/// The history of one thread: what it did to which key.
type Log = Vec<(u64, Call)>;

/// One thread of a round: its random numbers, its clock, and what it has seen.
struct Worker<'w, I> {
    map: &'w WordMap<I>,
    keys: u64,
    clock: Clock,
    thread: u32,
    random: u64,
    log: Log,
}

impl<I: Index> Worker<'_, I> {
    fn next(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scatter(self.random) % below
    }

    /// A key that comes and goes.
    fn key(&mut self) -> u64 {
        let key = self.next(self.keys);
        if key.is_multiple_of(PERMANENT) { key + 1 } else { key }
    }

    /// Notes what happened to `key` between `called` and now.
    fn note(&mut self, key: u64, called: u64, op: Op, answer: Answer) {
        self.note_until(key, (called, self.clock.now()), op, answer);
    }

    /// The same for a call that ended before.
    fn note_until(&mut self, key: u64, time: (u64, u64), op: Op, answer: Answer) {
        let ((called, returned), answer) = (time, Some(answer));
        self.log.push((key, Call { thread: self.thread, called, returned, op, answer }));
    }

    /// One operation. In a round of growth most operations insert, then most remove.
    fn act(&mut self, grow: bool) {
        let (key, value, kind) = (self.key(), self.next(u64::MAX), self.next(100));
        let called = self.clock.now();
        let map = self.map;
        let (op, answer) = match kind {
            0..10 => (Op::Read, Answer::Value(map.get(key).unwrap())),
            10..15 => (Op::Contains, Answer::Truth(map.contains_key(key).unwrap())),
            15..50 if grow => {
                (Op::Set(Some(value)), Answer::Value(map.insert(key, value).unwrap()))
            }
            15..50 => (Op::Set(None), Answer::Value(map.remove(key).unwrap())),
            50..60 => (Op::SetNew(value), Answer::Truth(map.insert_new(key, value).unwrap())),
            60..70 => (Op::Set(None), Answer::Value(map.remove(key).unwrap())),
            70..78 => (Op::Replace(value), Answer::Value(map.update(key, value).unwrap())),
            78..84 => return self.exchange(key, value),
            84..88 => {
                let new = (!value.is_multiple_of(3)).then_some(value);
                (Op::Set(new), Answer::Value(map.fetch_update(key, |_| new).unwrap()))
            }
            88..91 => return self.look_at_an_end(kind == 88),
            91..95 => return self.read_many(),
            _ => return self.scan(kind.is_multiple_of(2)),
        };
        self.note(key, called, op, answer);
    }

    /// What a client does: look, then try to replace what was seen.
    fn exchange(&mut self, key: u64, value: u64) {
        let called = self.clock.now();
        let expected = self.map.get(key).unwrap();
        self.note(key, called, Op::Read, Answer::Value(expected));
        let (called, new) = (self.clock.now(), (!value.is_multiple_of(3)).then_some(value));
        let answer = self.map.compare_exchange(key, expected, new).unwrap();
        self.note(key, called, Op::Exchange { expected, new }, Answer::Exchanged(answer));
    }

    fn look_at_an_end(&mut self, first: bool) {
        let called = self.clock.now();
        let entry = if first { self.map.first() } else { self.map.last() }.unwrap();
        let (key, value) = entry.expect("the permanent keys are there");
        if !key.is_multiple_of(PERMANENT) {
            self.note(key, called, Op::Read, Answer::Value(Some(value)));
        }
    }

    fn read_many(&mut self) {
        let mut keys: Vec<u64> = (0..6).map(|_| self.key()).collect();
        keys.sort_unstable();
        keys.dedup(); // a thread has one operation per key in flight
        let called = self.clock.now();
        let values = self.map.get_many(&keys).unwrap();
        let returned = self.clock.now();
        for (key, value) in keys.into_iter().zip(values) {
            self.note_until(key, (called, returned), Op::Read, Answer::Value(value));
        }
    }

    /// Scans are no snapshots, but what they say of each key held at some moment meanwhile.
    fn scan(&mut self, forward: bool) {
        let low = self.next(self.keys);
        let high = (low + 40).min(self.keys - 1);
        let called = self.clock.now();
        let range = self.map.range(low..=high);
        let mut entries: Vec<(u64, u64)> = if forward {
            range.map(Result::unwrap).collect()
        } else {
            range.rev().map(Result::unwrap).collect()
        };
        let returned = self.clock.now();
        if !forward {
            entries.reverse();
        }
        assert!(entries.is_sorted_by(|a, b| a.0 < b.0), "sorted, each key once: {entries:?}");
        assert!(entries.iter().all(|(key, _)| (low..=high).contains(key)), "{entries:?}");
        let found: BTreeMap<u64, u64> = entries.into_iter().collect();
        for key in low..=high {
            let value = found.get(&key).copied();
            if key.is_multiple_of(PERMANENT) {
                assert_eq!(value, Some(!key), "a permanent key, scanned from {low} to {high}");
            } else {
                self.note_until(key, (called, returned), Op::Read, Answer::Value(value));
            }
        }
    }
}

/// One round of all threads; gives the history of each key.
fn round<S: Shape>(world: &World<S>, keys: u64, number: u64) -> BTreeMap<u64, Vec<Call>> {
    let (clock, start) = (Clock::start(), Barrier::new(THREADS as usize));
    let logs = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (logs, start) = (&logs, &start);
            scope.spawn(move || {
                let random = scatter(number << 8 | u64::from(thread));
                let map = world.map();
                let mut worker = Worker { map, keys, clock, thread, random, log: Log::new() };
                start.wait();
                for _ in 0..ROUND {
                    worker.act((number / 2).is_multiple_of(2));
                }
                logs.lock().unwrap().push(worker.log);
            });
        }
    });
    let mut histories: BTreeMap<u64, Vec<Call>> = BTreeMap::new();
    for (key, event) in logs.into_inner().unwrap().into_iter().flatten() {
        histories.entry(key).or_default().push(event);
    }
    histories
}

pub(crate) fn soak<S: Shape>(name: &str, keys: u64, share: u32) {
    ends(name, || {
        let permanent = (0..keys).step_by(PERMANENT as usize).map(|key| (key, !key));
        let world = World::<S>::with(permanent);
        // A18: whoever reads a chunk that has a new owner reads nonsense.
        world.stage().poison_chunks();
        let mut content: BTreeMap<u64, u64> = world.entries().into_iter().collect();
        let end = Instant::now() + Duration::from_secs(seconds()) / share;
        let mut number = 0;
        while number < 8 || Instant::now() < end {
            let histories = round(&world, keys, number);
            let now: BTreeMap<u64, u64> = world.entries().into_iter().collect();
            for (key, history) in &histories {
                let last = check(content.get(key).copied(), history)
                    .unwrap_or_else(|story| panic!("{name}, round {number}, key {key}: {story}"));
                let found = now.get(key).copied();
                assert!(last.contains(&found), "{name}, key {key}: {found:?}, not one of {last:?}");
            }
            assert_eq!(world.verify().entries, now.len() as u64);
            content = now;
            number += 1;
        }
    });
}

/// Entries are inserted by four threads and popped from both ends by four others. The published
/// way to pop (find the first, then remove it) gives one entry to two callers.
pub(crate) fn popped_from_both_ends<S: Shape>() {
    const EACH: u64 = 20_000;
    let world = World::<S>::new();
    let (map, popped) = (world.map(), Mutex::new(Vec::new()));
    ends("pops", || {
        thread::scope(|scope| {
            for thread in 0..4 {
                let insert =
                    move |n| assert_eq!(map.insert(scatter(4 * n + thread), n).unwrap(), None);
                scope.spawn(move || (0..EACH).for_each(insert));
                scope.spawn(|| {
                    let mut mine = Vec::new();
                    while mine.len() < EACH as usize {
                        let pop = if mine.len().is_multiple_of(2) {
                            map.pop_first()
                        } else {
                            map.pop_last()
                        };
                        match pop.unwrap() {
                            Some((key, _)) => mine.push(key),
                            None => thread::yield_now(),
                        }
                    }
                    popped.lock().unwrap().extend(mine);
                });
            }
        });
    });
    assert!(map.is_empty().unwrap());
    assert_eq!(world.verify().entries, 0);
    let mut popped = popped.into_inner().unwrap();
    popped.sort_unstable();
    let mut inserted: Vec<u64> =
        (0..4).flat_map(|thread| (0..EACH).map(move |n| scatter(4 * n + thread))).collect();
    inserted.sort_unstable();
    assert_eq!(popped, inserted);
}
