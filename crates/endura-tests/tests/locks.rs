//! One writer or many readers, in one process, in several, and across a fork.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "support/killed_file.rs"]
mod killed_file;
#[path = "faults/process.rs"]
mod process;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use endura::{Error, Pool};
use killed_file::leave_as_killed;
use process::*;

#[test]
fn role_try_to_open() {
    let Some(path) = role_path() else { return };
    let [writing, reading] = [false, true]
        .map(|read_only| outcome(&Pool::options().read_only(read_only).open_existing(&path)));
    say(&format!("{writing}, {reading}"));
}

/// How another process fares that opens the pool for writing, and then for reading.
fn elsewhere(path: &Path) -> String {
    let mut process = Process::start(role("role_try_to_open", path));
    let said = process.hear();
    process.finish();
    said
}

#[test]
fn one_writer_or_many_readers() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let [writing, reading] = [false, true].map(|only| Pool::options().read_only(only));
        assert_eq!(elsewhere(&path), "opened, opened");

        let pool = writing.open_existing(&path).unwrap();
        assert!(matches!(unchanged(&path, || writing.open_existing(&path)), Err(Error::Locked)));
        assert!(matches!(unchanged(&path, || reading.open_existing(&path)), Err(Error::Locked)));
        assert_eq!(unchanged(&path, || elsewhere(&path)), "locked, locked");
        // Closing unlocks although handles remain.
        let handle = pool.clone();
        pool.close().unwrap();
        assert!(matches!(handle.stats(), Err(Error::Closed { .. })));

        let first = reading.open_existing(&path).unwrap();
        let second = reading.open_existing(&path).unwrap();
        assert!(matches!(unchanged(&path, || writing.open_existing(&path)), Err(Error::Locked)));
        assert_eq!(unchanged(&path, || elsewhere(&path)), "locked, opened");
        drop(first);
        assert_eq!(elsewhere(&path), "locked, opened");
        drop(second);
        assert_eq!(elsewhere(&path), "opened, opened");
    }
}

/// In the child (0): runs `work` and exits with what it says. In the parent: what the child said.
fn told_by(child: i32, work: impl FnOnce() -> bool) -> bool {
    if child == 0 {
        let fine = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(false);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(!fine)) };
    }
    let mut status = -1;
    // SAFETY: waits for the child just made.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

/// Runs `work` in a forked child and says whether it found what it should.
fn in_child(work: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs on with the one thread that it has, and leaves without unwinding into
    // what belongs to its parent.
    let child = unsafe { libc::fork() };
    told_by(child, work)
}

/// The threads of a pool are not in the child. Dropped there, its handle must not meet threads of the
/// child's own.
#[test]
fn a_child_drops_a_pool_that_has_threads() {
    for threads in [0, 1] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        let pool = Pool::options().open(&path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        (0..20_000).for_each(|key| assert!(map.insert(key, key).is_ok()));
        leave_as_killed(&path, || drop((map, pool)));
        let pool = Pool::options().recovery_threads(threads).open_existing(&path).unwrap();
        assert!(pool.recover_leaks().unwrap());
        let joins_its_own = in_child(move || {
            let own =
                std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_millis(300)));
            drop(pool);
            own.join().is_ok()
        });
        assert!(joins_its_own, "{threads} threads");
    }
}

#[test]
fn a_child_keeps_its_hands_off() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let other = folder.path().join("other");
        let pool = Pool::options().open_existing(&path).unwrap();
        let map = pool.map::<u64, u64>("map").unwrap();
        map.insert(1, 2).unwrap();
        let reader = {
            Pool::options().create_new(&other).unwrap().close().unwrap();
            Pool::options().read_only(true).open_existing(&other).unwrap()
        };

        let refused = || {
            let mut range = map.range(..);
            matches!(pool.stats(), Err(Error::Forked))
                && matches!(map.get(1), Err(Error::Forked))
                && matches!(map.insert(1, 3), Err(Error::Forked))
                && matches!(range.next(), Some(Err(Error::Forked)))
                && matches!(pool.maps(), Err(Error::Forked))
                && matches!(pool.verify(), Err(Error::Forked))
                && matches!(pool.map::<u64, u64>("map"), Err(Error::Forked))
                && matches!(pool.map::<u64, u64>("more"), Err(Error::Forked))
                && matches!(pool.drop_map("map"), Err(Error::Forked))
                && matches!(pool.rename("map", "other"), Err(Error::Forked))
                && matches!(pool.close(), Err(Error::Forked))
                && matches!(reader.stats(), Err(Error::Forked))
                && matches!(Pool::options().open_existing(&path), Err(Error::Locked))
        };
        assert!(in_child(refused));
        assert!(in_child(|| in_child(refused)), "a grandchild is a child");

        // Dropping the last handle in a child closes nothing.
        unchanged(&path, || {
            assert!(in_child(|| {
                for handle in [&map as &dyn Handle, &pool, &reader] {
                    handle.drop_for_good();
                }
                true
            }));
        });
        assert!(!superblock(&path).clean);
        assert_eq!(elsewhere(&path), "locked, locked");
        assert_eq!(map.get(1).unwrap(), Some(2));

        // A child may have pools of its own, also in the places that its parent's locks had.
        let own = folder.path().join("own");
        assert!(in_child(|| {
            let made = Pool::options().create_new(&own).unwrap();
            let again = matches!(Pool::options().open_existing(&own), Err(Error::Locked));
            let fine = again && made.stats().is_ok() && matches!(pool.stats(), Err(Error::Forked));
            made.close().unwrap();
            fine && Pool::options().open_existing(&own).is_ok()
        }));
        pool.close().unwrap();
        assert_eq!(elsewhere(&path), "opened, opened");
    }
}

