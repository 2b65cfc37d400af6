//! Bulk loads whose source does things to the map, and to the pool, between two entries.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use endura::{Error, Key, Kind, Map, MapOptions, Pool};

use crate::model::Choices;

/// Where FAST & FAIR keeps leaves apart.
const MIDDLE: u64 = 1 << 63;
const ROUNDS: u64 = 25;

/// Keys by number: in words, and in bytes.
trait Numbered: Key + Sized + 'static {
    fn key<'a>(n: u64) -> Self::Ref<'a>;
    fn number(key: &Self::Owned) -> u64;
    fn remove_range(map: &Map<Self, u64>, from: u64, to: u64) -> usize;
}

impl Numbered for u64 {
    fn key<'a>(n: u64) -> Self::Ref<'a> {
        n
    }

    fn number(key: &u64) -> u64 {
        *key
    }

    fn remove_range(map: &Map<Self, u64>, from: u64, to: u64) -> usize {
        map.remove_range(from..to).unwrap()
    }
}

impl Numbered for (u64, bool) {
    fn key<'a>(n: u64) -> Self::Ref<'a> {
        (n, false)
    }

    fn number(key: &(u64, bool)) -> u64 {
        key.0
    }

    fn remove_range(map: &Map<Self, u64>, from: u64, to: u64) -> usize {
        map.remove_range((from, false)..(to, false)).unwrap()
    }
}

/// Keys in an order that may suit a load, or not; some at the ends, and around the middle.
fn keys(choices: &mut Choices) -> Vec<u64> {
    let (order, dense) = (choices.below(6), choices.below(2) == 0);
    let from = [0, MIDDLE - 300, u64::MAX - 599, choices.below(1 << 62)][choices.below(4) as usize];
    let mut keys: Vec<u64> = (0..choices.below(600))
        .map(|n| if dense { from.saturating_add(n) } else { choices.below(400) << 55 })
        .collect();
    match order {
        0 | 1 => keys.sort_unstable(),
        2 => keys.sort_unstable_by(|a, b| b.cmp(a)),
        3 => keys = keys.iter().flat_map(|&key| [key, key, u64::MAX, key]).collect(),
        4 => keys.iter_mut().step_by(9).for_each(|key| *key = choices.below(2).wrapping_neg()),
        _ => {}
    }
    keys
}

/// A map with what must be in it, and what is about to be.
struct World<'p, K: Numbered> {
    pool: &'p Pool,
    map: &'p Map<K, u64>,
    model: RefCell<BTreeMap<u64, u64>>,
    name: RefCell<String>,
}

