//! Ranges that skip keys, beside a `BTreeMap`; and threads that all want one value for a key.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::ops::Bound;
use std::sync::Barrier;
use std::thread;

use endura::{Key, Kind, Map, MapOptions, Pool, Range};

use crate::model::Choices;

const WALKS: u64 = 200;
const STEPS: u64 = 20;

/// Walks through a map from both ends, and skips at random. `first_of` is the part of a key by which `skip` skips it.
fn walk<K, P>(
    map: &Map<K, u64>,
    keys: &BTreeSet<K::Owned>,
    first_of: impl Fn(&K::Owned) -> P,
    skip: impl Fn(&mut Range<K, u64>, &P),
) where
    K: Key + ?Sized,
    K::Owned: Ord + Clone + Debug,
    P: Ord,
{
    let model: BTreeMap<_, _> = keys.iter().cloned().zip(0..).collect();
    map.extend(model.iter().map(|(key, &value)| (K::lend(key), value))).unwrap();
    let keys: Vec<_> = keys.iter().collect();
    let mut choices = Choices(7);
    for _ in 0..WALKS {
        let mut pick = || keys[choices.below(keys.len() as u64) as usize];
        let (from, some): (_, Vec<_>) = (pick(), (0..STEPS).map(|_| pick()).collect());
        let entries = model.range(from.clone()..).map(|(key, &value)| (key.clone(), value));
        let mut left: VecDeque<_> = entries.collect();
        let mut range = map.range((Bound::Included(K::lend(from)), Bound::Unbounded));
        for key in some {
            match choices.below(5) {
                0 => {
                    range.skip_to(K::lend(key));
                    left.retain(|(other, _)| other >= key);
                }
                1 => {
                    skip(&mut range, &first_of(key));
                    left.retain(|(other, _)| first_of(other) > first_of(key));
                }
                2 => assert_eq!(range.next_back().transpose().unwrap(), left.pop_back()),
                _ => assert_eq!(range.next().transpose().unwrap(), left.pop_front()),
            }
        }
        assert!(range.map(Result::unwrap).eq(left));
    }
}

#[test]
fn a_range_skips_what_a_model_skips() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool.endura")).unwrap();
    let mut choices = Choices(11);
    let ends = [0, 1, u32::MAX - 1, u32::MAX];
    let mut number = || match choices.below(4) {
        0 => ends[choices.below(4) as usize],
        _ => choices.below(40) as u32,
    };
    let pairs: BTreeSet<_> = (0..600).map(|_| (number(), number())).collect();
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let options = MapOptions::new().kind(kind);
        if let Ok(map) = pool.map_with::<(u32, u32), u64>(&format!("pairs, {kind}"), options) {
            walk(&map, &pairs, |pair| pair.0, |range, &first| range.skip_prefix(first));
        }
    }
    let named: BTreeSet<_> = pairs.iter().map(|&(a, b)| (format!("{a}"), b)).collect();
    let map = pool.map::<(String, u32), u64>("names").unwrap();
    walk(&map, &named, |pair| pair.0.clone(), |range, first| range.skip_prefix(first));
    // What is behind a prefix of 0xFF bytes is nothing.
    let bytes = pairs.iter().map(|(a, b)| [a.to_be_bytes(), b.to_be_bytes()].concat());
    let map = pool.map::<[u8], u64>("bytes").unwrap();
    walk(&map, &bytes.collect(), |key| key[..4].to_vec(), |range, first| range.skip_prefix(first));
}

#[test]
fn threads_that_want_a_value_get_the_same_one() {
    const THREADS: u64 = 4;
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool.endura")).unwrap();
    let numbers = pool.map::<u64, u64>("numbers").unwrap();
    let names = pool.map::<str, str>("names").unwrap();
    let start = Barrier::new(THREADS as usize);
    let found = thread::scope(|scope| {
        let work = |thread: u64| {
            start.wait();
            let own = |key: u64| {
                let number = numbers.get_or_insert_with(key, || thread).unwrap();
                let name =
                    names.get_or_insert_with(&format!("{key}"), || format!("of {thread}")).unwrap();
                (number, name)
            };
            (0..2_000).map(own).collect::<Vec<_>>()
        };
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(found.iter().all(|of_one| *of_one == found[0]));
    for (key, (number, name)) in found[0].iter().enumerate() {
        assert_eq!(numbers.get(key as u64).unwrap(), Some(*number));
        assert_eq!(names.get(&format!("{key}")).unwrap().as_ref(), Some(name));
    }
}
