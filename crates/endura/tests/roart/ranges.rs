//! R15: ranges in both directions, with bounds that are prefixes of keys and of each other.

use std::collections::BTreeMap;
use std::ops::Bound;

use endura::tree::roart::{Full, Techniques, Tiny, WithoutArrays};

use crate::world::{MapOf, World};

fn keys() -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for stem in ["", "a", "ab", "abcdefghijklmnopqrst", "abcdefghijklmnopqrstuv", "\u{1}"] {
        for tail in ["", "\0", "\0\0", "a", "b", "bb", "~~"] {
            keys.push(format!("{stem}{tail}").into_bytes());
        }
    }
    keys.extend([vec![0xFF], vec![0xFF; 2], vec![0xFF, 0], vec![0xFE, 0xFF]]);
    keys.sort();
    keys.dedup();
    keys
}

fn check<T: Techniques>() {
    let keys = keys();
    // Every second one is in the map; the others are bounds only.
    let world = World::<T>::new().with(keys.iter().step_by(2));
    let reference: BTreeMap<_, _> = keys.iter().step_by(2).map(|key| (key.clone(), ())).collect();
    let mut bounds = vec![Bound::Unbounded];
    bounds.extend(
        keys.iter().cloned().flat_map(|k| [Bound::Included(k.clone()), Bound::Excluded(k)]),
    );
    for from in &bounds {
        for to in &bounds {
            let after = |key: &&Vec<u8>| match from {
                Bound::Included(from) => *key >= from,
                Bound::Excluded(from) => *key > from,
                Bound::Unbounded => true,
            };
            let before = |key: &&Vec<u8>| match to {
                Bound::Included(to) => *key <= to,
                Bound::Excluded(to) => *key < to,
                Bound::Unbounded => true,
            };
            let expected: Vec<_> = reference.keys().filter(after).filter(before).cloned().collect();
            let range = || world.map().range((from.clone(), to.clone()));
            let up: Vec<_> = range().map(|entry| entry.unwrap().0).collect();
            assert_eq!(up, expected, "{from:?} {to:?}");
            let mut down: Vec<_> = range().rev().map(|entry| entry.unwrap().0).collect();
            down.reverse();
            assert_eq!(down, expected, "{from:?} {to:?} from the end");
        }
    }
    for prefix in &keys {
        let expected = reference.keys().filter(|key| key.starts_with(prefix)).cloned();
        let found = world.map().prefix(prefix).map(|entry| entry.unwrap().0);
        assert!(found.eq(expected), "{prefix:?}");
    }
}

#[test]
fn r15_all_pairs_of_bounds() {
    check::<Full>();
    check::<Tiny>();
    check::<WithoutArrays>();
}

fn many(map: &MapOf<Full>) {
    for n in 0..2_000_u32 {
        map.insert(n.to_be_bytes(), n.to_le_bytes()).unwrap();
    }
}

/// R15: a range goes on by key, whatever happens to what it returned last.
#[test]
fn r15_a_range_goes_on_after_removes_and_inserts() {
    let world = World::<Full>::new();
    let map = world.map();
    many(map);
    let mut seen = 0;
    for entry in map.iter() {
        let (key, _) = entry.unwrap();
        let n = u32::from_be_bytes(key.clone().try_into().unwrap());
        assert_eq!(n, seen, "even numbers come, odd ones go before they are reached");
        map.remove(&key).unwrap();
        map.remove((n + 1).to_be_bytes()).unwrap();
        map.insert((n / 2).to_be_bytes(), "behind the scan").unwrap();
        seen += 2;
    }
    assert_eq!(seen, 2_000);
    many(map);
    let mut seen = 1_999_u32;
    for entry in map.iter().rev().take(1_000) {
        let (key, value) = entry.unwrap();
        assert_eq!((key, value), (seen.to_be_bytes().to_vec(), seen.to_le_bytes().to_vec()));
        map.update((seen - 1).to_be_bytes(), (seen - 1).to_le_bytes()).unwrap();
        map.remove(seen.to_be_bytes()).unwrap();
        seen -= 1;
    }
    world.verify_tidy();
}

/// Values are those of the moment at which they are returned, also where the key was noted before.
#[test]
fn a_range_returns_present_values() {
    let world = World::<Full>::new();
    many(world.map());
    let mut range = world.map().iter();
    for n in 0..2_000_u32 {
        world.map().update(n.to_be_bytes(), "new").unwrap();
        let (key, value) = range.next().unwrap().unwrap();
        assert_eq!((&key[..], &value[..]), (&n.to_be_bytes()[..], &b"new"[..]));
    }
    assert!(range.next().is_none());
}
