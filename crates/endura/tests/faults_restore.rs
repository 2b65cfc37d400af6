//! Pools whose last session did not end: some are as their writer left them, some may be torn.

mod faults;

use std::fs;
use std::path::Path;

use endura::{Error, Pool};
use faults::*;

#[test]
fn role_open_and_stay() {
    let Some(path) = role_path() else { return };
    let pool = Pool::options().open(path).unwrap();
    say(&pool.stats().unwrap().generation.to_string());
    wait_to_be_killed();
}

/// Leaves the pool as a killed process does.
fn kill_a_writer_of(path: &Path) {
    let mut writer = Process::start(role("role_open_and_stay", path));
    assert_eq!(writer.hear(), superblock(path).generation.to_string());
    assert!(matches!(Pool::options().open(path), Err(Error::Locked)));
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
            let stats = Pool::options().read_only(true).open(&path).unwrap().stats().unwrap();
            assert_eq!((stats.generation, stats.clean_open), (4, false));
        });
        let pool = Pool::options().open(&path).unwrap();
        let stats = pool.stats().unwrap();
        assert_eq!((stats.generation, stats.clean_open), (4, false));
        pool.close().unwrap();
        assert!(Pool::options().open(&path).unwrap().stats().unwrap().clean_open);
    }
}

#[test]
fn another_boot() {
    for folder in folders() {
        let path = closed_pool(&folder);
        // Closed before the machine went down: nothing is missing.
        patch(&path, |superblock| superblock.boot[3] ^= 1);
        Pool::options().open(&path).unwrap().close().unwrap();

        kill_a_writer_of(&path);
        patch(&path, |superblock| superblock.boot[3] ^= 1);
        assert!(matches!(refusal(&path), Error::NeedsRestore { .. }));
        // Flushing does not make a disk keep what is in the page cache.
        for choice in [endura::MediaChoice::Adr, endura::MediaChoice::Eadr] {
            let options = Pool::options().media(choice);
            let error = unchanged(&path, || options.open(&path).unwrap_err());
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
        Pool::options().open(&copy).unwrap().close().unwrap();

        let pool = Pool::options().open(&path).unwrap();
        fs::copy(&path, &copy).unwrap();
        assert!(matches!(refusal(&copy), Error::NeedsRestore { .. }));
        pool.close().unwrap();
        assert!(matches!(refusal(&copy), Error::NeedsRestore { .. }));
        // The original moved to another name is still the original.
        kill_a_writer_of(&path);
        let moved = folder.path().join("moved");
        fs::rename(&path, &moved).unwrap();
        Pool::options().open(&moved).unwrap().close().unwrap();
    }
}

#[test]
fn every_domain_closes_and_opens_again() {
    use endura::MediaChoice::{Adr, Auto, Clflush, Eadr, PageCache};
    for folder in folders() {
        let path = closed_pool(&folder);
        for choice in [Adr, Eadr, PageCache, Clflush, Auto] {
            let pool = Pool::options().media(choice).open(&path).unwrap();
            let stats = pool.stats().unwrap();
            assert!(stats.clean_open && !stats.power_safe);
            pool.close().unwrap();
            let last = superblock(&path);
            assert_eq!((last.domain, last.power_safe, last.clean), (stats.domain, false, true));
        }
    }
}
