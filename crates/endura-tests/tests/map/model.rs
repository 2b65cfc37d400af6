//! Random operations beside a `BTreeMap`, through closes and opens.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

use endura::Pool;
use endura::dynamic::DynamicMap;

use crate::cases::{self, Case, Visitor};
use crate::operations::{K, Operations, V};

const ROUNDS: u64 = 4;
const OPERATIONS: u64 = 3_000;
const KEYS: u64 = 300;

type Model<C> = BTreeMap<K<C>, V<C>>;

pub(crate) struct Choices(pub(crate) u64);

impl Choices {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// One operation on one key.
fn on_a_key<C: Case>(map: &impl Operations<C>, model: &mut Model<C>, n: u64, choices: &mut Choices)
where
    K<C>: Ord + Clone + Debug,
    V<C>: PartialEq + Clone + Debug,
{
    let (key, value) = (C::key(choices.below(KEYS)), C::value(n));
    let found = model.get(&key).cloned();
    let is_odd = n % 2 == 1;
    match choices.below(11) {
        0 | 1 => {
            assert_eq!(map.insert(&key, &value), found);
            model.insert(key, value);
        }
        2 => {
            assert_eq!(map.insert_if_absent(&key, &value), found.is_none());
            model.entry(key).or_insert(value);
        }
        3 => {
            assert_eq!(map.replace(&key, &value), found);
            model.entry(key).and_modify(|old| *old = value);
        }
        4 => assert_eq!(map.remove(&key), model.remove(&key)),
        5 => {
            let expected = if is_odd { found.clone() } else { Some(value.clone()) };
            let done = expected == found;
            let outcome = map.compare_exchange(&key, expected.as_ref(), Some(&value));
            assert_eq!(outcome, if done { Ok(()) } else { Err(found) });
            if done {
                model.insert(key, value);
            }
        }
        6 => {
            assert_eq!(map.alter(&key, is_odd.then_some(&value)), found);
            match is_odd {
                true => _ = model.insert(key, value),
                false => _ = model.remove(&key),
            }
        }
        8 => {
            assert_eq!(map.put(&key, &value), found.is_none());
            model.insert(key, value);
        }
        9 => assert_eq!(map.delete(&key), model.remove(&key).is_some()),
        7 => {
            assert_eq!(map.update(&key, &value), value);
            model.insert(key, value);
        }
        _ => {
            assert_eq!(map.get(&key), found);
            assert_eq!(map.is_there(&key), found.is_some());
        }
    }
}

/// A load of entries that ascend, or nearly so: each is looked for where the last one went.
fn load<C: Case>(map: &impl Operations<C>, model: &mut Model<C>, choices: &mut Choices)
where
    K<C>: Ord,
{
    let mut new: Vec<_> =
        (0..choices.below(200)).map(|n| (C::key(choices.below(KEYS)), C::value(n))).collect();
    new.sort_by(|a, b| a.0.cmp(&b.0));
    for n in (0..new.len()).step_by(7) {
        let other = choices.below(new.len() as u64) as usize;
        new.swap(n, other);
    }
    assert_eq!(map.extend(&new), new.len());
    model.extend(new);
}

/// Removes keys ahead of a range, which must not give what has gone, nor what it was.
fn remove_ahead<C: Case>(map: &impl Operations<C>, model: &mut Model<C>, (a, b): (&K<C>, &K<C>))
where
    K<C>: Ord + Clone + Debug,
    V<C>: PartialEq + Clone + Debug,
{
    let own = |(k, v): (&K<C>, &V<C>)| (k.clone(), v.clone());
    let mut left = Vec::new();
    for entry in map.range(Some((a, b))) {
        let next = model.range(entry.0.clone()..b.clone()).nth(1).map(own);
        if let Some((next, _)) = next {
            assert!(map.remove(&next).is_some());
            model.remove(&next);
        }
        left.push(entry);
    }
    assert!(left.into_iter().eq(model.range(a.clone()..b.clone()).map(own)));
}

/// One operation on more than that.
fn on_many<C: Case>(map: &impl Operations<C>, model: &mut Model<C>, choices: &mut Choices)
where
    K<C>: Ord + Clone + Debug,
    V<C>: PartialEq + Clone + Debug,
{
    let (a, b) = (C::key(choices.below(KEYS)), C::key(choices.below(KEYS)));
    let (a, b) = if a < b { (a, b) } else { (b, a) };
    let own = |(k, v): (&K<C>, &V<C>)| (k.clone(), v.clone());
    match choices.below(9) {
        n @ (0 | 1) => {
            let end = if n == 0 { model.first_key_value() } else { model.last_key_value() };
            let end = end.map(own);
            assert_eq!(map.end(n == 0), end);
            assert_eq!(map.pop(n == 0), end);
            if let Some((key, _)) = end {
                model.remove(&key);
            }
        }
        2 => {
            let mut both = map.range(Some((&a, &b)));
            let mut expected = model.range(a.clone()..b.clone());
            while let Some(entry) = expected.next() {
                assert_eq!(both.next(), Some(own(entry)));
                assert_eq!(both.next_back(), expected.next_back().map(own));
            }
            assert!(both.next().is_none() && both.next_back().is_none());
        }
        3 => remove_ahead::<C>(map, model, (&a, &b)),
        4 => {
            let gone = map.remove_range(&a, &b);
            let all = model.len();
            model.retain(|key, _| *key < a || *key >= b);
            assert_eq!(gone, all - model.len());
        }
        5 => load::<C>(map, model, choices),
        7 => {
            let first = choices.below(2) == 0;
            let end = if first { model.pop_first() } else { model.pop_last() };
            assert_eq!(map.pop_key(first), end.map(|(key, _)| key));
        }
        6 => {
            let (all, end) = (model.len(), choices.below(KEYS));
            let mut n = 0;
            model.retain(|_, _| {
                n += 1;
                n % 7 > 0 || n > end
            });
            let gone = map.retain(&mut |key| model.contains_key(key));
            assert_eq!(gone, all - model.len());
        }
        _ => {
            let many: Vec<_> = (0..20).map(|_| C::key(choices.below(KEYS))).collect();
            let found = map.get_many(&many);
            assert!(found.into_iter().eq(many.iter().map(|key| model.get(key).cloned())));
        }
    }
}

/// Whether the types of the maps are known only at run time.
struct Beside<'p> {
    path: &'p Path,
    is_dynamic: bool,
}

