//! Nodes whose words no session leaves: every operation answers or fails, and ends.

use std::fs;
use std::path::{Path, PathBuf};

use endura::{Map, MapOptions, Pool};
use endura_engine::{Kind, Result};

use crate::patience::ends;

/// The upper half of the fifth word of every node.
const MAGIC: u64 = 0xFA57_FA1B;
/// Byte offsets in a node: of the upper fence, the sibling, what it is, the lengths of its texts, and its slots.
const HIGH: usize = 16;
const SIB: usize = 24;
const META: usize = 32;
const LENGTHS: usize = 64;
const SLOTS: usize = 128;
const REPLACED: u64 = 3 << 48;

/// The bytes of a pool.
#[derive(Clone)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn get(&self, at: usize) -> u64 {
        u64::from_le_bytes(*self.0[at..].first_chunk().unwrap())
    }

    fn put(&mut self, at: usize, word: u64) {
        self.0[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }

    /// The nodes of a level.
    fn nodes(&self, level: u64) -> Vec<usize> {
        let is_node = |at: &usize| {
            let meta = self.get(at + META);
            meta >> 32 == MAGIC && meta & 0xFF == level
        };
        (0..self.0.len() - SLOTS).step_by(64).filter(is_node).collect()
    }

    /// How many slots of a node are used.
    fn used(&self, node: usize) -> usize {
        let is_used = |slot: &usize| {
            let at = slot_at(node, *slot);
            self.get(at) < self.get(node + HIGH) && self.get(at + 8) != 0
        };
        (0..56).take_while(is_used).count()
    }

    /// Exchanges the words, or the references, of two slots.
    fn swap(&mut self, node: usize, (a, b): (usize, usize), offset: usize) {
        let [a, b] = [a, b].map(|slot| slot_at(node, slot) + offset);
        let (first, second) = (self.get(a), self.get(b));
        self.put(a, second);
        self.put(b, first);
    }
}

fn slot_at(node: usize, slot: usize) -> usize {
    node + SLOTS + 16 * slot
}

type Damage = fn(&mut Bytes, node: usize, other: usize);

/// What is done to a node; `other` is another one of its level.
const DAMAGES: [(&str, Damage); 13] = [
    ("followed by another", |pool, node, other| pool.put(node + SIB, other as u64)),
    ("followed by itself", |pool, node, _| pool.put(node + SIB, node as u64)),
    ("replaced by itself", |pool, node, _| pool.put(node + SIB, node as u64 | REPLACED)),
    ("replaced by another", |pool, node, other| pool.put(node + SIB, other as u64 | REPLACED)),
    ("with the header of another", |pool, node, other| {
        let header = pool.0[other..other + SLOTS].to_vec();
        pool.0[node..node + SLOTS].copy_from_slice(&header);
    }),
    ("without a word below its fence", |pool, node, _| pool.put(node + HIGH, 0)),
    ("whose fence is in its middle", |pool, node, _| {
        let middle = pool.get(slot_at(node, pool.used(node) / 2));
        pool.put(node + HIGH, middle);
    }),
    ("with an empty slot in front", |pool, node, _| pool.put(slot_at(node, 0) + 8, 0)),
    ("with a dead slot in front", |pool, node, _| pool.put(slot_at(node, 0), u64::MAX)),
    ("in reverse", |pool, node, _| {
        let used = pool.used(node);
        (0..used / 2).for_each(|slot| pool.swap(node, (slot, used - 1 - slot), 0));
    }),
    ("with references in reverse", |pool, node, _| {
        let used = pool.used(node);
        (0..used / 2).for_each(|slot| pool.swap(node, (slot, used - 1 - slot), 8));
    }),
    ("with one word in all slots", |pool, node, _| {
        let word = pool.get(slot_at(node, pool.used(node) / 2));
        (0..pool.used(node)).for_each(|slot| pool.put(slot_at(node, slot), word));
    }),
    ("with texts of another length", |pool, node, _| {
        let lengths = pool.get(node + LENGTHS);
        pool.put(node + LENGTHS, lengths + 3);
    }),
];

fn key(n: usize) -> String {
    match n % 3 {
        0 => format!("a/prefix/in/common/{n:05}"),
        1 => format!("b{n:05}"),
        _ => format!("c{}{n:05}", "c".repeat(70)),
    }
}

