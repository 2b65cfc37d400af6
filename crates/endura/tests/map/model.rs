//! Random operations beside a `BTreeMap`, through closes and opens.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

use endura::{Map, Pool, Result, Value};

use crate::cases::{self, Case, Visitor};

const ROUNDS: u64 = 4;
const OPERATIONS: u64 = 3_000;
const KEYS: u64 = 300;

type K<C> = <<C as Case>::K as Value>::Owned;
type V<C> = <<C as Case>::V as Value>::Owned;
type Model<C> = BTreeMap<K<C>, V<C>>;

fn lend_key<C: Case>(key: &K<C>) -> <C::K as Value>::Ref<'_> {
    <C::K as Value>::lend(key)
}

fn lend<C: Case>(value: &V<C>) -> <C::V as Value>::Ref<'_> {
    <C::V as Value>::lend(value)
}

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
fn on_a_key<C: Case>(map: &Map<C::K, C::V>, model: &mut Model<C>, n: u64, choices: &mut Choices)
where
    K<C>: Ord + Clone + Debug,
    V<C>: PartialEq + Clone + Debug,
{
    let (key, value) = (C::key(choices.below(KEYS)), C::value(n));
    let found = model.get(&key).cloned();
    let is_odd = n % 2 == 1;
    let k = || lend_key::<C>(&key);
    match choices.below(9) {
        0 | 1 => {
            assert_eq!(map.insert(k(), lend::<C>(&value)).unwrap(), found);
            model.insert(key, value);
        }
        2 => {
            let is_new = map.insert_if_absent(k(), lend::<C>(&value)).unwrap();
            assert_eq!(is_new, found.is_none());
            model.entry(key).or_insert(value);
        }
        3 => {
            assert_eq!(map.replace(k(), lend::<C>(&value)).unwrap(), found);
            model.entry(key).and_modify(|old| *old = value);
        }
        4 => assert_eq!(map.remove(k()).unwrap(), model.remove(&key)),
        5 => {
            let expected = if is_odd { found.clone() } else { Some(value.clone()) };
            let done = expected == found;
            let outcome = map.compare_exchange(
                k(),
                expected.as_ref().map(lend::<C>),
                Some(lend::<C>(&value)),
            );
            assert_eq!(outcome.unwrap(), if done { Ok(()) } else { Err(found) });
            if done {
                model.insert(key, value);
            }
        }
        6 => {
            let old = map.alter(k(), |_| is_odd.then(|| value.clone())).unwrap();
            assert_eq!(old, found);
            match is_odd {
                true => _ = model.insert(key, value),
                false => _ = model.remove(&key),
            }
        }
        7 => {
            assert_eq!(map.update(k(), |_| value.clone()).unwrap(), value);
            model.insert(key, value);
        }
        _ => {
            assert_eq!(map.get(k()).unwrap(), found);
            assert_eq!(map.contains_key(k()).unwrap(), found.is_some());
            let seen = map.get_with(k(), |_| ()).unwrap();
            assert_eq!(seen.is_some(), found.is_some());
        }
    }
}

/// A load of entries that ascend, or nearly so: each is looked for where the last one went.
fn load<C: Case>(map: &Map<C::K, C::V>, model: &mut Model<C>, choices: &mut Choices)
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
    let entries = new.iter().map(|(key, value)| (lend_key::<C>(key), lend::<C>(value)));
    assert_eq!(map.extend(entries).unwrap(), new.len());
    model.extend(new);
}

/// One operation on more than that.
fn on_many<C: Case>(map: &Map<C::K, C::V>, model: &mut Model<C>, choices: &mut Choices)
where
    K<C>: Ord + Clone + Debug,
    V<C>: PartialEq + Clone + Debug,
{
    let (a, b) = (C::key(choices.below(KEYS)), C::key(choices.below(KEYS)));
    let (a, b) = if a < b { (a, b) } else { (b, a) };
    let keys = || lend_key::<C>(&a)..lend_key::<C>(&b);
    let own = |(k, v): (&K<C>, &V<C>)| (k.clone(), v.clone());
    match choices.below(7) {
        0 => {
            let first = model.first_key_value().map(own);
            assert_eq!(map.first_key_value().unwrap(), first);
            assert_eq!(map.pop_first().unwrap(), first);
            model.pop_first();
        }
        1 => {
            let last = model.last_key_value().map(own);
            assert_eq!(map.last_key_value().unwrap(), last);
            assert_eq!(map.pop_last().unwrap(), last);
            model.pop_last();
        }
        2 => {
            let mut both = map.range(keys());
            let mut expected = model.range(a.clone()..b.clone());
            while let Some(entry) = expected.next() {
                assert_eq!(both.next().transpose().unwrap(), Some(own(entry)));
                let back = both.next_back().transpose().unwrap();
                assert_eq!(back, expected.next_back().map(own));
            }
            assert!(both.next().is_none() && both.next_back().is_none());
        }
        3 => {
            // Ahead of the range, which must not give what has gone, nor what it was.
            let mut left = Vec::new();
            let mut entries = map.range(keys());
            while let Some(entry) = entries.next().transpose().unwrap() {
                let next = model.range(entry.0.clone()..b.clone()).nth(1).map(own);
                if let Some((next, _)) = next {
                    assert!(map.remove(lend_key::<C>(&next)).unwrap().is_some());
                    model.remove(&next);
                }
                left.push(entry);
            }
            assert!(left.into_iter().eq(model.range(a.clone()..b.clone()).map(own)));
        }
        4 => {
            let gone = map.remove_range(keys()).unwrap();
            let all = model.len();
            model.retain(|key, _| *key < a || *key >= b);
            assert_eq!(gone, all - model.len());
        }
        5 => load::<C>(map, model, choices),
        _ => {
            let many: Vec<_> = (0..20).map(|_| C::key(choices.below(KEYS))).collect();
            let found = map.get_many(many.iter().map(lend_key::<C>)).unwrap();
            assert!(found.into_iter().eq(many.iter().map(|key| model.get(key).cloned())));
        }
    }
}

struct Beside<'p>(&'p Path);

impl Visitor for Beside<'_> {
    fn visit<C: Case>(&mut self)
    where
        K<C>: Ord + Clone + Debug,
        V<C>: PartialEq + Clone + Debug,
    {
        let (mut model, mut choices) = (Model::<C>::new(), Choices(0x9E37_79B9_7F4A_7C15));
        for round in 0..ROUNDS {
            let pool = Pool::open(self.0).unwrap();
            let map = C::open(&pool);
            for n in round * OPERATIONS..(round + 1) * OPERATIONS {
                match n % 40 {
                    0 => on_many::<C>(&map, &mut model, &mut choices),
                    _ => on_a_key::<C>(&map, &mut model, n, &mut choices),
                }
            }
            let entries: Result<Vec<_>> = map.iter().collect();
            assert!(entries.unwrap().into_iter().eq(model.clone()), "{}", C::NAME);
            assert_eq!(map.len().unwrap(), model.len());
            drop(map);
            pool.verify().unwrap();
            pool.close().unwrap();
        }
    }
}

#[test]
fn every_map_agrees_with_btreemap() {
    let folder = tempfile::tempdir().unwrap();
    cases::all(&mut Beside(&folder.path().join("pool.endura")));
}
