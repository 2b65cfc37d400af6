//! Pools whose last session did not end: some are as their writer left them, some may be torn.

use std::fs;
use std::path::Path;

use endura::Error;

use crate::process::*;

#[test]
fn role_open_and_stay() {
    let Some(path) = role_path() else { return };
    let pool = plain().open_existing(path).unwrap();
    say(&pool.stats().unwrap().generation.to_string());
    wait_to_be_killed();
}

/// Leaves the pool as a killed process does.
fn kill_a_writer_of(path: &Path) {
    let mut writer = Process::start(role("role_open_and_stay", path));
    assert_eq!(writer.hear(), superblock(path).generation.to_string());
    assert!(matches!(plain().open_existing(path), Err(Error::Locked)));
    writer.kill();
    assert!(!superblock(path).clean);
}

#[test]
fn a_killed_writer_costs_nothing() {
    for folder in folders() {
        let path = closed_pool(&folder);
        kill_a_writer_of(&path);
        kill_a_writer_of(&path);
        unchanged(&path, || {
            let stats = plain().read_only(true).open_existing(&path).unwrap().stats().unwrap();
            assert_eq!((stats.generation, stats.clean_open), (4, false));
        });
        let pool = plain().open_existing(&path).unwrap();
        let stats = pool.stats().unwrap();
        assert_eq!((stats.generation, stats.clean_open), (4, false));
        pool.close().unwrap();
        assert!(plain().open_existing(&path).unwrap().stats().unwrap().clean_open);
    }
}

#[test]
fn another_boot() {
    for folder in folders() {
        let path = closed_pool(&folder);
        // Closed before the machine went down: nothing is missing.
        patch(&path, |superblock| superblock.boot.id[3] ^= 1);
        plain().open_existing(&path).unwrap().close().unwrap();

        kill_a_writer_of(&path);
        patch(&path, |superblock| superblock.boot.id[3] ^= 1);
        assert!(matches!(refusal(&path), Error::NeedsRestore { .. }));
        // Flushing does not make a disk keep what is in the page cache.
        for choice in [endura::MediaChoice::Adr, endura::MediaChoice::Eadr] {
            let options = plain().media(choice);
            let error = unchanged(&path, || options.open_existing(&path).unwrap_err());
            assert!(matches!(error, Error::NeedsRestore { .. }), "{error}");
        }
    }
}

#[test]
fn a_copy_of_an_open_pool() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let copy = folder.path().join("copy");
        fs::copy(&path, &copy).unwrap();
        plain().open_existing(&copy).unwrap().close().unwrap();

        let pool = plain().open_existing(&path).unwrap();
        fs::copy(&path, &copy).unwrap();
        assert!(matches!(refusal(&copy), Error::NeedsRestore { .. }));
        pool.close().unwrap();
        assert!(matches!(refusal(&copy), Error::NeedsRestore { .. }));
        // The original moved to another name is still the original.
        kill_a_writer_of(&path);
        let moved = folder.path().join("moved");
        fs::rename(&path, &moved).unwrap();
        plain().open_existing(&moved).unwrap().close().unwrap();
    }
}

#[test]
fn every_domain_closes_and_opens_again() {
    use endura::MediaChoice::{Adr, Auto, Clflush, Eadr, PageCache};
    for folder in folders() {
        let path = closed_pool(&folder);
        for (round, choice) in (0..).zip([Adr, Eadr, PageCache, Clflush, Auto]) {
            let pool = plain().media(choice).open_existing(&path).unwrap();
            let stats = pool.stats().unwrap();
            assert!(stats.clean_open && !stats.power_safe);
            let map = pool.map::<u64, u64>("map").unwrap();
            for key in round * 1000..(round + 1) * 1000 {
                map.insert(key, !key).unwrap();
            }
            assert!((0..).zip(map.iter()).all(|(key, entry)| entry.unwrap() == (key, !key)));
            assert_eq!(map.iter().count() as u64, (round + 1) * 1000);
            pool.close().unwrap();
            let last = superblock(&path);
            assert_eq!((last.domain, last.power_safe, last.clean), (stats.domain, false, true));
        }
    }
}

/// A pool of another boot may be accepted, but only after all of it was looked at.
#[test]
fn accepting_a_pool_in_doubt() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let pool = plain().open_existing(&path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        for key in 0..50_000 {
            map.insert(key, !key).unwrap();
        }
        drop((map, pool));
        kill_a_writer_of(&path);
        patch(&path, |superblock| superblock.boot.id[3] ^= 1);
        let whole = fs::read(&path).unwrap();
        let accepting = plain().accept_unclean(true);

        // Nodes lie behind what describes the pool; one that holds noise is found, wherever it is.
        let nodes = 48 * 1024;
        for damaged in [nodes + 64 * 1024, nodes + 512 * 1024] {
            let mut bytes = whole.clone();
            bytes[damaged..damaged + 4096].fill(0xA5);
            fs::write(&path, bytes).unwrap();
            let error = unchanged(&path, || accepting.open_existing(&path).unwrap_err());
            assert!(matches!(error, Error::Corrupt { .. }), "{error}");
        }

        fs::write(&path, &whole).unwrap();
        assert!(matches!(refusal(&path), Error::NeedsRestore { .. }));
        let reading = accepting.clone().read_only(true);
        unchanged(&path, || reading.open_existing(&path).unwrap().verify().unwrap());
        let pool = accepting.open_existing(&path).unwrap();
        assert!(!pool.stats().unwrap().clean_open);
        assert_eq!(pool.map::<u64, u64>("map").unwrap().get(49_999).unwrap(), Some(!49_999));
        pool.close().unwrap();
        plain().open_existing(&path).unwrap();
    }
}

#[test]
fn role_insert_and_say() {
    let Some(path) = role_path() else { return };
    let map = plain().open_existing(path).unwrap().map::<u64, u64>("map").unwrap();
    let mut key = map.last_key_value().unwrap().map_or(0, |(last, _)| last + 1);
    loop {
        map.insert(key, !key).unwrap();
        say(&key.to_string());
        key += 1;
    }
}

/// What a killed process was told is kept, and the next one goes on from there.
#[test]
fn what_was_acknowledged_survives_a_kill() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let mut acknowledged = 0;
        for _ in 0..5 {
            let mut writer = Process::start(role("role_insert_and_say", &path));
            for _ in 0..2_000 {
                acknowledged = writer.hear().parse().unwrap();
            }
            writer.kill();
        }
        let pool = plain().open_existing(&path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        let (last, _) = map.last_key_value().unwrap().unwrap();
        assert!(last >= acknowledged, "{last} < {acknowledged}");
        for (expected, entry) in (0..=last).zip(map.iter()) {
            assert_eq!(entry.unwrap(), (expected, !expected));
        }
        assert_eq!(map.iter().count() as u64, last + 1);
        pool.verify().unwrap();
    }
}
