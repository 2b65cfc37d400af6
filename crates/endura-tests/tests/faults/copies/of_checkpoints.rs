//! The copy of a checkpoint, made beside a process that replaces it.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use endura::{Checkpoints, Error, Pool, Result};

use crate::process::*;

const KEYS: u64 = 20_000;

fn copy(path: &Path, from: Option<&Path>, to: &Path) -> Result<SystemTime> {
    Pool::backup_of_checkpoint(path, from, to, |done, all| {
        assert!(done <= all);
        ControlFlow::Continue(())
    })
}

fn with_checkpoints(path: &Path) -> Pool {
    Pool::options().checkpoints(Checkpoints::on_demand()).create_new(path).unwrap()
}

fn beside(path: &Path) -> PathBuf {
    path.with_extension("checkpoint")
}

/// All values of a copy are those of one round.
fn round_of(path: &Path) -> u64 {
    let pool = Pool::open(path).unwrap();
    assert!(pool.stats().unwrap().clean_open);
    let map = pool.map::<u64, u64>("map").unwrap();
    let round = map.get(0).unwrap().unwrap();
    let mut count = 0;
    for entry in map.iter() {
        assert_eq!(entry.unwrap().1, round);
        count += 1;
    }
    assert_eq!(count, KEYS);
    pool.verify().unwrap();
    round
}

/// Pages of a checkpoint are written over when the next but one is made: a copy is of one round, or there is none.
#[test]
fn copies_beside_a_writer_are_of_one_checkpoint() {
    for folder in folders() {
        let (path, to) = (folder.path().join("pool"), folder.path().join("to"));
        let pool = with_checkpoints(&path);
        let map = pool.map::<u64, u64>("map").unwrap();
        let write = |round| (0..KEYS).for_each(|key| _ = map.put(key, round).unwrap());
        write(0);
        pool.checkpoint().unwrap();
        let is_over = AtomicBool::new(false);
        let (mut copies, mut rounds) = (0, std::collections::BTreeSet::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    write(round);
                    pool.checkpoint().unwrap();
                    // Some copies have the time, and some do not.
                    std::thread::sleep(Duration::from_millis(round % 8 * 8));
                }
            });
            let begun = std::time::Instant::now();
            while copies < 12 && begun.elapsed() < Duration::from_secs(30) {
                match copy(&path, None, &to) {
                    Ok(made) => {
                        assert!(made.elapsed().unwrap() < Duration::from_secs(30));
                        rounds.insert(round_of(&to));
                        copies += 1;
                        fs::remove_file(&to).unwrap();
                        let _ = fs::remove_file(beside(&to));
                    }
                    Err(error) => {
                        assert!(error.to_string().contains("replaced faster"), "{error}");
                        assert!(!to.exists());
                    }
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(copies > 2 && rounds.len() > 1, "{copies} copies, of {rounds:?}");
    }
}

/// Whose pages are gone when they are read begins again, and not for ever.
#[test]
fn a_copy_begins_again_where_its_checkpoint_was_replaced() {
    for folder in folders() {
        let (path, to) = (folder.path().join("pool"), folder.path().join("to"));
        let pool = with_checkpoints(&path);
        let map = pool.map::<u64, u64>("map").unwrap();
        let mut round = 0;
        let mut replace = || {
            for _ in 0..3 {
                round += 1;
                (0..KEYS).for_each(|key| _ = map.put(key, round).unwrap());
                pool.checkpoint().unwrap();
            }
            round
        };
        let (mut newest, mut calls) = (replace(), 0);
        let made = Pool::backup_of_checkpoint(&path, None, &to, |_, _| {
            calls += 1;
            if calls <= 2 {
                newest = replace();
            }
            ControlFlow::Continue(())
        });
        assert!(made.is_ok() && calls > 2, "{made:?}, {calls} calls");
        assert_eq!(round_of(&to), newest);
        fs::remove_file(&to).unwrap();
        let mut calls = 0;
        let never = Pool::backup_of_checkpoint(&path, None, &to, |_, _| {
            (calls, _) = (calls + 1, replace());
            ControlFlow::Continue(())
        });
        let never = never.unwrap_err();
        assert!(never.to_string().contains("replaced faster"), "{never}");
        assert!(calls == 5 && !to.exists(), "{calls} calls");
    }
}

#[test]
fn a_copy_is_of_the_last_checkpoint_of_this_pool_alone() {
    for folder in folders() {
        let [path, to, other, kept] =
            ["pool", "to", "other", "kept"].map(|name| folder.path().join(name));
        let pool = with_checkpoints(&path);
        let map = pool.map::<u64, u64>("map").unwrap();
        (0..KEYS).for_each(|key| _ = map.put(key, 1).unwrap());
        let missing = copy(&path, None, &to).unwrap_err();
        assert!(missing.to_string().contains("pool.checkpoint"), "{missing}");
        let made = pool.checkpoint().unwrap();
        fs::copy(beside(&path), &kept).unwrap();
        (0..KEYS).for_each(|key| _ = map.put(key, 2).unwrap());
        assert_eq!(copy(&path, None, &to).unwrap(), made.at);
        assert_eq!(round_of(&to), 1);
        let taken = copy(&path, None, &to);
        assert!(taken.unwrap_err().to_string().contains("to"), "something is there");
        fs::remove_file(&to).unwrap();
        let _ = fs::remove_file(beside(&to));
        let broken = Pool::backup_of_checkpoint(&path, None, &to, |_, _| ControlFlow::Break(()));
        assert!(matches!(broken, Err(Error::Io { .. })) && !to.exists(), "{broken:?}");
        // It was closed since, twice, so that the first one is of neither session.
        pool.close().unwrap();
        Pool::open(&path).unwrap().close().unwrap();
        let pool = Pool::open(&path).unwrap();
        fs::rename(beside(&path), folder.path().join("newest")).unwrap();
        fs::copy(&kept, beside(&path)).unwrap();
        let stale = copy(&path, None, &to).unwrap_err();
        assert!(stale.to_string().contains("different points in time"), "{stale}");
        copy(&path, Some(&kept), &to).unwrap();
        assert_eq!(round_of(&to), 1);
        with_checkpoints(&other).close().unwrap();
        let foreign = copy(&path, Some(&beside(&other)), &kept).unwrap_err();
        assert!(foreign.to_string().contains("another pool"), "{foreign}");
        let none = copy(&folder.path().join("none"), Some(&kept), &to);
        assert!(matches!(none, Err(Error::Io { .. })), "{none:?}");
        drop(pool);
    }
}

/// What is damaged is not tried again.
#[test]
fn a_damaged_checkpoint_is_not_copied() {
    let folder = &folders()[0];
    let (path, to) = (folder.path().join("pool"), folder.path().join("to"));
    let pool = with_checkpoints(&path);
    let map = pool.map::<u64, u64>("map").unwrap();
    (0..KEYS).for_each(|key| _ = map.put(key, 1).unwrap());
    pool.checkpoint().unwrap();
    let mut bytes = fs::read(beside(&path)).unwrap();
    let page = bytes.len() / 2 / 4096 * 4096;
    bytes[page..page + 4096].fill(0x5A);
    fs::write(beside(&path), bytes).unwrap();
    let damaged = copy(&path, None, &to).unwrap_err();
    assert!(damaged.to_string().contains("damaged"), "{damaged}");
    assert!(!to.exists());
}