/// Runs `work` in the child of a raw `clone`, where no fork handler ran.
fn in_raw_child(work: impl FnOnce() -> bool) -> bool {
    // SAFETY: as in `in_child`; the child has memory and descriptors of its own, as that of a fork.
    let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } as i32;
    told_by(child, work)
}

/// A lock belongs to what parent and child share: who is not the parent must not unlock.
#[test]
fn the_child_of_a_raw_clone_leaves_the_lock_alone() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let own = folder.path().join("own");
        for read_only in [false, true] {
            let pool = Pool::options().read_only(read_only).open_existing(&path).unwrap();
            assert!(in_raw_child(|| {
                let is_refused = matches!(pool.stats(), Err(Error::Forked));
                pool.drop_for_good();
                // What the child opens is its own, also in the place that its parent's lock had.
                let made = Pool::options().open(&own).unwrap();
                let again = Pool::options().open_existing(&own);
                is_refused && matches!(again, Err(Error::Locked)) && made.close().is_ok()
            }));
            let beside = if read_only { "locked, opened" } else { "locked, locked" };
            assert_eq!(elsewhere(&path), beside);
            assert!(pool.stats().is_ok());
            pool.close().unwrap();
            assert_eq!(elsewhere(&path), "opened, opened");
        }
    }
}

/// Whoever is refused himself excludes nobody.
#[test]
fn a_writer_that_tries_keeps_no_reader_out() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let reader = Pool::options().read_only(true).open_existing(&path).unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    assert!(matches!(Pool::options().open_existing(&path), Err(Error::Locked)));
                }
            });
            let opens = (0..1_000).map(|_| Pool::options().read_only(true).open_existing(&path));
            let refused = opens.filter(|opened| opened.is_err()).count();
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(refused, 0, "of 1,000");
        });
        drop(reader);
    }
}

/// A handle that can be dropped although it is borrowed, by a process that then ends.
trait Handle {
    fn drop_for_good(&self);
}

impl<T> Handle for T {
    fn drop_for_good(&self) {
        // SAFETY: the child of a fork calls this once for each handle and leaves by `_exit`, so
        // that none is used or dropped again in its copy of the memory.
        drop(unsafe { std::ptr::read(self) });
    }
}

#[test]
fn role_fork_and_stay() {
    let Some(path) = role_path() else { return };
    let pool = Pool::options().open_existing(path).unwrap();
    let (mut here, mut there) = UnixStream::pair().unwrap();
    // SAFETY: the child only tells that it lives, and waits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        there.write_all(b"!").unwrap();
        wait_to_be_killed();
    }
    here.read_exact(&mut [0]).unwrap();
    assert!(pool.stats().is_ok());
    say(&child.to_string());
    wait_to_be_killed();
}

#[test]
fn a_child_that_outlives_its_parent_does_not_keep_the_pool() {
    for folder in folders() {
        let path = closed_pool(&folder);
        let mut parent = Process::start(role("role_fork_and_stay", &path));
        let orphan: i32 = parent.hear().parse().unwrap();
        let before = elsewhere(&path);
        parent.kill();
        // SAFETY: signal 0 only asks whether the process is there.
        let lives_on = unsafe { libc::kill(orphan, 0) } == 0;
        let opened = Pool::options().open_existing(&path);
        let found = outcome(&opened);
        // SAFETY: ends the process that this test started.
        unsafe { libc::kill(orphan, libc::SIGKILL) };
        assert!(lives_on);
        assert_eq!((before.as_str(), found), ("locked, locked", "opened"));
        let stats = opened.unwrap().stats().unwrap();
        assert_eq!((stats.generation, stats.clean_open), (3, false));
    }
}

/// While other threads open and close pools, forks must not leave a lock behind in a child.
#[test]
fn forks_in_the_middle_of_opens() {
    let folder = &folders()[0];
    let path = closed_pool(folder);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let opener = scope.spawn(|| {
            let mut opens = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                match Pool::options().read_only(true).open_existing(&path) {
                    Ok(pool) => drop(pool.close().unwrap()),
                    Err(error) => panic!("after {opens} opens: {error}"),
                }
                let writer = Pool::options().open_existing(&path);
                assert!(writer.is_ok(), "after {opens} opens: {writer:?}");
                opens += 1;
            }
            opens
        });
        let mut children = Vec::new();
        for _ in 0..40 {
            // SAFETY: the child touches nothing and waits to be killed.
            let child = unsafe { libc::fork() };
            if child == 0 {
                loop {
                    // SAFETY: waits for a signal.
                    unsafe { libc::pause() };
                }
            }
            children.push(child);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let opens = opener.join();
        for child in children {
            // SAFETY: ends and collects the children made above.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, std::ptr::null_mut(), 0);
            }
        }
        assert!(opens.unwrap() > 0);
    });
}
