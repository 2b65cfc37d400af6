//! Reads of one moment: gets, ranges, counts and ends of several maps see each batch whole or not at all.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use endura::{Error, Pool};

use crate::maps::{KINDS, Numbers, Random};

const KEYS: u64 = 40;

/// Reads all of both maps, again and again; returns how often.
fn view_until(pool: &Pool, maps: [&Numbers; 2], stop: &AtomicBool) -> u64 {
    let (mut views, mut last) = (0_u64, 0);
    while !stop.load(Ordering::Relaxed) {
        let look = || {
            let mut seen = maps[0].all();
            seen.extend(maps[1].all());
            let lens = maps.map(|map| map.map.len().unwrap() as u64);
            Ok((seen, lens, maps[0].get(3).or(maps[1].get(3))))
        };
        let (mut seen, lens, some) = pool.read(look).unwrap();
        seen.sort_unstable();
        let round = some.expect("an entry that is in neither map");
        let whole = (0..KEYS).map(|key| (key, round));
        assert!(seen.iter().copied().eq(whole), "half of a batch: {seen:?}, {some:?}");
        assert_eq!(lens[0] + lens[1], KEYS);
        assert!(round >= last, "went back");
        (views, last) = (views + 1, round);
    }
    views
}

/// Batches move entries between two maps, and give all of them one value.
#[test]
fn no_half_of_a_batch_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let mut views = 0_u64;
    for first in 0..KINDS.len() {
        let second = (first + 3) % KINDS.len();
        let pool = Pool::open(folder.path().join(first.to_string())).unwrap();
        let maps = [(0, first), (1, second)]
            .map(|(i, kind): (u32, usize)| Numbers::open(&pool, &i.to_string(), kind));
        (0..KEYS).for_each(|key| maps[0].put(key, 0));
        let stop = AtomicBool::new(false);
        views += thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Random(first as u64 + 1);
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    let mut batch = pool.batch();
                    for key in 0..KEYS {
                        let to = random.below(2) as usize;
                        maps[to].set_in(&mut batch, key, Some(round)).unwrap();
                        maps[1 - to].set_in(&mut batch, key, None).unwrap();
                    }
                    batch.commit().unwrap();
                    if random.below(4) == 0 {
                        thread::sleep(Duration::from_micros(random.below(300)));
                    }
                }
            });
            let readers = [0, 1].map(|reader: usize| {
                let (pool, maps, stop) = (&pool, &maps, &stop);
                scope.spawn(move || view_until(pool, [&maps[reader], &maps[1 - reader]], stop))
            });
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(600)
                && !readers.iter().any(|reader| reader.is_finished())
            {
                thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
            readers.map(|reader| reader.join().unwrap()).iter().sum::<u64>()
        });
    }
    println!("{views} views");
    assert!(views > 100, "{views}");
}

#[test]
fn a_view_commits_nothing_and_returns_errors() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool")).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    let inside = pool.read(|| pool.batch().put(&map, 1, 1)?.commit());
    assert!(matches!(inside, Err(Error::InsideOperation)));
    let inside = pool.read(|| pool.transact(|tx| tx.get(&map, 1)));
    assert!(matches!(inside, Err(Error::InsideOperation)));
    // Single writes are allowed.
    assert_eq!(pool.read(|| map.insert(1, 2)).unwrap(), None);
    // Another pool's batch too, and a view in a view.
    let other = Pool::open(folder.path().join("other")).unwrap();
    let of_other = other.map::<u64, u64>("map").unwrap();
    pool.read(|| other.batch().put(&of_other, 1, 1)?.commit()).unwrap();
    assert_eq!(pool.read(|| pool.read(|| map.get(1))).unwrap(), Some(2));
    let own = pool.clone();
    let panicking = move || own.read(|| -> endura::Result<()> { panic!("mine") });
    let panics = thread::spawn(panicking).join();
    assert!(panics.is_err());
    pool.batch().put(&map, 1, 3).unwrap().commit().unwrap();
    assert_eq!(map.get(1).unwrap(), Some(3));
}

/// A closure whose own thread keeps changing the maps by batches is impossible; one that another thread does so to ends.
#[test]
fn a_view_ends_beside_batches_without_a_pause() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool")).unwrap();
    let maps = [0, 1].map(|i: usize| Numbers::open(&pool, &i.to_string(), i));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    let mut batch = pool.batch();
                    maps.iter().for_each(|map| map.set_in(&mut batch, 1, Some(round)).unwrap());
                    batch.commit().unwrap();
                }
            });
        }
        for _ in 0..20 {
            let both = pool.read(|| {
                let first = maps[0].get(1);
                // Long enough for many batches.
                thread::sleep(Duration::from_millis(3));
                Ok([first, maps[1].get(1)])
            });
            let [a, b] = both.unwrap();
            assert_eq!(a, b);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// A closure that forks: the child ends, and the parent goes on.
#[test]
fn a_view_that_forks_holds_up_neither_process() {
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};

    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool")).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    map.put(1, 1).unwrap();
    let mut child = None;
    let seen = pool.read(|| {
        // SAFETY: the child calls nothing that waits for a thread of its parent, and ends by `_exit`.
        child = Some(unsafe { fork() }.unwrap());
        map.get(1)
    });
    match child.unwrap() {
        ForkResult::Child => {
            let is_refused = matches!(seen, Err(Error::Forked));
            // SAFETY: it ends the process without running what the parent's threads have registered.
            unsafe { libc::_exit(if is_refused { 0 } else { 1 }) }
        }
        ForkResult::Parent { child } => {
            assert_eq!(seen.unwrap(), Some(1));
            assert!(matches!(waitpid(child, None).unwrap(), WaitStatus::Exited(_, 0)));
            pool.batch().put(&map, 1, 2).unwrap().commit().unwrap();
        }
    }
}