impl<K: Numbered> World<'_, K> {
    /// Loads, and goes through all of it if `depth` is not 0.
    fn load(&self, choices: &RefCell<Choices>, depth: u32) {
        let keys = keys(&mut choices.borrow_mut());
        let mut given = None;
        let source = keys.iter().map(|&key| {
            self.is_in(given.take());
            if depth > 0 {
                self.meddle(choices, key, depth);
            }
            let value = choices.borrow_mut().below(1 << 40);
            given = Some((key, value));
            (K::key(key), value)
        });
        assert_eq!(self.map.extend(source).unwrap(), keys.len());
        self.is_in(given);
    }

    fn is_in(&self, given: Option<(u64, u64)>) {
        if let Some((key, value)) = given {
            assert_eq!(self.map.get(K::key(key)).unwrap(), Some(value), "key {key}");
            self.model.borrow_mut().insert(key, value);
        }
    }

    /// Something between two entries, of which `key` belongs to the next.
    fn meddle(&self, choices: &RefCell<Choices>, key: u64, depth: u32) {
        let what = choices.borrow_mut().below(150);
        let (map, model) = (self.map, || self.model.borrow_mut());
        match what {
            0 => {
                map.clear().unwrap();
                model().clear();
            }
            1 => {
                let gone = map.retain(|_, value| value % 8 == 0).unwrap();
                let before = model().len();
                model().retain(|_, value| *value % 8 == 0);
                assert_eq!(gone, before - model().len());
            }
            2..8 => {
                let to = key.saturating_add(choices.borrow_mut().below(90));
                let from = key - choices.borrow_mut().below(90).min(key);
                K::remove_range(map, from, to);
                model().retain(|key, _| *key < from || *key >= to);
            }
            8..12 => {
                let last = map.pop_last().unwrap().map(|(key, value)| (K::number(&key), value));
                assert_eq!(last, model().pop_last());
            }
            12..15 => {
                let first = map.pop_first().unwrap().map(|(key, value)| (K::number(&key), value));
                assert_eq!(first, model().pop_first());
            }
            15 => self.load(choices, depth - 1),
            16 => {
                let new = if *self.name.borrow() == "a" { "b" } else { "a" };
                self.pool.rename(&self.name.borrow(), new).unwrap();
                *self.name.borrow_mut() = new.to_owned();
            }
            // It would wait for the load to end.
            17 => assert!(matches!(self.pool.verify(), Err(Error::InsideOperation))),
            18 => self.reuse(key),
            19..40 => assert_eq!(map.remove(K::key(key)).unwrap(), model().remove(&key)),
            _ => {}
        }
    }

    /// Another map comes, and goes, in the memory of nodes that have gone.
    fn reuse(&self, key: u64) {
        let other: Map<K, u64> =
            self.pool.map_with("other", MapOptions::new().kind(self.map.kind())).unwrap();
        other.extend((0..200).map(|n| (K::key(key.wrapping_add(n)), n))).unwrap();
        assert_eq!(other.len().unwrap(), 200);
        self.pool.drop_map("other").unwrap();
    }
}

fn sources_beside_a_model<K: Numbered>(kind: Kind) {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool")).unwrap();
    let map = pool.map_with::<K, u64>("a", MapOptions::new().kind(kind)).unwrap();
    let world = World {
        pool: &pool,
        map: &map,
        model: RefCell::default(),
        name: RefCell::new("a".to_owned()),
    };
    let choices = RefCell::new(Choices(0x9E37_79B9_7F4A_7C15));
    for _ in 0..ROUNDS {
        world.load(&choices, 2);
        let found: Vec<_> =
            map.iter().map(Result::unwrap).map(|(key, value)| (K::number(&key), value)).collect();
        assert!(found.into_iter().eq(world.model.borrow().clone()), "{kind:?}");
        assert_eq!(map.len().unwrap(), world.model.borrow().len());
        pool.verify().unwrap();
    }
}

#[test]
fn a_source_may_do_to_the_map_what_it_likes() {
    sources_beside_a_model::<u64>(Kind::FastFair);
    sources_beside_a_model::<u64>(Kind::NbTree);
    sources_beside_a_model::<u64>(Kind::Roart);
    sources_beside_a_model::<(u64, bool)>(Kind::Roart);
}

/// The last leaf that a load went to is absorbed, and becomes one of a map whose leaves cover the next key.
#[test]
fn a_load_does_not_go_on_in_a_node_of_another_map() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::options().max_size(8 << 20).create_new(folder.path().join("pool")).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    let (mut others, next) = (Vec::new(), MIDDLE - 1);
    let source = (next - 5_000..=next).map(|key| {
        if key == next {
            // By a thread that exits, so that what it has freed is there for all.
            thread::scope(|scope| scope.spawn(|| map.clear().unwrap()).join().unwrap());
            for n in 0..300 {
                others.push(pool.map::<u64, u64>(&format!("other {n}")).unwrap());
            }
        }
        (key, key)
    });
    map.extend(source).unwrap();
    assert_eq!(map.get(next).unwrap(), Some(next));
    for other in others {
        assert_eq!(other.first_key_value().unwrap(), None, "{}", other.name());
    }
    pool.verify().unwrap();
}

