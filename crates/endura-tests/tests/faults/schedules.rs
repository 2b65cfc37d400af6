//! Whether a pool has checkpoints after it was moved, copied or compacted.

use std::fs;
use std::path::Path;
use std::time::Duration;

use endura::{Checkpoints, Pool};
use tempfile::TempDir;

use crate::process::*;

/// A folder in memory, and one on a disk.
fn memory_and_disk() -> Option<(TempDir, TempDir)> {
    let memory = tempfile::tempdir_in("/dev/shm").ok()?;
    let disk = tempfile::tempdir_in("/var/tmp").ok()?;
    let is_in_memory = |folder: &TempDir| {
        let path = folder.path().join("probe");
        let pool = Pool::options().checkpoints(Checkpoints::off()).create_new(path).unwrap();
        pool.stats().unwrap().filesystem == "tmpfs"
    };
    (is_in_memory(&memory) && !is_in_memory(&disk)).then_some((memory, disk))
}

/// The interval of the checkpoints that the pool has when it is opened without a choice.
fn interval(path: &Path) -> Option<Option<Duration>> {
    let pool = Pool::options().open_existing(path).unwrap();
    let checkpoints = pool.stats().unwrap().checkpoints;
    pool.close().unwrap();
    checkpoints.map(|checkpoints| checkpoints.every)
}

fn copies(from: &Path, to: &Path) {
    fs::copy(from, to.join("copied")).unwrap();
    let pool = Pool::options().read_only(true).open_existing(from).unwrap();
    pool.backup(to.join("backed up")).unwrap();
    Pool::options()
        .create_from(&pool, to.join("compacted"), |_| Ok::<_, endura::Error>(()))
        .unwrap();
}

const NAMES: [&str; 3] = ["copied", "backed up", "compacted"];

#[test]
fn a_pool_that_comes_to_a_disk_has_checkpoints_unless_it_is_to_have_none() {
    let Some((memory, disk)) = memory_and_disk() else {
        return left_out("there is no folder in memory and one on a disk");
    };
    let default = Some(Some(Duration::from_secs(30)));
    let second = Some(Some(Duration::from_secs(1)));
    let choices = [
        (None, default),
        (Some(Checkpoints::off()), None),
        (Some(Checkpoints::every(Duration::from_secs(1))), second),
        (Some(Checkpoints::on_demand()), Some(None)),
    ];
    for (i, (choice, expected)) in choices.into_iter().enumerate() {
        let path = memory.path().join(format!("pool {i}"));
        let options = Pool::options();
        let options = choice.map_or(options.clone(), |choice| options.checkpoints(choice));
        let pool = options.create_new(&path).unwrap();
        pool.map::<u64, u64>("map").unwrap().put(1, 1).unwrap();
        pool.close().unwrap();
        assert_eq!(interval(&path), if i == 0 { None } else { expected }, "in memory, {i}");
        copies(&path, disk.path());
        for name in NAMES {
            let path = disk.path().join(name);
            assert_eq!(interval(&path), expected, "{name}, {i}");
            let kept = path.with_file_name(format!("{name}.checkpoint"));
            assert_eq!(kept.exists(), expected.is_some(), "{name}, {i}");
            fs::remove_file(&path).unwrap();
            let _ = fs::remove_file(kept);
        }
    }
}

#[test]
fn checkpoints_come_back_beside_the_pool() {
    for folder in folders() {
        let (path, kept) = (folder.path().join("pool"), folder.path().join("kept"));
        let elsewhere = |every| Checkpoints::every(every).in_file(&kept);
        let pool = Pool::options().checkpoints(elsewhere(Duration::from_secs(9)));
        let pool = pool.create_new(&path).unwrap();
        pool.map::<u64, u64>("map").unwrap().put(1, 1).unwrap();
        pool.close().unwrap();
        assert!(Pool::options().open_existing(&path).is_err(), "the file has to be given");
        let back = Pool::options().checkpoints(Checkpoints::as_left().beside_pool());
        let pool = back.open_existing(&path).unwrap();
        let stats = pool.stats().unwrap();
        assert!(
            stats.warnings.iter().all(|text| !text.contains("mounted")),
            "{:?}",
            stats.warnings
        );
        assert_eq!(stats.checkpoints.unwrap().every, Some(Duration::from_secs(9)));
        pool.map::<u64, u64>("map").unwrap().put(2, 2).unwrap();
        pool.close().unwrap();
        assert!(kept.exists() && folder.path().join("pool.checkpoint").exists());
        assert_eq!(interval(&path), Some(Some(Duration::from_secs(9))));
        // The checkpoint beside the pool is the one that counts.
        fs::remove_file(&path).unwrap();
        let pool = Pool::open(&path).unwrap();
        assert_eq!(pool.map::<u64, u64>("map").unwrap().get(2).unwrap(), Some(2));
    }
}
