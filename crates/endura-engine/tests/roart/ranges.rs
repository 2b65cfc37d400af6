//! R15: ranges in both directions, with bounds that are prefixes of keys and of each other.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::thread;

use endura_engine::tree::roart::{Cursor, Full, Techniques};
use endura_engine::tree::{ByteIndex, Bytes};
use endura_variants::roart::{Tiny, WithoutArrays};

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
            let mut shown = Vec::new();
            let note = |key: Bytes<'_>, _: Bytes<'_>| {
                shown.push(key.to_vec());
                ControlFlow::Continue(())
            };
            world.map().range_with((from.clone(), to.clone()), note).unwrap();
            assert_eq!(shown, expected, "{from:?} {to:?} shown");
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

/// R15: what a scan shows is what was there when it came to it, also of an array whose order it has
/// noted before the visitor changed it.
#[test]
fn r15_a_visitor_may_change_the_map() {
    let world = World::<Full>::new();
    let map = world.map();
    many(map);
    // The second time in the order that the first left.
    for round in 0..2_u32 {
        let mut seen = Vec::new();
        map.range_with::<&[u8]>(.., |key, value| {
            assert_eq!(value.len(), 4);
            let n = u32::from_be_bytes(key.to_vec().try_into().unwrap());
            seen.push(n);
            // The next one goes, and the one after it gets another value.
            if n % 3 == 0 {
                map.remove((n + 1).to_be_bytes()).unwrap();
                map.insert((n + 2).to_be_bytes(), round.to_be_bytes()).unwrap();
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        // Key 2,000 came on the way, ahead of the scan.
        assert!(seen.iter().copied().eq((0..=2_000).filter(|n| n % 3 != 1)), "{seen:?}");
    }
    let mut last = Vec::new();
    map.range_rev_with::<&[u8]>(.., |key, _| {
        last.extend(key.to_vec());
        ControlFlow::Break(())
    })
    .unwrap();
    assert_eq!(last, 2_000_u32.to_be_bytes());
}

/// R15: a scan that has left an order is a reader again: who waits for writers does not wait for what it
/// shows its entries to.
#[test]
fn r15_a_visitor_holds_no_writer_up() {
    let world = World::<Full>::new();
    many(world.map());
    let mut pauses = 0;
    world
        .map()
        .range_with::<&[u8]>(.., |_, _| {
            thread::scope(|scope| {
                scope.spawn(|| drop(world.space().quiesce().unwrap()));
            });
            pauses += 1;
            if pauses < 300 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .unwrap();
    assert_eq!(pauses, 300);
}

/// R15: a bound that moves on past all that an earlier call has noted.
/// From anywhere in what was noted ahead, by any distance: also from and to the end of a leaf array.
#[test]
fn r15_a_bound_may_jump() {
    let world = World::<Full>::new();
    many(world.map());
    let next = |cursor: &mut Cursor, from: u32| {
        let (from, mut seen) = (from.to_be_bytes(), None);
        let note = |key: Bytes<'_>, _: Bytes<'_>| {
            seen = key.to_array().map(u32::from_be_bytes);
            ControlFlow::Break(())
        };
        let keys = (Bound::Included(&from[..]), Bound::Unbounded);
        world.map().index().scan_up(cursor, keys, note).unwrap();
        seen
    };
    for steps in 0..100 {
        for jump in (1..70).chain([200, 1_999 - steps]) {
            let mut cursor = Cursor::default();
            for from in (0..steps).chain([steps + jump, steps + jump + 1]) {
                let expected = (from < 2_000).then_some(from);
                assert_eq!(next(&mut cursor, from), expected, "{steps} steps, {jump} on");
            }
        }
    }
}

/// A key that came behind what a jump passes, in the same array, is found.
#[test]
fn r15_a_bound_may_jump_to_a_key_that_is_new() {
    let world = World::<Full>::new().with(["aa", "ac", "b"]);
    let mut cursor = Cursor::default();
    let mut next = |from: &str| {
        let mut seen = Vec::new();
        let keys = (Bound::Included(from.as_bytes()), Bound::Unbounded);
        let note = |key: Bytes<'_>, _: Bytes<'_>| {
            seen = key.to_vec();
            ControlFlow::Break(())
        };
        world.map().index().scan_up(&mut cursor, keys, note).unwrap();
        String::from_utf8(seen).unwrap()
    };
    assert_eq!(next(""), "aa");
    world.map().insert("ad", "").unwrap();
    assert_eq!(next("ad"), "ad");
    assert_eq!(next("b"), "b");
}

/// A node gives way to its only child, an array, while a walk is inside of it. The array takes a key that
/// is none of the node's: the walk must neither show it in the wrong place, nor leave that order behind.
#[test]
fn r15_an_array_that_moves_up_under_a_walk() {
    let world = World::<Tiny>::new().with(["pax", "pb1", "pb2", "pb3", "pb4"]);
    let map = world.map();
    map.remove("pb4").unwrap();
    let mut shown = Vec::new();
    let note = |key: Bytes<'_>, _: Bytes<'_>| {
        shown.push(key.to_vec());
        if key == b"pax"[..] {
            thread::scope(|scope| {
                scope.spawn(|| {
                    map.remove("pax").unwrap();
                    map.insert("pax", "again").unwrap();
                });
            });
        }
        ControlFlow::Continue(())
    };
    map.range_with::<&[u8]>(.., note).unwrap();
    assert_eq!(shown, ["pax", "pb1", "pb2", "pb3"].map(|key| key.as_bytes().to_vec()));
    let keys = |entries: endura_variants::handles::ByteRange<_>| -> Vec<_> {
        entries.map(|entry| String::from_utf8(entry.unwrap().0).unwrap()).collect()
    };
    assert_eq!(keys(map.iter()), ["pax", "pb1", "pb2", "pb3"]);
    assert_eq!(keys(map.range("pb2"..)), ["pb2", "pb3"]);
    let mut down = keys(map.range(.."paz"));
    down.reverse();
    assert_eq!(down, ["pax"]);
    assert_eq!(map.range(.."paz").next_back().unwrap().unwrap().0, b"pax");
}

/// R15: the keys of one array, which agree in anything from no byte to more than a stack of calls, one
/// for every few bytes, would have room for.
#[test]
fn r15_whatever_the_keys_of_an_array_agree_in() {
    let mut tails = vec![Vec::new()];
    for length in 0..4 {
        let shorter: Vec<Vec<u8>> = tails.iter().filter(|t| t.len() == length).cloned().collect();
        let longer =
            shorter.iter().flat_map(|t| [0, 1, 0xFF].map(|byte| [&t[..], &[byte]].concat()));
        tails.extend(longer);
    }
    for stem in (0..30).chain([40_000]) {
        // Groups that agree in some bytes more.
        let key =
            |(i, tail): (usize, &Vec<u8>)| [&vec![7; stem][..], &vec![9; i % 3 * 8], tail].concat();
        let mut keys: Vec<Vec<u8>> = tails.iter().enumerate().map(key).collect();
        let world = World::<Full>::new().with(keys.iter().rev());
        keys.sort();
        assert_eq!(world.keys(), keys, "{stem} bytes in common");
        assert_eq!(world.keys(), keys, "{stem} bytes in common, as they were left");
        let mut down: Vec<_> = world.map().iter().rev().map(|entry| entry.unwrap().0).collect();
        down.reverse();
        assert_eq!(down, keys);
    }
}
