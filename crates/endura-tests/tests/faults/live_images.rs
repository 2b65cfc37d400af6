//! The image of a file system is copied while pools in it are in use (by dd, or as a volume's snapshot without a freeze), and
//! the copy is mounted in the same boot. Its pages are of many moments: what is opened is sound, or goes back to its
//! checkpoint, or is refused by name.
//!
//! `ENDURA_ROUNDS` is another number of copies of each kind.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use endura::{Error, Pool};

use crate::load::*;
use crate::mounts::*;
use crate::process::*;
use crate::random::Random;

/// What is in a folder: names, and bytes.
fn entries_of(folder: &Path) -> Vec<(OsString, u64)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name(), entry.metadata().map_or(0, |it| it.len()))).collect()
}

/// What became of a copy: 0 as it was, 1 taken back, 2 refused, 3 nothing to open.
fn outcome(copy: Result<Volume, String>, before: u64, name: &str) -> usize {
    // What is no file system any more is not endura's to open.
    let Ok(copy) = copy else { return 3 };
    let there = entries_of(&copy.path());
    if there.is_empty() {
        // A file system that has nothing in it yet, whatever its journal was to say.
        return 3;
    }
    match Pool::options().open_existing(copy.path().join("pool")) {
        Ok(pool) => {
            let (found, is_told) = (operations_in(&pool), pool.restored().is_some());
            let is_right = is_told || found >= before;
            assert!(is_right, "{name}: {found} of {before}, {there:?}");
            usize::from(is_told)
        }
        Err(
            Error::NeedsRestore { .. }
            | Error::BadCheckpoint { .. }
            | Error::Truncated { .. }
            | Error::Corrupt { .. }
            | Error::NotAPool { .. },
        ) => 2,
        Err(error) => panic!("{name}: {error}, {there:?}"),
    }
}

#[test]
fn role_live_images() {
    if role_path().is_none() {
        return;
    }
    let rounds = std::env::var("ENDURA_ROUNDS").map_or(3, |rounds| rounds.parse().unwrap());
    let mut random = Random::of(11);
    let mut seen = [0; 4];
    for (kind, megabytes) in [("ext4", 80), ("xfs", 320)] {
        let Some(volume) = Volume::new(kind, megabytes) else { return };
        let path = volume.path().join("pool");
        let mut load = Load::start(&path);
        load.wait_for_checkpoint();
        for round in 0..rounds {
            let sync = format!("sync {}", path.display());
            for _ in 0..random.below(4) {
                // Some of the pages as they are now, others as they were.
                let _ = run(&sync);
                load.wait(random.below(3) as u32);
            }
            let before = load.has;
            match random.below(5) {
                0 => load = load.close(),
                1 => load = load.kill(),
                _ => {}
            }
            if load.has_ended() && random.one_in(2) {
                let _ = run(&sync);
            }
            let copy = volume.copy_of_device();
            if load.has_ended() {
                load = Load::start(&path);
            }
            load.wait(1);
            seen[outcome(copy, before, &format!("{kind} {round}"))] += 1;
        }
        drop(load.kill());
    }
    let [whole, back, refused, nothing] = seen;
    println!("{whole} as it was, {back} taken back, {refused} refused, {nothing} without a pool");
    assert!(whole + back + refused > 0);
    say("as it should be");
}

#[test]
fn images_of_live_file_systems() {
    with_own_mounts("role_live_images");
}
