//! Threads beside each other: what each was told fits its own keys, and no update is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use endura::{Map, Pool, Value};

use crate::cases::{self, Case, Visitor};

const THREADS: u64 = 4;
const OPERATIONS: u64 = 4_000;
/// Of one thread.
const KEYS: u64 = 60;
/// Keys that nobody changes.
const STAY: std::ops::Range<u64> = 10_000..10_050;

type K<C> = <<C as Case>::K as Value>::Owned;
type V<C> = <<C as Case>::V as Value>::Owned;

/// The keys of a thread: none is another one's too.
fn own_keys<C: Case>(thread: u64, taken: &mut BTreeSet<K<C>>) -> Vec<K<C>>
where
    K<C>: Ord + Clone,
{
    let keys = (thread * KEYS..(thread + 1) * KEYS).map(C::key);
    keys.filter(|key| taken.insert(key.clone())).collect()
}

/// Random operations on keys of its own, beside a model of these.
fn alone<C: Case>(map: &Map<C::K, C::V>, keys: &[K<C>], seed: u64) -> BTreeMap<K<C>, V<C>>
where
    K<C>: Ord + Clone + Debug,
    V<C>: PartialEq + Clone + Debug,
{
    let mut model = BTreeMap::new();
    for n in 0..OPERATIONS {
        let at = cases::scatter(seed << 32 | n);
        let key = &keys[(at >> 8) as usize % keys.len()];
        let (lent, value) = (|| C::K::lend(key), C::value(n));
        match at >> 40 & 3 {
            0 => assert_eq!(map.remove(lent()).unwrap(), model.remove(key)),
            1 => assert_eq!(map.get(lent()).unwrap().as_ref(), model.get(key)),
            2 => {
                let old = map.alter(lent(), |_| Some(value.clone())).unwrap();
                assert_eq!(old, model.insert(key.clone(), value));
            }
            _ => {
                let old = map.insert(lent(), C::V::lend(&value)).unwrap();
                assert_eq!(old, model.insert(key.clone(), value));
            }
        }
    }
    model
}

/// Ranges from both ends, until all writers are done: in order, and with all that stays.
fn scan<C: Case>(map: &Map<C::K, C::V>, stay: &BTreeSet<K<C>>, done: &AtomicBool)
where
    K<C>: Ord + Clone + Debug,
{
    loop {
        let is_last = done.load(Relaxed);
        let up: Vec<_> = map.keys().map(Result::unwrap).collect();
        let mut down: Vec<_> = map.keys().rev().map(Result::unwrap).collect();
        down.reverse();
        for keys in [up, down] {
            assert!(keys.is_sorted_by(|a, b| a < b), "{}", C::NAME);
            let seen = keys.into_iter().filter(|key| stay.contains(key)).count();
            assert_eq!(seen, stay.len(), "{}", C::NAME);
        }
        if is_last {
            return;
        }
    }
}

/// Visits each case with a map of its own, in the pool at this path.
trait OnMap {
    fn run<C: Case>(&self, pool: &Pool, map: &Map<C::K, C::V>)
    where
        K<C>: Ord + Clone + Debug,
        V<C>: PartialEq + Clone + Debug;
}

struct Each<'p, T>(&'p Path, T);

impl<T: OnMap> Visitor for Each<'_, T> {
    fn visit<C: Case>(&mut self)
    where
        K<C>: Ord + Clone + Debug,
        V<C>: PartialEq + Clone + Debug,
    {
        let pool = Pool::open(self.0).unwrap();
        self.1.run::<C>(&pool, &C::open(&pool));
    }
}

/// Calls `run` for each case.
fn on_each(run: impl OnMap) {
    let folder = tempfile::tempdir().unwrap();
    cases::all(&mut Each(&folder.path().join("pool.endura"), run));
}

struct Together;

impl OnMap for Together {
    fn run<C: Case>(&self, pool: &Pool, map: &Map<C::K, C::V>)
    where
        K<C>: Ord + Clone + Debug,
        V<C>: PartialEq + Clone + Debug,
    {
        let stay: BTreeSet<_> = STAY.map(C::key).collect();
        for key in &stay {
            map.insert(C::K::lend(key), C::V::lend(&C::value(1))).unwrap();
        }
        let mut taken = stay.clone();
        let keys: Vec<_> = (0..THREADS).map(|thread| own_keys::<C>(thread, &mut taken)).collect();
        let done = AtomicBool::new(false);
        // Not all types own what threads may share.
        let models: Vec<Vec<_>> = thread::scope(|scope| {
            let (done, writers) = (&done, 0..THREADS);
            let scanner = scope.spawn(move || scan::<C>(map, &STAY.map(C::key).collect(), done));
            let writers: Vec<_> = writers
                .map(|thread| {
                    scope.spawn(move || {
                        let mut taken = STAY.map(C::key).collect();
                        let all: Vec<_> =
                            (0..THREADS).map(|t| own_keys::<C>(t, &mut taken)).collect();
                        alone::<C>(map, &all[thread as usize], thread).len()
                    })
                })
                .collect();
            let counts = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
            done.store(true, Relaxed);
            scanner.join().unwrap();
            vec![counts]
        });
        let entries: usize = models.into_iter().flatten().sum();
        assert_eq!(map.len().unwrap(), entries + stay.len(), "{}", C::NAME);
        assert!(keys.iter().all(|keys| !keys.is_empty()));
        pool.verify().unwrap();
    }
}

#[test]
fn threads_with_keys_of_their_own() {
    on_each(Together);
}

struct Counting;

impl OnMap for Counting {
    fn run<C: Case>(&self, _: &Pool, map: &Map<C::K, C::V>)
    where
        K<C>: Ord + Clone + Debug,
        V<C>: PartialEq + Clone + Debug,
    {
        let next = |old: Option<u64>| C::value(old.map_or(1, |old| old + 1));
        let number = |old: Option<<C::V as Value>::Ref<'_>>| {
            let mut stored = Vec::new();
            old.map(|old| {
                C::V::encode(old, &mut stored).unwrap();
                C::number(&C::V::decode(&stored).unwrap())
            })
        };
        thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || {
                    for n in 0..OPERATIONS / 4 {
                        let key = C::key(n % 3);
                        let key = C::K::lend(&key);
                        match (thread + n) % 3 {
                            0 => drop(map.update(key, |old| next(number(old))).unwrap()),
                            1 => drop(map.alter(key, |old| Some(next(number(old)))).unwrap()),
                            _ => {
                                let mut old = map.get(key).unwrap();
                                loop {
                                    let new = next(old.as_ref().map(C::number));
                                    let expected = old.as_ref().map(C::V::lend);
                                    match map.compare_exchange(
                                        key,
                                        expected,
                                        Some(C::V::lend(&new)),
                                    ) {
                                        Ok(Ok(())) => break,
                                        found => old = found.unwrap().unwrap_err(),
                                    }
                                }
                            }
                        }
                    }
                });
            }
        });
        let counted: u64 = map.values().map(|value| C::number(&value.unwrap())).sum();
        assert_eq!(counted, THREADS * (OPERATIONS / 4), "{}", C::NAME);
    }
}

#[test]
fn no_update_is_lost() {
    on_each(Counting);
}
