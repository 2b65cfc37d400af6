//! Children of forks at every point: every operation is `Forked` at once, whatever the parent was doing, and
//! nothing that had begun is finished by the child. The table is in `docs/testing.md`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use endura::{Checkpoints, MapOptions, Pool};
use endura_engine::{Error, Kind};

use crate::nesting::closures::*;
use crate::support::patience::ends;

/// How often a fork meets what other threads do.
const TIMES: usize = 8;
/// Seconds after which a child that hangs is killed.
const LIMIT: u32 = 20;

/// Exit codes of children beside the number of the operation that was not refused.
const UNREFUSED: i32 = 1;
const NOT_ITS_OWN: i32 = 250;
const FINISHED: i32 = 251;
const PANICKED: i32 = 252;

/// Runs `work` in a child, which ends with its result as the exit code; gives what to wait for.
fn fork(work: impl FnOnce() -> i32) -> Option<i32> {
    // SAFETY: the child goes on with the one thread that it has.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: sets a timer; its signal ends the child.
            unsafe { libc::alarm(LIMIT) };
            end(work)
        }
        child => Some(child),
    }
}

fn end(work: impl FnOnce() -> i32) -> ! {
    let code = catch_unwind(AssertUnwindSafe(work)).unwrap_or(PANICKED);
    // SAFETY: ends the child at once, without unwinding into what belongs to its parent.
    unsafe { libc::_exit(code) }
}

fn wait(child: i32, point: &str) {
    let mut status = -1;
    // SAFETY: waits for a child of this process.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(!libc::WIFSIGNALED(status), "{point}: a child hangs ({status:#x})");
    let code = libc::WEXITSTATUS(status);
    let operations = operations();
    let what = match code {
        0 => return,
        NOT_ITS_OWN => "it could not use a pool of its own".to_owned(),
        FINISHED => "it finished the operation of its parent".to_owned(),
        PANICKED => "it panicked".to_owned(),
        code => match operations.get((code - UNREFUSED) as usize) {
            Some((map, what, _)) => format!("it was not refused: {map}.{what}"),
            None => "it was not refused: close".to_owned(),
        },
    };
    panic!("a child of a fork {point}: {what}");
}

/// Tries everything in a child: 0, or what was not refused.
fn try_all(world: &World, operations: &[Operation]) -> i32 {
    for (i, (.., operation)) in operations.iter().enumerate() {
        if !matches!(operation(world), Err(Error::Forked)) {
            return i as i32 + UNREFUSED;
        }
    }
    let is_refused = matches!(world.pool.close(), Err(Error::Forked));
    if is_refused { 0 } else { operations.len() as i32 + UNREFUSED }
}

/// A child can still have pools of its own. This one starts no thread: Rust's standard library takes a lock when a thread
/// begins, and if a thread of the parent held it at the fork (another test of this process began then), no thread of the
/// child ever gets it.
fn has_its_own() -> bool {
    let Ok(folder) = tempfile::tempdir() else { return false };
    let options = Pool::options().max_size(64 << 20).checkpoints(Checkpoints::off());
    let Ok(pool) = options.create_new(folder.path().join("own")) else { return false };
    let map = pool.map::<u64, u64>("map");
    map.is_ok_and(|map| map.insert(1, 2).is_ok()) && pool.close().is_ok()
}

fn in_child(world: &World, operations: &[Operation]) -> i32 {
    match try_all(world, operations) {
        0 if !has_its_own() => NOT_ITS_OWN,
        code => code,
    }
}

/// Forks while another thread does `work` over and over.
fn fork_beside(world: &World, point: &str, work: impl Fn(&World) + Sync) {
    let (operations, over) = (operations(), AtomicBool::new(false));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                work(world);
            }
        });
        for _ in 0..TIMES {
            std::thread::sleep(Duration::from_millis(3));
            // From a thread that no pool has seen: what it takes for its first pin may be locked.
            let forking = threads.spawn(|| fork(|| in_child(world, &operations)));
            wait(forking.join().unwrap().unwrap_or(0), point);
        }
        over.store(true, Ordering::Relaxed);
    });
}

