//! A commit whose thread is stopped for seconds while it applies its changes (B9), between two of them.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

use super::*;

/// How long the commit stands.
const STANDS: Duration = Duration::from_secs(2);
/// More than any operation takes that does not wait for it, on a machine that others use as well.
const SOON: Duration = Duration::from_millis(900);

/// The maps that the commit changes; it does not change the others.
const CHANGED: [usize; 4] = [0, 3, 4, 6];
const OTHERS: [usize; 3] = [1, 2, 5];

/// How often something was done, and the longest time that it took.
#[derive(Default)]
struct Times {
    count: AtomicU64,
    longest: AtomicU64,
}

impl Times {
    fn of<R>(&self, run: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let result = run();
        self.longest.fetch_max(begun.elapsed().as_millis() as u64, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        result
    }

    fn expect(&self, what: &str) {
        let [count, longest] = [&self.count, &self.longest].map(|n| n.load(Ordering::Relaxed));
        println!("{what}: {count} times, {longest} ms at most");
        assert!(count > 20, "{what}: {count} times");
        assert!(longest < SOON.as_millis() as u64, "{what}: {longest} ms");
    }
}

fn steps() -> Vec<Step> {
    changes().into_iter().filter(|(map, ..)| CHANGED.contains(map)).collect()
}

/// Runs `beside` while a commit stands in the middle of its changes; `beside` lets it go on by the flag.
fn beside_a_commit_that_stands(world: &World, beside: impl FnOnce(&AtomicBool, &AtomicBool)) {
    let (stands, goes_on, is_made) =
        (Barrier::new(2), AtomicBool::new(false), AtomicBool::new(false));
    let apply = |changes: &OfMaps<'_, '_>, _: &mut dyn FnMut()| {
        // Of map 0, whose values are no records: these are applied twice.
        changes.apply_first(3, &mut || ())?;
        stands.wait();
        while !goes_on.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(1));
        }
        changes.apply(&mut || ())
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            world.with(&steps(), |operations| {
                let mut staged = Staged { apply: &apply, ..Staged::of(operations) };
                world.space.commit(&mut staged).unwrap();
            });
            is_made.store(true, Ordering::Release);
        });
        stands.wait();
        beside(&goes_on, &is_made);
        goes_on.store(true, Ordering::Release);
    });
}

