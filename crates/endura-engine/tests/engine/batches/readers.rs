//! Two readers in opposite order beside commits of two maps and single writes: no reader finds a half, and none goes back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::world::{KINDS, World, open};
use crate::support::words::Random;

/// The key that each commit gives its round, in both maps.
const ROUND: u64 = 5_000;
/// The other keys of a commit.
const KEYS: u64 = 200;
/// How long each pair of kinds runs.
const TIME: Duration = Duration::from_millis(250);

/// In the first map the round of the last commit is in the upper bits, a single writer's count in the lower ones.
const SHIFT: u32 = 24;

/// Commits rounds until `stop`.
fn commit_rounds(world: &World, committer: u64, rounds: &AtomicU64, stop: &AtomicBool) {
    let mut random = Random(committer + 1);
    while !stop.load(Ordering::Relaxed) {
        let round = rounds.fetch_add(1, Ordering::Relaxed) + 1;
        let (a, b) = match committer {
            // Only one of the committers changes the key that the readers look at.
            0 => (Some(round << SHIFT), Some(round)),
            _ => (None, None),
        };
        let mut steps = match committer {
            0 => vec![(0, ROUND, a), (1, ROUND, b)],
            _ => Vec::new(),
        };
        for _ in 0..10 {
            let key = random.below(KEYS);
            let value = (random.below(4) > 0).then_some(round);
            steps.extend([(0, key, value), (1, key, value)]);
        }
        world.commit(&steps).unwrap();
    }
}

/// Gives the key in the first map a number that has the round of the second map, again and again.
fn write_singles(world: &World, stop: &AtomicBool) {
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        count = (count + 1) % (1 << SHIFT);
        let round = world.maps[1].get(ROUND).unwrap_or(0);
        let make = |old: Option<u64>| old.unwrap_or(0).max(round << SHIFT | count);
        world.maps[0].update(ROUND, make);
    }
}

/// Reads the key in both maps, the second one first if `second_first`, until `stop`; returns how often.
fn read_both(world: &World, second_first: bool, stop: &AtomicBool) -> u64 {
    let (mut reads, mut last) = (0, [0, 0]);
    while !stop.load(Ordering::Relaxed) {
        let get = |map: usize| world.maps[map].get(ROUND).unwrap_or(0);
        let [a, b] = match second_first {
            true => {
                let b = get(1);
                [get(0), b]
            }
            false => {
                let a = get(0);
                [a, get(1)]
            }
        };
        assert!(a >= last[0] && b >= last[1], "went back from {last:?} to {:?}", [a, b]);
        match second_first {
            true => assert!(a >> SHIFT >= b, "half of round {b}: {}", a >> SHIFT),
            false => assert!(b >= a >> SHIFT, "half of round {}: {b}", a >> SHIFT),
        }
        (last, reads) = ([a, b], reads + 1);
    }
    reads
}

/// Asks for many keys, of which those of the commits are in both maps or in none when all is quiet.
fn read_many(world: &World, stop: &AtomicBool) {
    let keys: Vec<u64> = (0..KEYS).collect();
    while !stop.load(Ordering::Relaxed) {
        world.maps.iter().for_each(|map| assert_eq!(map.get_many(&keys).len(), keys.len()));
    }
}

