//! Programs that end without a close, or take the file of an open pool away: as the guide says in "Open and close".

use std::fs;
use std::sync::OnceLock;

use endura::Pool;

use crate::process::*;

const END: &str = "ENDURA_TEST_END";
static KEPT: OnceLock<Pool> = OnceLock::new();

#[test]
fn role_end_without_a_close() {
    let Some(path) = role_path() else { return };
    let pool = plain().open_existing(path).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    map.insert(1, 10).unwrap();
    match std::env::var(END).unwrap().as_str() {
        "exit" => std::process::exit(0),
        "static" => assert!(KEPT.set(pool).is_ok()),
        "thread" => {
            std::thread::spawn(move || {
                let _map = map;
                wait_to_be_killed()
            });
        }
        "return" => {}
        other => panic!("{other}"),
    }
}

#[test]
fn exits_statics_and_threads_leave_a_pool_open() {
    for folder in folders() {
        let path = closed_pool(&folder);
        for end in ["exit", "static", "thread", "return"] {
            let mut command = role("role_end_without_a_close", &path);
            command.env(END, end);
            Process::start(command).finish();
            assert_eq!(superblock(&path).clean, end == "return", "{end}");
            let pool = plain().open_existing(&path).unwrap();
            assert_eq!(pool.stats().unwrap().clean_open, end == "return", "{end}");
            assert_eq!(pool.map::<u64, u64>("map").unwrap().get(1).unwrap(), Some(10), "{end}");
            pool.close().unwrap();
        }
    }
}

#[test]
fn a_pool_keeps_a_file_that_was_removed_or_replaced() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let removed = plain().open_existing(&path).unwrap();
        let map = removed.map::<u64, u64>("map").unwrap();
        map.insert(1, 10).unwrap();
        fs::remove_file(&path).unwrap();
        map.insert(2, 20).unwrap();
        let other = plain().open(&path).unwrap();
        assert!(other.maps().unwrap().is_empty(), "another pool of that name");
        assert_eq!((map.get(1).unwrap(), map.get(2).unwrap()), (Some(10), Some(20)));
        let displaced = |closed| matches!(closed, Err(endura::Error::Displaced { now: None, .. }));
        assert!(displaced(removed.close()));
        other.close().unwrap();

        let backup = folder.path().join("backup");
        fs::copy(&path, &backup).unwrap();
        let replaced = plain().open_existing(&path).unwrap();
        let map = replaced.map::<u64, u64>("map").unwrap();
        fs::rename(&backup, &path).unwrap();
        map.insert(3, 30).unwrap();
        assert_eq!(map.get(3).unwrap(), Some(30));
        assert!(displaced(replaced.close()));
        let backup = plain().open_existing(&path).unwrap();
        assert!(backup.maps().unwrap().is_empty(), "what was stored went with the old file");
    }
}

#[test]
fn role_count_descriptors() {
    let Some(path) = role_path() else { return };
    let count = || fs::read_dir("/proc/self/fd").map(Iterator::count);
    let Ok(before) = count() else { return say("unknown") };
    let pool = plain().open_existing(path).unwrap();
    say(&(count().unwrap() - before).to_string());
    drop(pool);
    assert_eq!(count().unwrap(), before);
}

#[test]
fn a_pool_has_three_descriptors() {
    for folder in folders() {
        let mut counting = Process::start(role("role_count_descriptors", &closed_pool(&folder)));
        match counting.hear().as_str() {
            "unknown" => left_out("there is no /proc/self/fd"),
            count => assert_eq!(count, "3"),
        }
        counting.finish();
    }
}
