//! Keys and values at the ends of their ranges, one thread, by name.
//!
//! The published tree marks a dead slot by two equal neighbouring *values* and the end of a node
//! by value 0: `insert(1, 7); insert(2, 7); get(2)` finds nothing, value 0 ends the node. It does
//! not look whether a key is there before it inserts it, and two of its comparisons disagree about
//! the split key itself.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

use crate::support::ops::{EDGES, scatter};
use crate::support::world::{Shape, World, collect};

/// Orders in which `0..n` can be visited that lead through different merges.
pub(crate) fn orders(n: u64) -> [(&'static str, Vec<u64>); 5] {
    let up: Vec<u64> = (0..n).collect();
    let mut random = up.clone();
    random.sort_unstable_by_key(|&i| scatter(i));
    let every_second = (0..n).step_by(2).chain((1..n).step_by(2)).collect();
    let outside_in = (0..n).map(|i| if i % 2 == 0 { i / 2 } else { n - 1 - i / 2 }).collect();
    let down = up.iter().rev().copied().collect();
    [
        ("ascending", up),
        ("descending", down),
        ("random", random),
        ("every second", every_second),
        ("outside in", outside_in),
    ]
}

/// F0. A tree that merged everything away must still hold the smallest and the largest key.
pub(crate) fn drained_then_used<S: Shape>() {
    for (order, numbers) in orders(300) {
        let world = World::<S>::with((0..300).map(|n| (n << 55, n)));
        for n in numbers {
            assert_eq!(world.map().remove(n << 55).unwrap(), Some(n), "{order}");
        }
        assert!(world.map().is_empty().unwrap(), "{order}");
        for key in [u64::MAX, 0] {
            assert_eq!(world.map().insert(key, key).unwrap(), None, "{order}");
            assert_eq!(world.map().get(key).unwrap(), Some(key), "{order}");
            assert_eq!(world.keys(), [key], "{order}");
            assert_eq!(world.map().remove(key).unwrap(), Some(key), "{order}");
            assert_eq!(world.map().get(key).unwrap(), None, "{order}");
        }
        assert_eq!(world.verify().entries, 0, "{order}");
    }
}

/// All orders of the numbers 0..n.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let insert = |shorter: Vec<usize>| {
        (0..n).map(move |at| {
            let mut longer = shorter.clone();
            longer.insert(at, n - 1);
            longer
        })
    };
    permutations(n - 1).into_iter().flat_map(insert).collect()
}

/// F1. No key and no value means anything to the tree.
pub(crate) fn every_key_takes_every_value<S: Shape>() {
    const KEYS: [u64; 6] = [0, 1, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX];
    type Values = fn(u64) -> u64;
    let values: [Values; 5] =
        [|_| 0, |_| u64::MAX, |_| 42, |key| key, |key| (2 << 20) + 64 * (key % 64)];
    let world = World::<S>::new();
    let map = world.map();
    let orders = permutations(KEYS.len());
    assert_eq!(orders.len(), 720);
    for (i, order) in orders.iter().enumerate() {
        let value = values[i % values.len()];
        for &k in order {
            assert_eq!(map.insert(KEYS[k], value(KEYS[k])).unwrap(), None);
        }
        let expected: Vec<_> = KEYS.iter().map(|&key| (key, value(key))).collect();
        assert_eq!(world.entries(), expected);
        let backwards: Vec<_> = map.range(..).rev().map(Result::unwrap).collect();
        assert!(backwards.iter().rev().eq(&expected));
        for &k in &orders[scatter(i as u64) as usize % orders.len()] {
            assert_eq!(map.get(KEYS[k]).unwrap(), Some(value(KEYS[k])));
            assert_eq!(map.remove(KEYS[k]).unwrap(), Some(value(KEYS[k])));
            assert_eq!(map.get(KEYS[k]).unwrap(), None);
        }
        assert!(map.is_empty().unwrap());
    }
    assert_eq!(world.verify().entries, 0);
}

/// F4. In the published tree an upsert of exactly the split key goes left and a lookup of it goes
/// right: the update is lost.
pub(crate) fn overfull<S: Shape>() {
    let full: Vec<u64> = (1..=S::CAPACITY as u64).map(|n| 100 * n).collect();
    let below_all_to_above_all = (50..=100 * (full.len() as u64 + 1)).step_by(50);
    for key in below_all_to_above_all {
        let world = World::<S>::with(full.iter().map(|&key| (key, 1)));
        let map = world.map();
        let old = map.insert(key, 2).unwrap();
        assert_eq!(old, full.contains(&key).then_some(1), "insert({key}) into {full:?}");
        let mut expected: BTreeMap<u64, u64> = full.iter().map(|&key| (key, 1)).collect();
        expected.insert(key, 2);
        assert!(world.entries().into_iter().eq(expected.clone()));
        for (&key, &value) in &expected {
            assert_eq!(map.get(key).unwrap(), Some(value));
            assert_eq!(map.insert(key, 3).unwrap(), Some(value));
            assert_eq!(map.get(key).unwrap(), Some(3));
            assert_eq!(map.remove(key).unwrap(), Some(3));
            assert_eq!(map.get(key).unwrap(), None);
        }
        assert!(map.is_empty().unwrap());
        assert_eq!(world.verify().entries, 0);
    }
}