/// When a fork happens, and what makes it then.
type Beside = (&'static str, fn(&World));

#[test]
fn a_fork_beside_other_threads() {
    let works: [Beside; 6] = [
        ("while nothing happens", |_| std::thread::sleep(Duration::from_millis(1))),
        ("during a verification", |world| drop(world.pool.verify().unwrap())),
        ("during stats", |world| drop(world.pool.stats().unwrap())),
        ("during writes", |world| (0..300).for_each(|key| world.write(key, 7))),
        ("while maps are made, renamed and dropped", |world| {
            world.pool.map_with::<u64, u64>("short", MapOptions::new().kind(Kind::NbTree)).unwrap();
            world.pool.rename("short", "long").unwrap();
            world.pool.drop_map("long").unwrap();
        }),
        ("while threads come and go", |world| {
            let one = || {
                std::thread::spawn({
                    let map = world.fast_fair.clone();
                    move || map.get(1).map(drop)
                })
            };
            let all: Vec<_> = (0..4).map(|_| one()).collect();
            all.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
        }),
    ];
    ends("a fork beside other threads", move || {
        let folder = tempfile::tempdir().unwrap();
        let world = World::new(folder.path(), "pool");
        for (point, work) in works {
            fork_beside(&world, point, work);
        }
        world.pool.verify().unwrap();
    });
}

/// The first use of a part of an NBTree's keys takes a lock, and milliseconds, before it enters the pool.
#[test]
fn a_fork_beside_the_first_use_of_an_nbtree() {
    const KEYS: u64 = 200_000;
    ends("a fork beside the first use of an NBTree", || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        let pool = Pool::options().create_new(&path).unwrap();
        let map = pool.map_with::<u64, u64>("map", MapOptions::new().kind(Kind::NbTree)).unwrap();
        (0..KEYS).for_each(|key| _ = map.insert(key, key).unwrap());
        drop((map, pool));
        for round in 0..TIMES as u64 {
            let pool = Pool::options().open_existing(&path).unwrap();
            let map =
                pool.map_with::<u64, u64>("map", MapOptions::new().kind(Kind::NbTree)).unwrap();
            std::thread::scope(|threads| {
                threads.spawn(|| map.get(1).unwrap());
                std::thread::sleep(Duration::from_micros(100 * round));
                let child = fork(|| {
                    let operations = [
                        map.insert(2, 2).map(drop),
                        map.first_key_value().map(drop),
                        map.range(3..).next().transpose().map(drop),
                    ];
                    let is_refused = |result: &_| matches!(result, Err(Error::Forked));
                    i32::from(!operations.iter().all(is_refused)) * UNREFUSED
                });
                wait(child.unwrap_or(0), "beside the first use of an NBTree");
            });
        }
    });
}

/// Ranges that have noted what comes next, and read it without a pin.
#[test]
fn a_fork_between_two_steps_of_a_range() {
    ends("a fork between two steps of a range", || {
        let folder = tempfile::tempdir().unwrap();
        let world = World::new(folder.path(), "pool");
        for up in [true, false] {
            let mut numbers = [world.fast_fair.iter(), world.nbtree.iter()];
            let mut strings = world.roart.iter();
            let mut steps = || {
                let [one, other] = &mut numbers;
                [
                    if up { one.next() } else { one.next_back() }.unwrap().map(drop),
                    if up { other.next() } else { other.next_back() }.unwrap().map(drop),
                    if up { strings.next() } else { strings.next_back() }.unwrap().map(drop),
                ]
            };
            assert!((0..5).flat_map(|_| steps()).all(|step| step.is_ok()));
            let is_refused = |step: &Outcome| matches!(step, Err(Error::Forked));
            let child = fork(|| i32::from(!steps().iter().all(is_refused)) * UNREFUSED);
            wait(child.unwrap_or(0), "between two steps of a range");
        }
    });
}

/// The parent's close waits for a thread that stays inside an operation.
#[test]
fn a_fork_during_a_close() {
    ends("a fork during a close", || {
        let folder = tempfile::tempdir().unwrap();
        let (world, operations) = (World::new(folder.path(), "pool"), operations());
        let pool = world.pool.clone();
        let mut closing = None;
        world
            .roart
            .get_with(KEY, |_| {
                closing = Some(std::thread::spawn(move || pool.close()));
                std::thread::sleep(Duration::from_millis(100));
                std::thread::scope(|threads| {
                    let forking = threads.spawn(|| fork(|| in_child(&world, &operations)));
                    wait(forking.join().unwrap().unwrap_or(0), "during a close");
                });
            })
            .unwrap();
        closing.unwrap().join().unwrap().unwrap();
    });
}

