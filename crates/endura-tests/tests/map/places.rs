//! Keys by the places of their entries in the file.

use std::ops::{Bound, ControlFlow};

use std::collections::BTreeSet;

use endura::{Kind, MapOptions, Pool};

use crate::model::Choices;

const WINDOW: u64 = 256 << 10;

/// Values of all lengths: in chunks, in spans of their own, and in runs of pages.
fn length(choices: &mut Choices) -> usize {
    let is_long = choices.below(20) == 0;
    let bits = choices.below(if is_long { 23 } else { 14 });
    choices.below(1 << bits) as usize
}

#[test]
fn each_key_is_found_where_its_entry_lies() {
    for kind in [Kind::Roart, Kind::FastFair, Kind::NbTree] {
        let folder = tempfile::tempdir().unwrap();
        let pool = Pool::open(folder.path().join("pool")).unwrap();
        let map = pool.map_with::<[u8], [u8]>("map", MapOptions::new().kind(kind)).unwrap();
        // The keys of another map are not those of this one.
        let other = pool.map::<[u8], [u8]>("other").unwrap();
        let (mut choices, mut keys) = (Choices(3), BTreeSet::new());
        for number in 0..3_000_u32 {
            let key = format!("key {}", choices.below(1_000)).into_bytes();
            match choices.below(4) {
                0 => {
                    map.remove(&key).unwrap();
                    keys.remove(&key);
                }
                1 => _ = other.put(&key, &number.to_le_bytes()).unwrap(),
                _ => {
                    map.put(&key, &vec![7; length(&mut choices)]).unwrap();
                    keys.insert(key);
                }
            }
        }
        let end = pool.stats().unwrap().file_bytes;
        let all = map.keys_in(0..end).unwrap();
        assert_eq!(all.len(), keys.len(), "a key is shown once");
        assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), keys);
        let windows = (0..end.div_ceil(WINDOW)).map(|n| n * WINDOW..(n + 1) * WINDOW);
        let mut of_windows: BTreeSet<Vec<u8>> = BTreeSet::new();
        for window in windows {
            of_windows.extend(map.keys_in(window).unwrap());
        }
        // One in the middle of a run of pages is not found there, but where the run begins.
        assert_eq!(of_windows, keys);
        assert_eq!(map.keys_in(end..u64::MAX / 2).unwrap(), [b""; 0]);
        pool.verify().unwrap();
    }
}

/// Bytes of values that look like headers of the pool and like records of the map lead nowhere.
#[test]
fn values_that_look_like_a_pool_are_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let pool = Pool::open(&path).unwrap();
    let map = pool.map::<[u8], [u8]>("map").unwrap();
    (0..8_000_u32).for_each(|n| _ = map.put(&n.to_le_bytes(), &[9; 700]).unwrap());
    pool.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let pool = Pool::open(&path).unwrap();
    let map = pool.map::<[u8], [u8]>("map").unwrap();
    // A run of pages begins a line into its first page. So that each page of the value begins with that of a pool, it
    // lacks a line.
    map.put(b"image", &bytes[64 + 16 + 5..]).unwrap();
    map.put(b"shifted", &bytes).unwrap();
    for round in 0..2 {
        let keys = map.keys_in(0..pool.stats().unwrap().file_bytes).unwrap();
        let found: BTreeSet<_> = keys.iter().collect();
        assert_eq!((keys.len(), found.len()), (8_002 - 1_000 * round, 8_002 - 1_000 * round));
        (0..1_000_u32).for_each(|n| _ = map.remove(&n.to_le_bytes()).unwrap());
    }
    pool.verify().unwrap();
}

/// Numbers are in nodes, and are not found.
#[test]
fn numbers_have_no_places() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool")).unwrap();
    let numbers = pool.map::<u64, u64>("numbers").unwrap();
    let texts = pool.map::<u64, str>("texts").unwrap();
    numbers.put(1, 2).unwrap();
    texts.put(1, "two").unwrap();
    assert_eq!(numbers.keys_in(0..1 << 30).unwrap(), [0; 0]);
    assert_eq!(texts.keys_in(0..1 << 30).unwrap(), [0; 0]);
}

/// A walk over places beside threads that write and remove: what stays is found, and nothing that was never there.
#[test]
fn places_are_read_beside_writers() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool")).unwrap();
    let map = pool.map::<[u8], [u8]>("map").unwrap();
    (0..200_u32).for_each(|n| _ = map.put(&n.to_le_bytes(), &[9; 3_000]).unwrap());
    std::thread::scope(|scope| {
        for thread in 0..2_u32 {
            let map = &map;
            scope.spawn(move || {
                let mut choices = Choices(u64::from(thread) + 1);
                for _ in 0..20_000 {
                    let key = (1_000 + choices.below(300) as u32).to_le_bytes();
                    if choices.below(3) == 0 {
                        map.remove(&key).unwrap();
                    } else {
                        let length = 1 << choices.below(16);
                        map.put(&key, &vec![7; length]).unwrap();
                    }
                }
            });
        }
        for _ in 0..20 {
            let keys = map.keys_in(0..pool.stats().unwrap().file_bytes).unwrap();
            let number = |key: &Vec<u8>| u32::from_le_bytes(key[..].try_into().unwrap());
            let (stay, others): (Vec<_>, Vec<_>) = keys.iter().map(number).partition(|&n| n < 200);
            assert_eq!(stay.len(), 200);
            assert!(others.iter().all(|n| (1_000..1_300).contains(n)));
        }
    });
    pool.verify().unwrap();
}

/// The closure may change the map, because no pin is held while it runs: it removes what it is shown.
#[test]
fn a_closure_may_change_the_map_whose_heads_it_sees() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool")).unwrap();
    let map = pool.map::<str, [u8]>("map").unwrap();
    (0..1_000).for_each(|n| _ = map.put(&format!("{n:04}"), &[7; 500]).unwrap());
    let mut seen = 0;
    let look = |key: &str, head: &[u8], length: usize| {
        assert_eq!((key, head, length), (&*format!("{seen:04}"), &[7; 3][..], 500));
        map.remove(key).unwrap();
        seen += 1;
        if seen < 900 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    map.heads(Bound::Unbounded, 3, look).unwrap();
    assert_eq!((seen, map.len().unwrap()), (900, 100));
    pool.verify().unwrap();
}
