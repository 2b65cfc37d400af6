//! What is on the disk when a call returns. `cachestat(2)` (Linux 6.5) tells which pages of a file are not.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use endura::{Checkpoints, Pool};
use tempfile::TempDir;

use crate::process::*;

const PAGE: u64 = 4096;
/// The number of the call on each processor.
const CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct Part {
    at: u64,
    bytes: u64,
}

/// Pages of a part of a file.
#[repr(C)]
#[derive(Default)]
struct Cached {
    all: u64,
    dirty: u64,
    being_written: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Pages of bytes `at..at + bytes` that a power loss would take; none if the kernel does not tell.
fn not_on_disk(path: &Path, at: u64, bytes: u64) -> Option<u64> {
    let file = File::open(path).unwrap();
    let (part, mut cached) = (Part { at, bytes }, Cached::default());
    // SAFETY: both are what the call reads and writes, and outlive it.
    let done = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &part, &mut cached, 0) };
    (done == 0).then_some(cached.dirty + cached.being_written)
}

/// Of a pool all but the superblocks.
fn data_not_on_disk(path: &Path) -> u64 {
    not_on_disk(path, 2 * PAGE, 1 << 40).unwrap()
}

/// A folder on a disk, with a pool that has checkpoints; none where it cannot be told what is on the disk.
fn pool_on_disk() -> Option<(TempDir, PathBuf, Pool)> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let probe = folder.path().join("probe");
    fs::write(&probe, [1; 3 * PAGE as usize]).unwrap();
    let before = not_on_disk(&probe, 0, 3 * PAGE);
    File::open(&probe).unwrap().sync_all().unwrap();
    if (before, not_on_disk(&probe, 0, 3 * PAGE)) != (Some(3), Some(0)) {
        println!("this kernel, or this file system, does not tell what is on the disk");
        return None;
    }
    let path = folder.path().join("pool");
    let pool = Pool::options().checkpoints(Checkpoints::on_demand()).create_new(&path).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    (0..20_000).for_each(|key| _ = map.put(key, !key).unwrap());
    assert!(data_not_on_disk(&path) > 20);
    Some((folder, path, pool))
}

fn checkpoint_of(path: &Path) -> PathBuf {
    path.with_file_name("pool.checkpoint")
}

#[test]
fn a_checkpoint_is_on_the_disk() {
    let Some((_folder, path, pool)) = pool_on_disk() else { return };
    pool.checkpoint().unwrap();
    assert_eq!(not_on_disk(&checkpoint_of(&path), 0, 1 << 40), Some(0));
}

#[test]
fn a_pool_that_was_closed_is_on_the_disk() {
    let Some((_folder, path, pool)) = pool_on_disk() else { return };
    pool.close().unwrap();
    assert_eq!(data_not_on_disk(&path), 0);
    assert_eq!(not_on_disk(&checkpoint_of(&path), 0, 1 << 40), Some(0));
}

/// Of two copies the second may come to the disk later.
#[test]
fn one_copy_of_the_superblock_is_on_the_disk() {
    let Some((_folder, path, pool)) = pool_on_disk() else { return };
    pool.close().unwrap();
    for _ in 0..3 {
        assert!(not_on_disk(&path, 0, 2 * PAGE).unwrap() <= 1, "closed");
        let pool = Pool::open(&path).unwrap();
        assert!(not_on_disk(&path, 0, 2 * PAGE).unwrap() <= 1, "opened");
        drop(pool);
    }
}

/// All of the pool is on the disk again before its superblock says that it is whole.
#[test]
fn a_pool_that_was_taken_back_is_on_the_disk() {
    let Some((_folder, path, pool)) = pool_on_disk() else { return };
    pool.checkpoint().unwrap();
    let image = fs::read(&path).unwrap();
    let kept = fs::read(checkpoint_of(&path)).unwrap();
    pool.close().unwrap();
    drop(pool);
    fs::write(checkpoint_of(&path), kept).unwrap();
    let mut torn = image;
    torn[8 * PAGE as usize..48 * PAGE as usize].fill(0xAB);
    // By pages, as stores bring them into the cache: what dirties one of these dirties no other.
    let file = File::options().write(true).open(&path).unwrap();
    for (at, page) in (0..).step_by(PAGE as usize).zip(torn.chunks(PAGE as usize)) {
        file.write_all_at(page, at).unwrap();
    }
    // Who has it open for writing keeps a restore away.
    drop(file);
    patch(&path, |superblock| (superblock.boot, superblock.is_marked) = ([0xEE; 16], false));
    File::open(&path).unwrap().sync_all().unwrap();
    let restored = Pool::restore(&path, None, false).unwrap();
    assert!(restored.written_bytes >= 40 * PAGE, "{restored:?}");
    assert_eq!(data_not_on_disk(&path), 0);
}

#[test]
fn a_backup_is_on_the_disk() {
    let Some((folder, _path, pool)) = pool_on_disk() else { return };
    let to = folder.path().join("backup");
    pool.backup(&to).unwrap();
    assert_eq!(data_not_on_disk(&to), 0);
}