impl Visitor for Beside<'_> {
    fn visit<C: Case>(&mut self)
    where
        K<C>: Ord + Clone + Debug,
        V<C>: PartialEq + Clone + Debug,
    {
        let (mut model, mut choices) = (Model::<C>::new(), Choices(0x9E37_79B9_7F4A_7C15));
        for round in 0..ROUNDS {
            let pool = Pool::open(self.path).unwrap();
            let map = C::open(&pool);
            match self.is_dynamic {
                true => {
                    let map = DynamicMap::open(&pool, C::NAME).unwrap();
                    beside::<C>(&map, &mut model, round, &mut choices);
                }
                false => beside::<C>(&map, &mut model, round, &mut choices),
            }
            drop(map);
            pool.verify().unwrap();
            pool.close().unwrap();
        }
    }
}

fn beside<C: Case>(
    map: &impl Operations<C>,
    model: &mut Model<C>,
    round: u64,
    choices: &mut Choices,
) where
    K<C>: Ord + Clone + Debug,
    V<C>: PartialEq + Clone + Debug,
{
    for n in round * OPERATIONS..(round + 1) * OPERATIONS {
        match n % 40 {
            0 => on_many::<C>(map, model, choices),
            _ => on_a_key::<C>(map, model, n, choices),
        }
    }
    assert!(map.range(None).eq(model.clone()), "{}", C::NAME);
    assert_eq!(map.len(), model.len());
}

#[test]
fn every_map_agrees_with_btreemap() {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("pool.endura");
    cases::all(&mut Beside { path, is_dynamic: false });
}

#[test]
fn so_does_every_map_whose_types_are_known_at_run_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("pool.endura");
    cases::all(&mut Beside { path, is_dynamic: true });
}