/// Readers of any key go on, and so do writers and commits of other keys, and pops of other maps. What waits are writers and
/// commits of the keys, and pops of the maps.
#[test]
#[expect(clippy::too_many_lines, reason = "one thread for each thing that goes on")]
fn a_commit_that_stands_for_seconds_holds_up_writers_of_its_keys() {
    let world = World::new();
    world.commit(&before()).unwrap();
    let names = [
        "reads of its keys",
        "reads of others",
        "writes of other keys",
        "commits of other keys",
        "pops of other maps",
    ];
    let times: [Times; 5] = Default::default();
    let held = AtomicU64::new(0);
    let (world, times, held) = (&world, &times, &held);
    thread::scope(|outer| {
        let mut waiting = Vec::new();
        beside_a_commit_that_stands(world, |goes_on, _| {
            let until = Instant::now() + STANDS;
            for map in CHANGED {
                waiting.push(outer.spawn(move || {
                    world.put(map, 3, 33);
                    held.fetch_add(1, Ordering::Relaxed);
                }));
                waiting.push(outer.spawn(move || {
                    world.commit(&[(map, 3, Some(33))]).unwrap();
                    held.fetch_add(1, Ordering::Relaxed);
                }));
                waiting.push(outer.spawn(move || {
                    drop(world.open_map(map).begin_pop().unwrap());
                    held.fetch_add(1, Ordering::Relaxed);
                }));
            }
            thread::scope(|scope| {
                let go = move |what: usize, work: &dyn Fn(u64)| {
                    let mut n = 0;
                    while Instant::now() < until {
                        n += 1;
                        times[what].of(|| work(n));
                    }
                };
                scope.spawn(move || {
                    go(0, &|_| {
                        for map in CHANGED {
                            let found = [3, 4, 50].map(|key| world.answer(map, key));
                            assert_eq!(found, [Some(Some(7)), Some(None), Some(Some(8))]);
                        }
                    });
                });
                scope.spawn(move || {
                    go(1, &|_| {
                        for map in 0..KINDS.len() {
                            assert_eq!(world.answer(map, 5), None);
                            assert_eq!(world.get(map, 5), Some(1_005));
                        }
                    });
                });
                scope.spawn(move || {
                    go(2, &|n| {
                        for map in 0..KINDS.len() {
                            // New keys as well, whose leaves are divided.
                            world.put(map, 6, n);
                            world.put(map, 1_000 + n % 5_000, n);
                        }
                    });
                });
                scope.spawn(move || {
                    go(3, &|n| {
                        let of_map = |map| [(map, 7, Some(n)), (map, 8, None)];
                        let all: Vec<Step> = (0..KINDS.len()).flat_map(of_map).collect();
                        world.commit(&all).unwrap();
                    });
                });
                scope.spawn(move || {
                    go(4, &|_| {
                        for map in OTHERS {
                            drop(world.open_map(map).begin_pop().unwrap());
                        }
                    });
                });
            });
            assert_eq!(held.load(Ordering::Relaxed), 0, "of {}", waiting.len());
            assert_eq!(waiting.len(), 3 * CHANGED.len());
            goes_on.store(true, Ordering::Release);
            let released = Instant::now();
            waiting.drain(..).for_each(|thread| thread.join().unwrap());
            assert!(released.elapsed() < SOON, "{:?}", released.elapsed());
        });
    });
    times.iter().zip(names).for_each(|(times, name)| times.expect(name));
    for map in CHANGED {
        assert_eq!([3, 4, 50].map(|key| world.get(map, key)), [Some(33), None, Some(8)]);
    }
}

/// A hold, as a checkpoint makes it, does not wait for a commit that stands between two changes. The commit goes on behind
/// the hold. A verification waits for the commit, but not for ever.
#[test]
fn a_hold_does_not_wait_for_a_commit_that_stands() {
    let world = World::new();
    world.commit(&before()).unwrap();
    beside_a_commit_that_stands(&world, |goes_on, is_made| {
        for _ in 0..3 {
            let begun = Instant::now();
            let hold = world.space.hold(STANDS).unwrap();
            assert!(hold.is_some() && begun.elapsed() < SOON, "{:?}", begun.elapsed());
        }
        assert!(matches!(world.space.quiesce(), Err(Error::WritersStay { .. })));
        let hold = world.space.hold(STANDS).unwrap();
        assert!(hold.is_some());
        goes_on.store(true, Ordering::Release);
        thread::sleep(Duration::from_millis(100));
        assert!(!is_made.load(Ordering::Acquire), "a commit stores while writers are held");
        drop(hold);
        let released = Instant::now();
        while !is_made.load(Ordering::Acquire) {
            assert!(released.elapsed() < SOON);
            thread::sleep(Duration::from_millis(1));
        }
    });
    drop(world.space.quiesce().unwrap());
}

/// The first two commits of a pool, of which one has very large values.
#[test]
fn a_commit_that_writes_its_records_for_long_holds_up_no_other() {
    let world = World::new();
    let stands = Barrier::new(2);
    let writes = || {
        stands.wait();
        thread::sleep(STANDS);
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            world.with(&[(0, 1, Some(1))], |operations| {
                let mut large = Staged { writes: &writes, ..Staged::of(operations) };
                world.space.commit(&mut large).unwrap();
            });
        });
        stands.wait();
        let begun = Instant::now();
        world.commit(&[(0, 2, Some(2))]).unwrap();
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    });
    assert_eq!([1, 2].map(|key| world.get(0, key)), [Some(1), Some(2)]);
}
