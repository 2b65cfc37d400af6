//! Everything at once on few keys: commits of three maps from several threads, pops, single writes, reads of one moment, looks at
//! ends, and verifications, none of which fails or stays.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::world::{KINDS, World, open};
use crate::support::words::Random;

/// The keys of the commits.
const KEYS: u64 = 6;
/// How long the kinds run at least, until each thread has come on.
const TIME: Duration = Duration::from_millis(200);
/// A thread that has not come on for so long hangs.
const HANGS: Duration = Duration::from_secs(20);

/// The maps 0 and 1 have the same entries after each commit. From map 2 entries are popped.
fn commit(world: &World, random: &mut Random) {
    let mut steps = Vec::new();
    for _ in 0..=random.below(3) {
        let (key, number) = (random.below(KEYS), random.below(1_000));
        let value = (random.below(3) > 0).then_some(number);
        steps.extend([(0, key, value), (1, key, value)]);
        if random.below(2) == 0 {
            steps.push((2, random.below(KEYS), Some(number)));
        }
    }
    world.commit(&steps).unwrap();
}

fn look(world: &World) {
    let keys: Vec<u64> = (0..KEYS).collect();
    let mut seen = [Vec::new(), Vec::new()];
    let run = &mut || {
        seen = [0, 1].map(|map: usize| world.maps[map].get_many(&keys));
        Ok(())
    };
    world.pool.view(run).unwrap();
    assert_eq!(seen[0], seen[1], "half a commit");
}

fn act(world: &World, who: usize, random: &mut Random) {
    match who {
        0 | 1 => commit(world, random),
        2 => drop(world.maps[2].pop_first()),
        3 => {
            // Another key than those of the commits, in the maps of which two have to stay equal.
            world.maps[0].update(KEYS + 5, |old| old.unwrap_or(0) + 1);
            world.maps[2].update(random.below(KEYS), |_| 7);
        }
        4 => look(world),
        5 => drop(world.maps[2].end(random.below(2) == 0)),
        _ => {
            world.pool.verify().unwrap();
            thread::sleep(Duration::from_millis(3));
        }
    }
}

#[test]
fn everything_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for first in 0..KINDS.len() {
        let kinds = [first, (first + 3) % KINDS.len(), (first + 5) % KINDS.len()];
        let world = open(&folder.path().join(first.to_string()), &kinds).unwrap();
        let stop = AtomicBool::new(false);
        let times: [AtomicU64; 7] = Default::default();
        thread::scope(|scope| {
            let threads: Vec<_> = (0..times.len())
                .map(|who| {
                    let (world, stop, times) = (&world, &stop, &times);
                    scope.spawn(move || {
                        let mut random = Random((10 * first + who) as u64 + 1);
                        while !stop.load(Ordering::Relaxed) {
                            act(world, who, &mut random);
                            times[who].fetch_add(1, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            let begun = Instant::now();
            let has_failed = || threads.iter().any(|thread| thread.is_finished());
            let stays = || times.iter().any(|times| times.load(Ordering::Relaxed) == 0);
            while (begun.elapsed() < TIME || stays() && begun.elapsed() < HANGS) && !has_failed() {
                thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
            let ended = Instant::now();
            while threads.iter().any(|thread| !thread.is_finished()) {
                if ended.elapsed() > HANGS {
                    println!("{kinds:?}: a thread hangs, after {times:?}");
                    std::process::abort();
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
        let times = times.map(AtomicU64::into_inner);
        println!("{kinds:?}: {times:?}");
        assert!(times.iter().all(|&times| times > 0), "{times:?}");
    }
}
