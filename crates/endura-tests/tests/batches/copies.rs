//! Backups and checkpoints that are made in the middle of batches have each of them whole or not at all.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use endura::{Checkpoints, Pool, PoolOptions};

use crate::maps::{Numbers, Random};
use crate::process::{Process, patch, role, role_path, say};

const KEYS: u64 = 101;
const PAGE: u64 = 4096;

fn options() -> PoolOptions {
    Pool::options().checkpoints(Checkpoints::on_demand()).max_size(1 << 30)
}

fn maps(pool: &Pool, kind: usize) -> [Numbers; 2] {
    [0, 1].map(|i| Numbers::open(pool, &i.to_string(), kind + 3 * i))
}

/// Whether the batch of a round puts this key; else it removes it.
fn has(round: u64, key: u64) -> bool {
    key == 0 || !(round + key).is_multiple_of(3)
}

/// Commits rounds until `stop`; `done` is the last one.
fn commit_rounds(pool: &Pool, maps: &[Numbers; 2], stop: &AtomicBool, done: &AtomicU64) {
    for round in done.load(Ordering::SeqCst) + 1.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let mut batch = pool.batch();
        for key in 0..KEYS {
            let value = has(round, key).then_some(round);
            maps.iter().for_each(|map| map.set_in(&mut batch, key, value).unwrap());
        }
        batch.commit().unwrap();
        done.store(round, Ordering::SeqCst);
    }
}

/// The round that both maps have, all of it.
fn whole_round(maps: &[Numbers; 2]) -> u64 {
    let round = maps[0].get(0).unwrap_or(0);
    for map in maps {
        for key in 0..KEYS {
            let value = (round > 0 && has(round, key)).then_some(round);
            assert_eq!(map.get(key), value, "a torn batch of round {round}");
        }
    }
    round
}

#[test]
fn a_backup_has_whole_batches() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (mut copies, mut cut) = (0, 0);
    for kind in 0..4 {
        let path = folder.path().join(format!("pool {kind}"));
        let pool = options().open(&path).unwrap();
        let maps = maps(&pool, kind);
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| commit_rounds(&pool, &maps, &stop, &done));
            while done.load(Ordering::SeqCst) < 3 && !stop.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            for n in 0..6 {
                let to = folder.path().join(format!("copy {kind} {n}"));
                let before = done.load(Ordering::SeqCst);
                pool.backup(&to).unwrap();
                let after = done.load(Ordering::SeqCst);
                let copy = options().open(&to).unwrap();
                let round = whole_round(&self::maps(&copy, kind));
                assert!(before <= round && round <= after + 1, "{before} {round} {after}");
                copy.verify().unwrap();
                copy.close().unwrap();
                (copies, cut) = (copies + 1, cut + u32::from(round > before));
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
    println!("{copies} backups, {cut} of them behind the last batch that had returned");
}

#[test]
fn role_commit_and_checkpoint() {
    let Some(path) = role_path() else { return };
    let pool = options().open(&path).unwrap();
    let kind = std::fs::read_to_string(path.with_extension("kind")).unwrap();
    let maps = maps(&pool, kind.trim().parse().unwrap());
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(whole_round(&maps)));
    thread::scope(|scope| {
        scope.spawn(|| commit_rounds(&pool, &maps, &stop, &done));
        loop {
            let before = done.load(Ordering::SeqCst);
            pool.checkpoint().unwrap();
            say(&format!("checkpoint {before}"));
        }
    });
}

/// Another boot, and pages of any time: here garbage, which is worse.
fn lose_power(path: &Path, random: &mut Random) {
    patch(path, |superblock| superblock.boot.id = [0xEE; 16]);
    let file = File::options().read(true).write(true).open(path).unwrap();
    for page in 2..file.metadata().unwrap().len() / PAGE {
        if random.below(3) == 0 {
            file.write_all_at(&[random.below(256) as u8; PAGE as usize], page * PAGE).unwrap();
        }
    }
}

#[test]
fn a_checkpoint_has_whole_batches() {
    let rounds = std::env::var("ENDURA_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (mut random, mut replayed) = (Random(11), 0);
    for n in 0..rounds {
        let kind = n % 4;
        let path = folder.path().join(format!("pool{kind}"));
        std::fs::write(path.with_extension("kind"), kind.to_string()).unwrap();
        let mut child = Process::start(role("role_commit_and_checkpoint", &path));
        let mut kept = 0;
        let mut note = |said: &str| {
            kept = said.strip_prefix("checkpoint ").unwrap().parse::<u64>().unwrap();
        };
        for _ in 0..1 + random.below(4) {
            note(&child.hear());
        }
        thread::sleep(std::time::Duration::from_micros(random.below(20_000)));
        child.end();
        while let Some(said) = child.hear_more() {
            note(&said);
        }
        lose_power(&path, &mut random);
        let told = std::sync::Arc::new(AtomicU64::new(0));
        let counter = std::sync::Arc::clone(&told);
        let listen = move |event: &endura::Event| {
            if let endura::Event::BatchReplayed { .. } = event {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        };
        let pool = options().on_event(listen).open(&path).unwrap();
        assert!(pool.restored().is_some());
        let round = whole_round(&maps(&pool, kind));
        assert!(round >= kept, "the checkpoint had round {kept}, {round} is there");
        pool.verify().unwrap();
        pool.close().unwrap();
        replayed += told.load(Ordering::SeqCst);
    }
    println!("{rounds} power losses, {replayed} restored in the middle of a batch");
}
