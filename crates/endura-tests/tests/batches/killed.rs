//! A process commits batches, writes single keys and reads beside them, and is killed with SIGKILL again and again. The
//! next open finds whole batches, everything that was acknowledged, and nothing older than what a reader was told.
//!
//! `ENDURA_KILLS` is the number of rounds.

use std::path::Path;
use std::thread;
use std::time::Duration;

use endura::{Checkpoints, Pool};

use crate::maps::{KINDS, Numbers, Random};
use crate::process::{Process, role, role_path, say};

const KEYS: u64 = 11;
/// The key of the last round, and those of single writes.
const SINGLES: u64 = 1_000;

fn maps(pool: &Pool, pair: u64) -> [Numbers; 2] {
    let kinds = KINDS.len() as u64;
    [(0, pair % kinds), (1, pair / kinds % kinds)]
        .map(|(i, kind): (u32, u64)| Numbers::open(pool, &format!("{pair} {i}"), kind as usize))
}

fn open(path: &Path) -> Pool {
    Pool::options().checkpoints(Checkpoints::off()).max_size(1 << 30).open(path).unwrap()
}

/// The pair of kinds of a round.
fn pair(path: &Path) -> u64 {
    let text = std::fs::read_to_string(path.with_extension("pair")).unwrap();
    text.trim().parse().unwrap()
}

#[test]
fn role_commit_until_killed() {
    let Some(path) = role_path() else { return };
    let pool = open(&path);
    let maps = maps(&pool, pair(&path));
    let start = maps[0].get(0).unwrap_or(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in start + 1.. {
                let mut batch = pool.batch();
                for key in 0..KEYS {
                    maps[0].set_in(&mut batch, key, Some(round)).unwrap();
                    maps[1].set_in(&mut batch, key, Some(round)).unwrap();
                    // Keys that come and go, so that the trees change their shape.
                    let far = 2_000 + (round % 50) * 20 + key;
                    let value = (round / 50 % 2 == 0).then_some(round);
                    maps[(key % 2) as usize].set_in(&mut batch, far, value).unwrap();
                }
                batch.commit().unwrap();
                say(&format!("batch {round}"));
            }
        });
        scope.spawn(|| {
            let first = maps[0].get(SINGLES).unwrap_or(0);
            for n in first + 1.. {
                maps[0].put(SINGLES, n);
                maps[1].put(SINGLES + 1, n);
                say(&format!("single {n}"));
            }
        });
        for reader in [0, 1] {
            let maps = &maps;
            scope.spawn(move || {
                let mut last = 0;
                loop {
                    let a = maps[reader].get(5).unwrap_or(0);
                    let b = maps[1 - reader].get(6).unwrap_or(0);
                    assert!(b >= a && a >= last, "half a batch, or back: {last} {a} {b}");
                    if b > last {
                        say(&format!("told {b}"));
                    }
                    last = b;
                }
            });
        }
    });
}

/// What the maps must have; returns the last batch.
fn expect(maps: &[Numbers; 2], acknowledged: u64, single: u64) -> u64 {
    let found = maps[0].get(0).unwrap_or(0);
    for map in maps {
        for key in 0..KEYS {
            assert_eq!(map.get(key).unwrap_or(0), found, "a torn batch");
        }
    }
    assert!(
        found >= acknowledged,
        "batch {acknowledged} was acknowledged or told, {found} is there"
    );
    let singles = [maps[0].get(SINGLES), maps[1].get(SINGLES + 1)].map(|n| n.unwrap_or(0));
    assert!(singles.iter().all(|&n| n >= single && n <= singles[0]), "{single}: {singles:?}");
    // What comes and goes.
    for key in 0..KEYS {
        for slot in 0..50 {
            // The last round that set it, or removed it.
            let newest = found.checked_sub((found + 50 - slot) % 50).filter(|&newest| newest > 0);
            let value = newest.filter(|newest| newest / 50 % 2 == 0);
            assert_eq!(
                maps[(key % 2) as usize].get(2_000 + slot * 20 + key),
                value,
                "{found} {slot}"
            );
        }
    }
    found
}

#[test]
fn whole_batches_survive_kills() {
    let rounds: u64 = std::env::var("ENDURA_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().join("pool");
    let (mut random, mut replayed, mut batches) = (Random(7), 0, 0);
    for round in 0..rounds {
        let pair = round * 5 % 49;
        std::fs::write(path.with_extension("pair"), pair.to_string()).unwrap();
        let mut child = Process::start(role("role_commit_until_killed", &path));
        let (mut acknowledged, mut single) = (0, 0);
        let mut note = |line: &str| {
            let (what, n) = line.split_once(' ').unwrap_or_default();
            let n: u64 = n.parse().unwrap_or(0);
            match what {
                "batch" | "told" => acknowledged = acknowledged.max(n),
                "single" => single = single.max(n),
                _ => panic!("{line}"),
            }
        };
        let lines = 20 + random.below(400);
        for _ in 0..lines {
            note(&child.hear());
        }
        thread::sleep(Duration::from_micros(random.below(2_000)));
        child.end();
        while let Some(line) = child.hear_more() {
            note(&line);
        }
        let told = std::sync::Arc::new(std::sync::Mutex::new(0));
        let counter = std::sync::Arc::clone(&told);
        let pool = Pool::options()
            .checkpoints(Checkpoints::off())
            .on_event(move |event| {
                if let endura::Event::BatchReplayed { operations, .. } = event {
                    assert!(*operations == 3 * KEYS as usize, "{event:?}");
                    *counter.lock().unwrap() += 1;
                }
            })
            .open(&path)
            .unwrap();
        let found = expect(&maps(&pool, pair), acknowledged, single);
        pool.verify().unwrap();
        pool.close().unwrap();
        replayed += *told.lock().unwrap();
        batches += found;
    }
    println!("{rounds} kills, {batches} batches, {replayed} replayed");
}
