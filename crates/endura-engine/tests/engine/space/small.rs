//! Small pools: how much of a disk they take, and what a full one holds.
//!
//! `cargo test --release -p endura-engine --test engine small -- --nocapture` prints the figures of the guide.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use endura::{Checkpoints, Map, Pool};
use endura_engine::{Error, Kind};

use crate::support::words::Random;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A length between `from` and `to` whose logarithm is evenly distributed.
fn length(random: &mut Random, from: f64, to: f64) -> usize {
    let part = random.below(1 << 30) as f64 / f64::from(1 << 30);
    (from * (to / from).powf(part)) as usize
}

/// The bytes that the file has on its file system, which are no less than its length.
fn on_disk(path: &Path) -> u64 {
    let facts = std::fs::metadata(path).unwrap();
    assert!(facts.blocks() * 512 >= facts.len(), "a hole");
    facts.len()
}

#[test]
fn a_pool_with_one_entry_is_small() {
    let make = |kinds: &[Kind]| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        let pool = Pool::open(&path).unwrap();
        for &kind in kinds {
            match kind {
                Kind::Roart => {
                    let map = pool.map::<str, str>("strings").unwrap();
                    map.insert("hello", "world").unwrap();
                }
                kind => {
                    let options = endura::MapOptions::new().kind(kind);
                    let map = pool.map_with::<u64, u64>(kind.name(), options).unwrap();
                    map.insert(1, 10).unwrap();
                }
            }
        }
        pool.close().unwrap();
        on_disk(&path)
    };
    for (kinds, most) in [
        (&[][..], 64),
        (&[Kind::FastFair], 128),
        (&[Kind::NbTree], 128),
        (&[Kind::Roart], 128),
        (&[Kind::FastFair, Kind::NbTree, Kind::Roart], 192),
    ] {
        let bytes = make(kinds);
        println!("one entry in each of {kinds:?}: {} KiB", bytes / KIB);
        // The mark of the close lies behind that.
        assert!(bytes <= most * KIB + 44, "{kinds:?}: {bytes}");
    }
}

/// Entries whose values have all lengths, loaded and then updated ten times over.
fn mix(entries: u64, from: f64, to: f64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let pool = Pool::open(&path).unwrap();
    let map: Map<u64, [u8]> = pool.map("mix").unwrap();
    let mut random = Random(88_172_645_463_325_252);
    let mut lengths: Vec<u64> = vec![0; entries as usize];
    let put = |random: &mut Random, key: u64, lengths: &mut Vec<u64>| {
        let length = length(random, from, to);
        lengths[key as usize] = length as u64;
        map.insert(key, &vec![7; length]).unwrap();
    };
    (0..entries).for_each(|key| put(&mut random, key, &mut lengths));
    let payload = |lengths: &[u64]| lengths.iter().sum::<u64>() + 8 * entries;
    let (fresh, file) = (payload(&lengths), pool.stats().unwrap().file_bytes);
    println!("{entries} of {from} to {to}: {file} for {fresh}, {:.2}", file as f64 / fresh as f64);
    assert!(file <= fresh * 3 / 2 + MIB, "fresh: {file} bytes for {fresh}");
    for _ in 0..10 * entries {
        let key = random.below(entries);
        put(&mut random, key, &mut lengths);
    }
    let (left, file) = (payload(&lengths), pool.stats().unwrap().file_bytes);
    println!(
        "    after ten rounds of updates: {file} for {left}, {:.2}",
        file as f64 / left as f64
    );
    assert!(file <= 2 * left, "after ten rounds: {file} bytes for {left}");
    (0..entries).for_each(|key| _ = map.remove(key).unwrap());
    drop(map);
    pool.close().unwrap();
    let rest = on_disk(&path);
    println!("    all removed, closed: {rest}");
    assert!(rest <= 512 * KIB, "{rest}");
}

#[test]
fn values_of_all_lengths_take_little_more_than_their_bytes() {
    mix(3_000, 8.0, 20_000.0);
    mix(60_000, 8.0, 4_000.0);
}

