//! A process is killed while it applies the changes of a batch, and the disk fills up before the next open.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use endura::{Error, Event, Kind, Map, MapOptions, Pool, SpaceLimit};
use rustix::fs::{FallocateFlags, fallocate};

use crate::mounts::{Volume, with_own_mounts};
use crate::process::*;

/// Keys that each map has before the batch, and that the batch changes: every other one of these, and as many new ones.
const KEYS: u64 = 4_000;
const KINDS: [Kind; 3] = [Kind::FastFair, Kind::NbTree, Kind::Roart];

struct Maps {
    numbers: Vec<Map<u64, u64>>,
    strings: Vec<Map<u64, [u8]>>,
}

impl Maps {
    fn open(pool: &Pool) -> Self {
        let options = |kind| MapOptions::new().kind(kind);
        let numbers = &KINDS[..2];
        Self {
            numbers: numbers
                .iter()
                .map(|&kind| pool.map_with(&format!("numbers {kind}"), options(kind)).unwrap())
                .collect(),
            strings: KINDS
                .iter()
                .map(|&kind| pool.map_with(&format!("strings {kind}"), options(kind)).unwrap())
                .collect(),
        }
    }

    /// Gives keys a value, in one batch.
    fn commit(&self, pool: &Pool, keys: impl Iterator<Item = u64>, value: u64) -> usize {
        let mut batch = pool.batch();
        for key in keys {
            for map in &self.numbers {
                batch.put(map, key, value).unwrap();
            }
            for map in &self.strings {
                batch.put(map, key, &value.to_le_bytes()).unwrap();
            }
        }
        let operations = batch.len();
        batch.commit().unwrap();
        operations
    }

    /// Whether the changes of the second batch are there.
    fn expect(&self, is_changed: bool) {
        for key in 0..2 * KEYS {
            let before = (key % 2 == 0).then_some(1);
            let value = if is_changed && key % 4 < 2 { Some(2) } else { before };
            for map in &self.numbers {
                assert_eq!(map.get(key).unwrap(), value, "{key}");
            }
            for map in &self.strings {
                let found = map.get(key).unwrap();
                assert_eq!(found.as_deref(), value.map(u64::to_le_bytes).as_ref().map(|v| &v[..]));
            }
        }
    }
}

fn before() -> impl Iterator<Item = u64> {
    (0..KEYS).map(|i| 2 * i)
}

/// Keys that are there, and keys that are not.
fn changed() -> impl Iterator<Item = u64> {
    (0..2 * KEYS).filter(|key| key % 4 < 2)
}

#[test]
fn role_commit_once() {
    let Some(path) = role_path() else { return };
    let pool = plain().create_new(&path).unwrap();
    let maps = Maps::open(&pool);
    maps.commit(&pool, before(), 1);
    let first = maps.numbers[0].clone();
    std::thread::spawn(move || {
        while first.get(0).unwrap() != Some(2) {}
        say("decided");
    });
    maps.commit(&pool, changed(), 2);
    wait_to_be_killed()
}

/// What a process leaves that is killed when a reader has seen a change of its batch, and before the batch has ended.
fn leave_killed(path: &Path) {
    for _ in 0..50 {
        let mut child = Process::start(role("role_commit_once", path));
        assert_eq!(child.hear(), "decided");
        child.end();
        // The BATCH words (docs/design.md).
        if fs::read(path).unwrap()[8256..8256 + 128].iter().any(|&byte| byte != 0) {
            return;
        }
        fs::remove_file(path).unwrap();
    }
    panic!("no process was killed in the middle of its batch");
}

/// Opens the pool. How many changes the open has applied is known when the pool is closed, because events come later.
fn open(path: &Path) -> (endura::Result<Pool>, Arc<AtomicUsize>) {
    let replayed = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&replayed);
    let options = plain().on_event(move |event| {
        if let Event::BatchReplayed { operations, .. } = event {
            noted.store(*operations, Ordering::Relaxed);
        }
    });
    (options.open_existing(path), replayed)
}

/// Gives the file a hole wherever it is zero, and returns the bytes of all holes.
fn punch_holes(path: &Path) -> u64 {
    let file = File::options().write(true).open(path).unwrap();
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    for (at, page) in (0..).step_by(4096).zip(fs::read(path).unwrap().chunks(4096)) {
        if page.iter().all(|&byte| byte == 0) {
            fallocate(&file, flags, at, 4096).unwrap();
        }
    }
    file.sync_all().unwrap();
    let facts = file.metadata().unwrap();
    facts.len().saturating_sub(facts.blocks() * 512)
}

/// Opens the pool, which must apply the whole batch.
fn expect_replay(path: &Path) {
    let (pool, replayed) = open(path);
    let pool = pool.unwrap();
    Maps::open(&pool).expect(true);
    pool.verify().unwrap();
    pool.close().unwrap();
    assert_eq!(replayed.load(Ordering::Relaxed), 5 * changed().count());
}

fn replay_on_a_full_disk(kind: &str) -> Option<String> {
    let volume = Volume::new(kind, 160)?;
    let filler = volume.path().join("filler");
    // The killed process had set aside what its changes needed: there is room for them in the file.
    let path = volume.path().join("pool");
    leave_killed(&path);
    volume.fill();
    let length = fs::metadata(&path).unwrap().len();
    expect_replay(&path);
    assert!(fs::metadata(&path).unwrap().len() <= length);
    [&path, &filler].iter().for_each(|path| fs::remove_file(path).unwrap());
    // There is no room for what is a hole: the open says how much, and writes nothing.
    let path = volume.path().join("holes");
    leave_killed(&path);
    let holes = punch_holes(&path);
    volume.fill();
    for _ in 0..2 {
        let error = unchanged(&path, || open(&path).0.expect_err("a disk without room"));
        let Error::Full { need, limit, .. } = error else { panic!("{error}") };
        assert_eq!(limit, SpaceLimit::DiskFull);
        assert!(need > 0, "{error}");
    }
    fs::remove_file(&filler).unwrap();
    expect_replay(&path);
    Some(format!("{kind}: a pool of {length} bytes, then one with {holes} bytes of holes"))
}

#[test]
fn role_replay_on_full_disks() {
    if role_path().is_none() {
        return;
    }
    for kind in ["tmpfs", "ext4"] {
        let Some(seen) = replay_on_a_full_disk(kind) else { return };
        eprintln!("{seen}");
    }
    say("as it should be");
}

#[test]
fn an_open_applies_a_batch_on_a_full_disk_or_leaves_the_file_as_it_was() {
    with_own_mounts("role_replay_on_full_disks");
}