fn open(path: &Path) -> Result<(Pool, Map<str, str>)> {
    let pool = Pool::options().max_size(64 << 20).open(path)?;
    let map = pool.map_with("map", MapOptions::new().kind(Kind::FastFair))?;
    Ok((pool, map))
}

const KEYS: usize = 900;

fn sound(folder: &Path) -> Bytes {
    let path = folder.join("sound");
    let (pool, map) = open(&path).unwrap();
    (0..KEYS).for_each(|n| assert!(map.put(&key(n), &key(n)).unwrap()));
    (0..KEYS).step_by(4).for_each(|n| assert!(map.delete(&key(n)).unwrap()));
    pool.close().unwrap();
    Bytes(fs::read(&path).unwrap())
}

/// Every operation, each of which may fail. No answer belongs to another key.
fn operate(path: &Path, writes_first: bool) -> Result<()> {
    let (pool, map) = open(path)?;
    let read = || {
        for n in 0..KEYS {
            let value = map.get(&key(n)).ok().flatten();
            assert!(value.is_none_or(|value| value == key(n)));
        }
        let limit = 2 * KEYS;
        assert!(map.iter().take(limit).count() < limit);
        assert!(map.iter().rev().take(limit).count() < limit);
        let mut shown = 0;
        let _ = map.iter().visit(|_, _| shown += 1);
        let _ = map.iter().visit_rev(|_, _| shown += 1);
        assert!(shown < 2 * limit);
        let _ = (map.first_key_value(), map.last_key_value(), map.len());
    };
    let write = || {
        for n in 0..KEYS {
            let _ = map.put(&format!("{}+", key(n)), "new");
        }
        for n in (0..KEYS).filter(|n| n % 7 != 0) {
            let _ = (map.delete(&key(n)), map.delete(&format!("{}+", key(n))));
        }
        (0..9).for_each(|_| drop((map.pop_first(), map.pop_last())));
    };
    if writes_first {
        write();
    }
    read();
    let _ = (pool.recover_leaks(), pool.verify());
    write();
    let _ = (pool.verify(), pool.drop_map("map"));
    pool.close().map(drop)
}

/// Operates on pools with each of the damages, in some nodes of a level.
fn every_damage(level: u64) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let sound = sound(folder.path());
    let nodes = sound.nodes(level);
    assert!(!nodes.is_empty());
    for (name, change) in DAMAGES {
        for (i, &node) in nodes.iter().enumerate().step_by(nodes.len().div_ceil(4)) {
            let mut damaged = sound.clone();
            change(&mut damaged, node, nodes[(i + nodes.len() / 2) % nodes.len()]);
            for writes_first in [false, true] {
                let path: PathBuf = folder.path().join(format!("{name} {i} {writes_first}"));
                fs::write(&path, &damaged.0).unwrap();
                ends(name, move || drop(operate(&path, writes_first)));
            }
        }
    }
}

#[test]
fn damaged_leaves() {
    every_damage(0);
}

#[test]
fn damaged_inner_nodes() {
    every_damage(1);
}

/// What lies behind a slot that is damaged is not taken for what an interrupted remove has left.
#[test]
fn nothing_is_dropped_behind_a_damaged_slot() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let (sound, path) = (sound(folder.path()), folder.path().join("damaged"));
    let present = || (0..KEYS).filter(|n| n % 4 != 0);
    let mut refused = 0;
    for leaf in sound.nodes(0).into_iter().filter(|&leaf| sound.used(leaf) > 8) {
        let (mut damaged, slot) = (sound.clone(), slot_at(leaf, 2));
        damaged.put(slot, u64::MAX);
        fs::write(&path, &damaged.0).unwrap();
        let (pool, map) = open(&path).unwrap();
        let is_refused = present().any(|n| map.put(&key(n), &key(n)).is_err());
        drop((pool, map));
        // Some nodes belong to nothing any more.
        if is_refused {
            refused += 1;
            let mut mended = Bytes(fs::read(&path).unwrap());
            mended.put(slot, sound.get(slot));
            fs::write(&path, &mended.0).unwrap();
            let (pool, map) = open(&path).unwrap();
            present().for_each(|n| assert_eq!(map.get(&key(n)).unwrap(), Some(key(n))));
            pool.verify().unwrap();
        }
    }
    assert!(refused > 8, "{refused}");
}