/// What stays of a load that meets the end of the space, and what can be done then.
fn full<K: Numbered>(kind: Kind, descending: bool) {
    let folder = tempfile::tempdir().unwrap();
    let size = if kind == Kind::Roart { 32 << 20 } else { 6 << 20 };
    let pool = Pool::options().max_size(size).create_new(folder.path().join("pool")).unwrap();
    let map = pool.map_with::<K, u64>("map", MapOptions::new().kind(kind)).unwrap();
    let key = |n: u64| if descending { MIDDLE + 10_000_000 - n } else { MIDDLE - 1_000 + n };
    let mut taken = 0;
    let mut load = || {
        let from = taken;
        let source = (from..10_000_000).map(|n| {
            taken = n;
            (K::key(key(n)), n)
        });
        let result = map.extend(source);
        assert!(matches!(result, Err(Error::Full { .. })), "{result:?}");
        taken
    };
    let first = load();
    let holds = |from: u64, to: u64| {
        pool.verify().unwrap();
        assert_eq!(map.len().unwrap() as u64, to - from, "{kind:?}");
        let mut found: Vec<_> = map.values().map(Result::unwrap).collect();
        found.sort_unstable();
        assert!(found.into_iter().eq(from..to), "{kind:?}");
    };
    holds(0, first);
    for n in 0..first / 2 {
        assert_eq!(map.remove(K::key(key(n))).unwrap(), Some(n));
    }
    let second = load();
    assert!(second > first + first / 4, "{kind:?}: {first}, {second}");
    holds(first / 2, second);
    map.clear().unwrap();
    assert_eq!(map.extend((0..first / 2).map(|n| (K::key(n), n))).unwrap() as u64, first / 2);
    holds(0, first / 2);
}

#[test]
fn a_load_until_the_pool_is_full_and_on_when_there_is_room() {
    for descending in [false, true] {
        full::<u64>(Kind::FastFair, descending);
        full::<u64>(Kind::NbTree, descending);
    }
    full::<(u64, bool)>(Kind::Roart, false);
}

/// Loads entries 0 to 99, and does something before the 60th.
fn meddled(map: &Map<u64, u64>, meddle: impl Fn()) -> endura::Result<usize> {
    map.extend((0..100).map(|n| {
        if n == 60 {
            meddle();
        }
        (n, n)
    }))
}

#[test]
fn a_source_that_ends_it_all() {
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        let pool = Pool::open(&path).unwrap();
        let options = || MapOptions::new().kind(kind);
        let map = pool.map_with::<u64, u64>("map", options()).unwrap();

        assert_eq!(map.extend([]).unwrap(), 0);
        let is_dropped = meddled(&map, || assert!(pool.drop_map("map").unwrap()));
        assert!(matches!(is_dropped, Err(Error::Dropped)), "{is_dropped:?}");

        let map = pool.map_with::<u64, u64>("map", options()).unwrap();
        assert!(map.is_empty().unwrap());
        let panics = catch_unwind(AssertUnwindSafe(|| meddled(&map, || panic!("as meant"))));
        assert!(panics.is_err());
        assert!(map.iter().map(Result::unwrap).eq((0..60).map(|n| (n, n))));
        map.clear().unwrap();
        // A close waits for the load to end: in the middle of one it is refused, in another thread it is not.
        let is_inside = || assert!(matches!(pool.close(), Err(Error::InsideOperation)));
        assert_eq!(meddled(&map, is_inside).unwrap(), 100);
        map.clear().unwrap();
        let closes = || thread::scope(|threads| threads.spawn(|| pool.close()).join());
        let is_closed = meddled(&map, || _ = closes().unwrap().unwrap());
        assert!(matches!(is_closed, Err(Error::Closed { .. })), "{is_closed:?}");
        drop((map, pool));
        let pool = Pool::open(&path).unwrap();
        let map = pool.map_with::<u64, u64>("map", options()).unwrap();
        assert!(map.iter().map(Result::unwrap).eq((0..60).map(|n| (n, n))));
        pool.verify().unwrap();
    }
}
