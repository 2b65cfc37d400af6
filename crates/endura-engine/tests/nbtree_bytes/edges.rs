//! Keys and values at the edges of what is allowed, and keys that nothing but their records tells apart.

use endura_engine::Error;
use endura_engine::tree::{ByteIndex, LONGEST_KEY, LONGEST_VALUE, Len};

use crate::byte_world::ByteContents;
use crate::sessions::World;
use crate::world::{Small, Ties, Whole};

/// Enters all keys, finds them and nothing else, before and after a restart, and takes them out in the order given.
fn come_and_go<C: ByteContents>(keys: &[Vec<u8>], absent: &[Vec<u8>], order: &[usize]) {
    let mut sorted = keys.to_vec();
    sorted.sort();
    let mut world = World::<C>::new().with(keys);
    for is_killed in [false, true] {
        assert_eq!(world.keys(), sorted);
        let all: Vec<&Vec<u8>> = keys.iter().chain(absent).collect();
        let found = world.map().get_many(&all).unwrap();
        for (key, found) in all.iter().zip(found) {
            let is_there = sorted.binary_search(key).is_ok();
            assert_eq!(found.as_ref(), is_there.then_some(*key), "{}", key.escape_ascii());
            assert_eq!(world.map().get(key).unwrap(), found);
        }
        assert_eq!(world.map().first().unwrap().map(|entry| entry.0).as_ref(), sorted.first());
        assert_eq!(world.map().last().unwrap().map(|entry| entry.0).as_ref(), sorted.last());
        world = if is_killed { world } else { world.killed() };
    }
    for key in absent {
        assert_eq!(world.map().remove(key).unwrap(), None);
    }
    for (gone, &next) in order.iter().enumerate() {
        assert_eq!(world.map().remove(&keys[next]).unwrap().as_ref(), Some(&keys[next]));
        for &left in order[gone + 1..].iter().take(12) {
            assert!(world.map().contains_key(&keys[left]).unwrap());
        }
    }
    let check = world.verify_owners().0;
    assert_eq!(check.entries, 0);
    assert!(check.nodes < 4, "{check:?}");
}

fn come_and_go_everywhere(keys: &[Vec<u8>], absent: &[Vec<u8>]) {
    let up: Vec<usize> = (0..keys.len()).collect();
    let down: Vec<usize> = up.iter().rev().copied().collect();
    let prime = if keys.len().is_multiple_of(7) { 11 } else { 7 };
    let mixed: Vec<usize> = up.iter().map(|i| i * prime % keys.len()).collect();
    for order in [up, down, mixed] {
        come_and_go::<Ties>(keys, absent, &order);
        come_and_go::<Small>(keys, absent, &order);
        come_and_go::<Whole>(keys, absent, &order);
    }
}

fn bytes<const N: usize>(keys: [&str; N]) -> Vec<Vec<u8>> {
    keys.map(|key| key.as_bytes().to_vec()).into()
}

#[test]
fn keys_that_are_prefixes_of_each_other() {
    let mut keys = bytes([
        "", "\0", "\0\0", "a", "ab", "a\0", "a\0b", "123", "1231", "123000", "123001", "123456",
    ]);
    keys.push(vec![0xFF; 300]);
    keys.push(vec![0xFF; 299]);
    let mut absent = bytes(["\0\0\0", "b", "abc", "1", "12", "12300", "a\0b\0"]);
    absent.push(vec![0xFF; 301]);
    absent.push(vec![0xFF]);
    come_and_go_everywhere(&keys, &absent);
}

#[test]
fn a_key_with_more_and_more_zeros() {
    let keys: Vec<Vec<u8>> =
        (0..150).map(|zeros| [b"x".to_vec(), vec![0; zeros]].concat()).collect();
    come_and_go_everywhere(&keys, &[vec![], vec![0], b"x\x01".to_vec(), vec![b'x'; 2]]);
}

/// Separators need a record beside their blocks, and no prefix in a node tells the keys apart.
#[test]
fn keys_that_differ_only_far_behind() {
    for stem in [30, 45, 64, 70, 200, 60_000] {
        let key = |n: u64| [vec![b'k'; stem], n.to_be_bytes()[5..].to_vec()].concat();
        let keys: Vec<Vec<u8>> = (0..70).map(|n| key(n * 257)).collect();
        let up: Vec<usize> = (0..keys.len()).collect();
        come_and_go::<Ties>(&keys, &[key(1), vec![b'k'; stem], vec![b'k'; stem + 1]], &up);
        come_and_go::<Whole>(&keys, &[key(1), vec![b'k'; stem], vec![b'l']], &up);
    }
}

/// Thousands of keys have the same word in a node without a prefix, and the same bytes behind every prefix of a body.
#[test]
fn thousands_of_keys_with_equal_words() {
    let stem = "https://www.example.org/a/long/path/with/many/parts/before/what/differs/";
    let key = |n: u64| format!("{stem}{:05}", n * 7919 % 100_000).into_bytes();
    let world = World::<Whole>::new().with([b"a".to_vec(), b"z".to_vec()]);
    for n in 0..5_000 {
        assert_eq!(world.map().insert(key(n), key(n)).unwrap(), None);
    }
    assert_eq!(world.map().prefix(stem).count(), 5_000);
    let mut world = world.killed();
    for n in 0..5_000 {
        assert_eq!(world.map().get(key(n)).unwrap(), Some(key(n)));
        assert_eq!(world.map().get([key(n), vec![0]].concat()).unwrap(), None);
    }
    assert_eq!(world.map().index().exact_len().unwrap(), 5_002);
    assert_eq!(world.verify_owners().0.entries, 5_002);
    let middle = format!("{stem}5").into_bytes();
    let above = 1 + (0..5_000).filter(|&n| key(n) >= middle).count();
    assert_eq!(world.map().remove_range(&middle[..]..).unwrap(), above as u64);
    assert_eq!(world.map().len().unwrap(), Len::Exact(5_002 - above as u64));
    world = world.closed();
    assert_eq!(world.map().prefix(stem).count(), 5_001 - above);
    let (mut last, mut popped) = (Vec::new(), 0);
    while let Some((key, _)) = world.map().pop_first().unwrap() {
        assert!(popped == 0 || last < key);
        (last, popped) = (key, popped + 1);
    }
    assert_eq!(popped, 5_002 - above);
    assert_eq!(world.verify_owners().0.entries, 0);
}

#[test]
fn values_and_keys_of_all_lengths() {
    let world = World::<Whole>::of_pages(64);
    let lengths = [0, 1, 7, 8, 9, 63, 64, 100, 4_095, 4_096, 65_536, 1 << 20, (3 << 20) + 1];
    for len in lengths {
        for key in [vec![], vec![b'k'; len % 4_000], vec![b'l'; LONGEST_KEY.min(len)]] {
            let value = vec![len as u8; len];
            world.map().insert(&key, &value).unwrap();
            assert_eq!(world.map().get(&key).unwrap(), Some(value));
        }
    }
    let long = vec![b'x'; LONGEST_KEY + 1];
    assert!(matches!(world.map().insert(&long, "v"), Err(Error::KeyTooLong { .. })));
    assert_eq!(world.map().insert(&long[1..], "v").unwrap(), None);
    assert_eq!(world.map().get(&long).unwrap(), None);
    let failed = world.map().insert_from("k", LONGEST_VALUE + 1, |_| Ok(()));
    assert!(matches!(failed, Err(Error::ValueTooLong { .. })), "{failed:?}");
    world.verify_owners();
}