/// Strings until the pool is full, and again after the first half was removed.
fn fill(mebibytes: u64, least: u64) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().join("pool");
    let pool = Pool::options().max_size(mebibytes * MIB).create_new(&path).unwrap();
    let map: Map<str, [u8]> = pool.map("strings").unwrap();
    let mut random = Random(88_172_645_463_325_252);
    let mut load = |name: &str| {
        for n in 0.. {
            let value = vec![1; length(&mut random, 8.0, 4_000.0)];
            match map.insert(&format!("{name}{n:08}"), &value) {
                Ok(_) => {}
                Err(Error::Full { .. }) => return n,
                Err(error) => panic!("{error}"),
            }
        }
        unreachable!("a pool is full at some time")
    };
    let entries = load("key");
    assert!(entries >= least, "{entries} entries in {mebibytes} MiB");
    let half: u64 = entries / 2;
    (0..half).for_each(|n| assert!(map.remove(&format!("key{n:08}")).unwrap().is_some()));
    let again: u64 = load("new");
    println!("{mebibytes} MiB: {entries} entries, and {again} again for {half}");
    assert!(again * 100 >= half * 95, "{again} of {half} again");
    assert_eq!(pool.verify().unwrap().shares.leaked, 0);
}

#[test]
fn a_full_pool_holds_what_it_should_and_is_filled_again() {
    fill(12, 14_000);
    fill(24, 29_000);
    fill(48, 60_000);
}

/// The error of a full pool says how long a value may be that still fits.
#[test]
fn a_full_pool_says_what_would_fit() {
    for length in [300_000, 3 << 20] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        let pool = Pool::options().max_size(13 * MIB).create_new(&path).unwrap();
        let map: Map<u64, [u8]> = pool.map("values").unwrap();
        let full = |length: usize| match map.insert(u64::MAX, &vec![1; length]) {
            Err(Error::Full { free, .. }) => Some(free),
            done => done.map(|_| None).unwrap(),
        };
        for n in 0.. {
            match map.insert(n, &vec![1; length]) {
                Ok(_) => {}
                Err(Error::Full { .. }) => break,
                Err(error) => panic!("{error}"),
            }
        }
        // One such value has room again, and what was left before.
        map.remove(1).unwrap();
        let free = full(10 << 20).unwrap();
        println!("full of {length}: {free} would fit");
        assert_eq!(full(free as usize + 8192), Some(free), "{length}");
        assert_eq!(full((free as usize).saturating_sub(8192)), None, "{length}");
    }
}

/// Random entries of a `Roart` map whose keys and values all have one length, with the checkpoint that a close makes.
#[test]
fn short_strings_take_several_times_their_bytes() {
    const ENTRIES: u64 = 100_000;
    println!("key + value   in use   file, of a close   checkpoint   as multiples of the payload");
    for (key, value, most) in [
        (6, 4, 6.6),
        (8, 8, 4.1),
        (16, 0, 4.1),
        (12, 9, 4.7),
        (20, 20, 2.5),
        (40, 40, 1.7),
        (20, 100, 1.6),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        let pool = Pool::options().checkpoints(Checkpoints::on_demand()).create_new(&path).unwrap();
        let map: Map<[u8], [u8]> = pool.map("strings").unwrap();
        let mut random = Random(88_172_645_463_325_252);
        let mut bytes = |length: usize| -> Vec<u8> {
            let mut word = || random.below(u64::MAX).to_be_bytes();
            (0..length.div_ceil(8)).flat_map(|_| word()).take(length).collect()
        };
        for _ in 0..ENTRIES {
            map.put(&bytes(key), &bytes(value)).unwrap();
        }
        let payload = map.len().unwrap() as u64 * (key + value) as u64;
        let in_use = pool.stats().unwrap().bytes_in_use;
        drop(map);
        pool.close().unwrap();
        let (file, kept) = (on_disk(&path), on_disk(&folder.path().join("pool.checkpoint")));
        let times = |bytes: u64| bytes as f64 / payload as f64;
        println!(
            "{key:>3} + {value:<3} {:>11.2} {:>18.2} {:>12.2}",
            times(in_use),
            times(file),
            times(kept)
        );
        assert!(times(in_use) <= most && times(kept) <= times(file) + 0.5, "{key} + {value}");
    }
}