/// F5. The published insert does not look whether the key is there: a second insert adds a second
/// entry, and one remove later the first comes back.
pub(crate) fn inserted_twice_removed_once<S: Shape>() {
    let world = World::<S>::new();
    let map = world.map();
    for key in EDGES {
        assert_eq!(map.insert(key, 1).unwrap(), None);
        assert_eq!(map.insert(key, 2).unwrap(), Some(1));
        assert!(!map.insert_new(key, 3).unwrap());
        assert_eq!(map.remove(key).unwrap(), Some(2));
        assert_eq!(map.get(key).unwrap(), None);
        assert_eq!(map.remove(key).unwrap(), None);
        assert_eq!(map.update(key, 4).unwrap(), None);
        assert!(!map.contains_key(key).unwrap());
    }
    assert_eq!(world.verify().entries, 0);
}

/// F5. Every combination of what is there, what is expected and what is wanted.
pub(crate) fn exchanged_in_every_state<S: Shape>() {
    let world = World::<S>::new();
    let map = world.map();
    let states = [None, Some(0), Some(1), Some(u64::MAX)];
    for key in EDGES {
        for (before, expected, new) in
            states.iter().flat_map(|&b| states.iter().flat_map(move |&e| states.map(|n| (b, e, n))))
        {
            map.fetch_update(key, |_| before).unwrap();
            let answer = map.compare_exchange(key, expected, new).unwrap();
            assert_eq!(answer, if before == expected { Ok(()) } else { Err(before) });
            let after = if before == expected { new } else { before };
            assert_eq!(map.get(key).unwrap(), after);
        }
        map.remove(key).unwrap();
    }
}

/// F18. Ranges that hold nothing, one key, or the last key there is.
pub(crate) fn degenerate_ranges<S: Shape>() {
    let world = World::<S>::with(EDGES.map(|key| (key, key)));
    let map = world.map();
    let mut sorted = EDGES;
    sorted.sort_unstable();
    for low in EDGES {
        assert_eq!(collect(map, low..low), []);
        assert_eq!(collect(map, low..=low), [(low, low)]);
        assert_eq!(collect(map, (Excluded(low), Included(low))), []);
        assert_eq!(collect(map, (Excluded(low), Excluded(low))), []);
        for high in EDGES {
            let both = |inside: fn(u64, u64, u64) -> bool| {
                let keys = sorted.iter().filter(|&&key| inside(low, key, high));
                keys.map(|&key| (key, key)).collect::<Vec<_>>()
            };
            assert_eq!(collect(map, low..high), both(|l, k, h| l <= k && k < h));
            assert_eq!(collect(map, low..=high), both(|l, k, h| l <= k && k <= h));
            let open = (Excluded(low), Excluded(high));
            assert_eq!(collect(map, open), both(|l, k, h| l < k && k < h));
        }
        assert!(collect(map, low..).iter().all(|&(key, _)| key >= low));
        assert!(collect(map, ..low).iter().all(|&(key, _)| key < low));
    }
    assert_eq!(collect(map, (Excluded(u64::MAX), Unbounded)), []);
    assert_eq!(collect(map, ..0), []);
    assert_eq!(map.range(..).take(0).count(), 0);
    assert_eq!(map.range(..=u64::MAX).next_back().unwrap().unwrap(), (u64::MAX, u64::MAX));
    assert_eq!(collect(World::<S>::new().map(), ..), []);
}

/// F16. A split leaves copies of the moved keys behind the end of the left node. A merge that
/// raises its fence over them again must not bring back what was removed meanwhile.
pub(crate) fn removed_between_split_and_merge<S: Shape>() {
    let n = S::CAPACITY as u64 + 1;
    for survivors in 1..=n {
        let world = World::<S>::with((0..n).map(|key| (key, key)));
        // From the right: first what moved to the new node, whose copies are still behind the
        // left one's end, then the left node down to where they merge.
        for key in (survivors..n).rev() {
            assert_eq!(world.map().remove(key).unwrap(), Some(key));
            assert!(world.keys().into_iter().eq(0..key));
        }
        for key in n..2 * n {
            assert_eq!(world.map().get(key).unwrap(), None);
        }
        world.verify();
    }
}
