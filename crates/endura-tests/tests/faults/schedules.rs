//! Whether a pool has checkpoints after it was moved, copied or compacted.

use std::fs;
use std::path::Path;
use std::time::Duration;

use endura::{AfterPowerLoss, CheckpointProblem, Checkpoints, Pool};
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

/// A checkpoint beside the pool from before its checkpoints were elsewhere is in nobody's way, and is not lost.
#[test]
fn an_old_checkpoint_beside_the_pool_is_renamed_when_they_come_back() {
    for folder in folders() {
        let (path, kept) = (folder.path().join("pool"), folder.path().join("kept"));
        let session = |how: Checkpoints, key: u64| {
            let pool = Pool::options().checkpoints(how).open(&path).unwrap();
            pool.map::<u64, u64>("map").unwrap().put(key, key).unwrap();
            let warnings = pool.stats().unwrap().warnings;
            pool.close().unwrap();
            warnings
        };
        session(Checkpoints::on_demand(), 1);
        let old = fs::read(folder.path().join("pool.checkpoint")).unwrap();
        session(Checkpoints::as_left().in_file(&kept), 2);
        session(Checkpoints::as_left().in_file(&kept), 3);
        let warnings = session(Checkpoints::as_left().beside_pool(), 4);
        assert!(warnings.iter().any(|what| what.contains("`.old`")), "{warnings:?}");
        assert!(fs::read(folder.path().join("pool.checkpoint.old")).unwrap() == old);
        fs::remove_file(&path).unwrap();
        let pool = Pool::open(&path).unwrap();
        assert_eq!(pool.map::<u64, u64>("map").unwrap().iter().count(), 4, "the newest counts");
    }
}

/// The checkpoint's name is the pool's and eleven bytes more.
#[test]
fn a_name_that_leaves_none_for_the_checkpoint() {
    for folder in folders() {
        let [fits, too_long] = [244, 245].map(|len| folder.path().join("n".repeat(len)));
        let beside = Pool::options().checkpoints(Checkpoints::on_demand());
        let pool = beside.open(&fits).unwrap();
        pool.checkpoint().unwrap();
        pool.close().unwrap();
        let refused = beside.open(&too_long).unwrap_err();
        assert!(refused.to_string().contains("at most 244 bytes"), "{refused}");
        assert!(!too_long.exists(), "nothing is left behind");
        let none = Pool::options().checkpoints(Checkpoints::off());
        none.open(&too_long).unwrap().close().unwrap();
        let kept = Checkpoints::on_demand().in_file(folder.path().join("kept"));
        Pool::options().checkpoints(kept).open(&too_long).unwrap().close().unwrap();
    }
}

/// What was never chosen is no `off()`: a pool that comes from memory to a disk gets its checkpoints there.
#[test]
fn a_pool_that_was_made_in_memory_gets_checkpoints_on_a_disk() {
    let Some((memory, disk)) = memory_and_disk() else { return };
    for (name, is_off) in [("unchosen", false), ("off", true)] {
        let [path, moved] = [&memory, &disk].map(|folder| folder.path().join(name));
        let options = match is_off {
            true => Pool::options().checkpoints(Checkpoints::off()),
            false => Pool::options(),
        };
        let pool = options.create_new(&path).unwrap();
        assert!(pool.stats().unwrap().checkpoints.is_none());
        assert_eq!(pool.stats().unwrap().after_power_loss, AfterPowerLoss::Gone);
        pool.backup(&moved).unwrap();
        drop(pool);
        let reading = Pool::options().read_only(true).open_existing(&moved).unwrap();
        let stats = reading.stats().unwrap();
        assert_eq!(stats.after_power_loss, AfterPowerLoss::Kept);
        let told = stats.checkpoints.map(|kept| (kept.every, kept.problem));
        let usual = (Some(Duration::from_secs(30)), Some(CheckpointProblem::NotYet));
        assert_eq!(told, (!is_off).then_some(usual), "{name}");
        drop(reading);
        let pool = Pool::open(&moved).unwrap();
        let every = pool.stats().unwrap().checkpoints.map(|kept| kept.every);
        assert_eq!(every, (!is_off).then_some(Some(Duration::from_secs(30))), "{name}");
    }
}