/// What a child says that was forked inside a closure and came back from the operation around it.
#[test]
fn a_fork_inside_every_closure() {
    for (name, _, run) in CLOSURES {
        ends(name, move || {
            let folder = tempfile::tempdir().unwrap();
            let (world, operations) = (World::new(folder.path(), "pool"), operations());
            let (mut refused, mut has_forked) = (None, false);
            let whole = run(&world, &mut || {
                if std::mem::replace(&mut has_forked, true) {
                    return;
                }
                // SAFETY: the child goes on with the one thread that it has, and leaves below.
                match unsafe { libc::fork() } {
                    0 => {
                        // SAFETY: as above.
                        unsafe { libc::alarm(LIMIT) };
                        refused = Some(in_child(&world, &operations));
                    }
                    // While this thread is where it was: what it holds is its own.
                    child => wait(child, name),
                }
            });
            if let Some(code) = refused {
                let is_refused = matches!(whole, Err(Error::Forked));
                end(|| if code == 0 && !is_refused { FINISHED } else { code });
            }
            whole.unwrap();
            world.write(KEY, 2);
            world.pool.verify().unwrap();
            world.pool.close().unwrap();
        });
    }
}

/// A closure that panics in a child leaves the parent's locks, chunks and words alone.
#[test]
fn a_fork_inside_a_closure_that_panics() {
    for (name, _, run) in CLOSURES {
        ends(name, move || {
            let folder = tempfile::tempdir().unwrap();
            let world = World::new(folder.path(), "pool");
            let mut is_child = false;
            let whole = catch_unwind(AssertUnwindSafe(|| {
                let mut has_forked = false;
                run(&world, &mut || {
                    if std::mem::replace(&mut has_forked, true) {
                        return;
                    }
                    // SAFETY: as above.
                    match unsafe { libc::fork() } {
                        0 => {
                            is_child = true;
                            // Without a message.
                            std::panic::resume_unwind(Box::new(()));
                        }
                        child => wait(child, name),
                    }
                })
            }));
            if is_child {
                end(|| if whole.is_err() { 0 } else { FINISHED });
            }
            whole.unwrap().unwrap();
            world.pool.verify().unwrap();
            world.write(KEY, 2);
            world.pool.close().unwrap();
        });
    }
}

/// A read of one moment ends in a child at once, although another thread of the parent was entering the mode.
#[test]
fn a_fork_inside_a_read_of_one_moment() {
    ends("a read of one moment", || {
        let folder = tempfile::tempdir().unwrap();
        let world = World::new(folder.path(), "pool");
        let (inside, is_over) = (std::sync::Barrier::new(2), AtomicBool::new(false));
        let refused = std::thread::scope(|threads| {
            let reader = threads.spawn(|| {
                let mut has_forked = false;
                let mut is_child = false;
                let read = world.pool.read(|| {
                    if !std::mem::replace(&mut has_forked, true) {
                        inside.wait();
                        // The commit below waits, for a second, for a writer that stays.
                        std::thread::sleep(Duration::from_millis(200));
                        // SAFETY: as above.
                        match unsafe { libc::fork() } {
                            0 => {
                                // SAFETY: as above.
                                unsafe { libc::alarm(LIMIT) };
                                is_child = true;
                            }
                            child => wait(child, "in a read of one moment"),
                        }
                    }
                    Ok(())
                });
                if is_child {
                    end(|| if matches!(read, Err(Error::Forked)) { 0 } else { FINISHED });
                }
                is_over.store(true, Ordering::Relaxed);
                read
            });
            inside.wait();
            threads.spawn(|| {
                let stay = || {
                    let mut inner = |old: Option<&[u8]>| {
                        while !is_over.load(Ordering::Relaxed) {
                            std::thread::sleep(Duration::from_millis(1));
                        }
                        old.map(<[u8]>::to_vec)
                    };
                    world.roart.alter(KEY + 1, &mut inner).map(drop)
                };
                let mut outer = |old: Option<&[u8]>| {
                    stay().unwrap();
                    old.map(<[u8]>::to_vec)
                };
                world.roart.alter(KEY, &mut outer).map(drop).unwrap();
            });
            std::thread::sleep(Duration::from_millis(50));
            let mut batch = world.pool.batch();
            let refused = batch.put(&world.roart, KEY, b"batch").unwrap().commit();
            reader.join().unwrap().unwrap();
            refused
        });
        assert!(matches!(refused, Err(Error::WritersStay { .. })), "{refused:?}");
    });
}
