//! Growth and shrinkage of nodes and arrays, and what they cost in space.

use endura_engine::tree::roart::{Full, Techniques};
use endura_variants::random::splitmix;
use endura_variants::roart::Tiny;

use crate::world::World;

fn key(byte: u8) -> [u8; 2] {
    [b'n', byte]
}

/// R11: through every size of node and back, with scans on the way.
#[test]
fn r11_nodes_grow_and_shrink_through_all_sizes() {
    let world = World::<Tiny>::new();
    let mut expected = Vec::new();
    for byte in 0..=255 {
        world.map().insert(key(byte), [byte]).unwrap();
        expected.push(key(byte).to_vec());
        if [3, 4, 5, 15, 16, 17, 47, 48, 49, 255].contains(&byte) {
            assert_eq!(world.keys(), expected);
            assert_eq!(world.verify_tidy().nodes, if byte == 3 { 1 } else { 2 });
        }
    }
    let full = world.space().stats();
    for byte in (0..=255).rev() {
        assert_eq!(world.map().remove(key(byte)).unwrap(), Some(vec![byte]));
        expected.pop();
        if [100, 38, 37, 36, 13, 12, 4, 3, 2, 1, 0].contains(&byte) {
            assert_eq!(world.keys(), expected);
            world.verify_tidy();
        }
    }
    let empty = world.space().stats();
    assert!(empty.bytes_in_use - empty.free_chunk_bytes < full.bytes_in_use);
    assert_eq!(world.verify_tidy().nodes, 1);
}

/// R11: a key that comes and goes at a boundary takes its record and nothing else.
#[test]
fn r11_boundaries_do_not_reallocate_each_time() {
    fn at_boundary<T: Techniques>(size: usize, key: impl Fn(usize) -> Vec<u8>) {
        let world = World::<T>::new().with((0..size).map(&key));
        world.map().insert(key(size), "").unwrap();
        let before = world.stage().granted();
        for _ in 0..50 {
            assert!(world.map().remove(key(size)).unwrap().is_some());
            assert!(world.map().insert(key(size), "").unwrap().is_none());
        }
        assert_eq!(world.stage().granted() - before, 50, "at {size}");
        world.verify_tidy();
    }
    for size in [4, 5, 16, 17, 48, 49, 200] {
        at_boundary::<Tiny>(size, |n| key(n as u8).to_vec());
    }
    for size in [1, 2, 4, 5, 8, 9, 16, 24, 40, 64, 96, 127, 128, 129] {
        at_boundary::<Full>(size, |n| format!("shared{n:04}").into_bytes());
    }
}

/// R12: the original leaks a record with every update.
#[test]
fn r12_a_million_updates_take_no_space() {
    let world = World::<Full>::of_pages(4).with(["key"]);
    for n in 0..1_000_000_u64 {
        assert!(world.map().update("key", n.to_le_bytes()).unwrap().is_some());
    }
    assert_eq!(world.map().get("key").unwrap().unwrap(), 999_999_u64.to_le_bytes());
    assert!(world.space().stats().length <= 1 << 20, "{:?}", world.space().stats());
    world.verify_tidy();
}

/// R12: what is emptied is unlinked, up to the root, and its space is used again.
#[test]
fn r12_an_emptied_tree_is_its_root() {
    let world = World::<Full>::of_pages(12);
    for round in 0..6_u64 {
        let keys = |n: u64| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ round).to_be_bytes();
        for n in 0..20_000 {
            world.map().insert(keys(n), n.to_le_bytes()).unwrap();
        }
        assert_eq!(world.verify_tidy().entries, 20_000);
        match round % 3 {
            0 => (0..20_000).for_each(|n| assert!(world.map().remove(keys(n)).unwrap().is_some())),
            1 => while world.map().pop_first().unwrap().is_some() {},
            _ => while world.map().pop_last().unwrap().is_some() {},
        }
        let check = world.verify_tidy();
        assert_eq!((check.entries, check.nodes, check.arrays), (0, 1, 0));
    }
    assert!(world.space().stats().length <= 8 << 20, "{:?}", world.space().stats());
}

/// R13: a key that ends at a node with any number of children, in all orders.
#[test]
fn r13_a_key_that_ends_at_a_node() {
    for children in [1, 2, 3, 5, 17, 49, 256_usize] {
        for eok_at in [0, 1, children / 2, children - 1, children] {
            for goes_first in [true, false] {
                let mut keys: Vec<Vec<u8>> =
                    (0..children).map(|n| vec![b'e', n as u8, 1]).collect();
                keys.insert(eok_at, b"e".to_vec());
                let world = World::<Tiny>::new().with(&keys);
                world.verify_tidy();
                if !goes_first {
                    keys.rotate_left(eok_at + 1);
                }
                for key in &keys {
                    assert!(world.map().remove(key).unwrap().is_some());
                }
                assert_eq!(world.verify_tidy().nodes, 1);
            }
        }
    }
}

/// Bytes for each of so many entries: of the nodes, arrays and records, and of the pages that hold them.
fn bytes_for_each(entries: u64, entry: impl Fn(u64) -> (Vec<u8>, Vec<u8>)) -> [f64; 2] {
    let world = World::<Full>::of_pages(entries / 8_000 + 40);
    for n in 0..entries {
        let (key, value) = entry(n);
        assert!(world.map().insert_new(key, value).unwrap());
    }
    let before = world.space().stats();
    while world.space().stats().limbo_bytes > 0 {
        world.space().relieve().unwrap();
    }
    let stats = world.space().stats();
    // Without what describes the pool.
    let in_use = stats.bytes_in_use - stats.free_chunk_bytes - 12 * 4096;
    // As the load left them, before anything was given back for the sake of this count.
    [in_use, before.bytes_in_use].map(|bytes| bytes as f64 / entries as f64)
}

/// Eight bytes that look random.
fn scattered(n: u64) -> [u8; 8] {
    splitmix(n).to_be_bytes()
}

fn small(n: u64) -> (Vec<u8>, Vec<u8>) {
    (scattered(n).to_vec(), n.to_le_bytes().to_vec())
}

/// 24 bytes with 100.
fn common(n: u64) -> (Vec<u8>, Vec<u8>) {
    ([scattered(n), scattered(!n), scattered(n ^ 99)].concat(), vec![n as u8; 100])
}

#[test]
fn small_entries_take_at_most_70_bytes() {
    let [each, _] = bytes_for_each(300_000, small);
    assert!(each <= 70.0, "{each} bytes");
}

/// As many in an array as there are of two millions. (With 120,000, of which two share one of four, it is 178.)
#[test]
fn entries_of_124_bytes_take_at_most_175() {
    let [each, _] = bytes_for_each(9_000, common);
    assert!(each <= 175.0, "{each} bytes");
}

#[test]
#[ignore = "millions: cargo test --release -p endura-engine --test roart -- --ignored --nocapture millions"]
fn millions_of_entries_take_what_they_should() {
    for (entries, most, name, entry) in [
        (1_000_000, 70.0, "8 + 8", small as fn(u64) -> (Vec<u8>, Vec<u8>)),
        (10_000_000, 70.0, "8 + 8", small),
        (2_000_000, 175.0, "24 + 100", common),
    ] {
        let [each, pages] = bytes_for_each(entries, entry);
        println!("{entries} entries of {name} bytes: {each:.1} bytes each, {pages:.1} of pages");
        assert!(pages <= most, "{pages} bytes of pages");
    }
}