fn run(world: &World, committers: u64) -> (u64, u64) {
    let (rounds, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let reads = thread::scope(|scope| {
        for committer in 0..committers {
            let (rounds, stop) = (&rounds, &stop);
            scope.spawn(move || commit_rounds(world, committer, rounds, stop));
        }
        scope.spawn(|| write_singles(world, &stop));
        scope.spawn(|| read_many(world, &stop));
        let readers = [true, false].map(|first| {
            let stop = &stop;
            scope.spawn(move || read_both(world, first, stop))
        });
        let begun = Instant::now();
        while begun.elapsed() < TIME && !readers.iter().any(|reader| reader.is_finished()) {
            thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        readers.map(|reader| reader.join().unwrap()).iter().sum::<u64>()
    });
    (rounds.into_inner(), reads)
}

#[test]
fn no_reader_finds_a_half_and_none_goes_back() {
    let folder = tempfile::tempdir().unwrap();
    let (mut all_rounds, mut all_reads) = (0, 0);
    for first in 0..KINDS.len() {
        for second in [first, (first + 1) % KINDS.len(), (first + 3) % KINDS.len()] {
            let world =
                open(&folder.path().join(format!("{first}{second}")), &[first, second]).unwrap();
            let (rounds, reads) = run(&world, 1 + (second as u64) % 3);
            for key in 0..KEYS {
                let both = [0, 1].map(|map: usize| world.maps[map].get(key));
                assert_eq!(both[0], both[1], "half a commit in key {key}");
            }
            let World { maps, pool } = world;
            pool.verify().unwrap();
            drop(maps);
            pool.close().unwrap();
            (all_rounds, all_reads) = (all_rounds + rounds, all_reads + reads);
        }
    }
    println!("{all_rounds} commits, {all_reads} double reads");
}

/// Each commit moves the only two entries of a map, which stay neighbours: a look at an end sees them before or after that.
#[test]
fn an_end_is_seen_before_a_commit_or_after_it() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, form) in KINDS.iter().enumerate() {
        let world = open(&folder.path().join(kind.to_string()), &[kind]).unwrap();
        let place = |at: u64, value| [(0, 2 * at, value), (0, 2 * at + 1, value)];
        world.commit(&place(0, Some(0))).unwrap();
        let stop = AtomicBool::new(false);
        let looks = thread::scope(|scope| {
            scope.spawn(|| {
                let (mut random, mut at) = (Random(kind as u64 + 1), 0);
                while !stop.load(Ordering::Relaxed) {
                    let next = (at + 1 + random.below(20)) % 21;
                    world.commit(&[place(at, None), place(next, Some(next))].concat()).unwrap();
                    at = next;
                }
            });
            let lookers = [true, false].map(|smallest| {
                let (world, stop) = (&world, &stop);
                scope.spawn(move || {
                    let mut looks = 0_u64;
                    while !stop.load(Ordering::Relaxed) {
                        let end = world.maps[0].end(smallest).unwrap();
                        assert_eq!(end % 2 == 0, smallest, "half a commit");
                        looks += 1;
                    }
                    looks
                })
            });
            let begun = Instant::now();
            while begun.elapsed() < TIME && !lookers.iter().any(|looker| looker.is_finished()) {
                thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
            lookers.map(|looker| looker.join().unwrap()).iter().sum::<u64>()
        });
        assert!(looks > 0, "{form:?}");
    }
}

/// Pops beside commits that put the same two keys into a map, or take both out: both pops find entries, in any order, and
/// nothing hangs.
#[test]
fn pops_and_commits_of_one_map_come_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, form) in KINDS.iter().enumerate() {
        let world = open(&folder.path().join(kind.to_string()), &[kind, kind]).unwrap();
        let stop = AtomicBool::new(false);
        let popped = thread::scope(|scope| {
            scope.spawn(|| {
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    let keys = [3, 5, 7].map(|key| (0, key, Some(round)));
                    world.commit(&[&keys[..], &[(1, 3, Some(round))]].concat()).unwrap();
                }
            });
            let poppers = [(); 2].map(|()| {
                scope.spawn(|| {
                    let mut popped = 0;
                    while !stop.load(Ordering::Relaxed) {
                        if let Some((key, _)) = world.maps[0].pop_first() {
                            assert!([3, 5, 7].contains(&key));
                            popped += 1;
                        }
                    }
                    popped
                })
            });
            thread::sleep(TIME);
            stop.store(true, Ordering::Relaxed);
            poppers.map(|popper| popper.join().unwrap()).iter().sum::<u64>()
        });
        assert!(popped > 0, "{form:?}");
    }
}
