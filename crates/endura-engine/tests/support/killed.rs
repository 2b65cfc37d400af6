//! A process that writes from sixteen threads is killed with SIGKILL, again and again.
//!
//! Each thread says on a pipe which operation has returned. After the reopen every one of these
//! must be there, and at most one more per thread: the one that was in flight.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use endura::{Map, Pool, PoolOptions};

use super::children::{THREADS, orders, run_and_kill, write_for_ever};
use super::ops::scatter;

/// Where the map of such a test is, and how it is opened.
pub(crate) struct Killed<F> {
    /// The full name of the test, for its child to run.
    pub(crate) test: &'static str,
    pub(crate) rounds: u64,
    pub(crate) open: F,
}

fn options() -> PoolOptions {
    Pool::options().max_size(1 << 30)
}

/// Operation number `n` of a thread: its key (threads never share one), and what becomes of it.
fn operation(thread: u64, n: u64) -> (u64, Option<u64>) {
    let key = scatter(n / 3 % 5_000) << 4 | thread;
    (key, (n % 3 != 2).then_some(n))
}

/// What thread `thread` left behind after operations `0..next`.
fn left_by(thread: u64, next: u64) -> BTreeMap<u64, u64> {
    let mut entries = BTreeMap::new();
    for (key, value) in (0..next).map(|n| operation(thread, n)) {
        match value {
            Some(value) => entries.insert(key, value),
            None => entries.remove(&key),
        };
    }
    entries
}

impl<F: Fn(&Pool) -> Map<u64, u64>> Killed<F> {
    /// Runs the rounds on a pool of this name, or does what the child does.
    pub(crate) fn run(&self, name: &str) {
        if let Some((path, starts)) = orders() {
            if path.ends_with(name) {
                let pool = options().open_existing(&path).unwrap();
                let map = (self.open)(&pool);
                write_for_ever(&starts, |thread, n| {
                    match operation(thread, n) {
                        (key, Some(value)) => map.insert(key, value),
                        (key, None) => map.remove(key),
                    }
                    .unwrap();
                });
            }
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let pool = options().create_new(&path).unwrap();
        (self.open)(&pool);
        pool.close().unwrap();
        let mut next = vec![0; THREADS as usize];
        for round in 0..self.rounds {
            let (mut operations, limit) = (0, 2_000 + scatter(round) % 20_000);
            next = run_and_kill(self.test, &path, &next, || {
                operations += 1;
                if operations == limit {
                    thread::sleep(Duration::from_micros(scatter(round) % 500));
                }
                operations == limit
            });
            let pool = options().open_existing(&path).unwrap();
            pool.verify().unwrap();
            self.check(&(self.open)(&pool), &mut next);
        }
    }

    /// What was acknowledged is there, and at most one operation more of each thread, which is counted.
    fn check(&self, map: &Map<u64, u64>, next: &mut [u64]) {
        let mut found: Vec<BTreeMap<u64, u64>> = vec![BTreeMap::new(); THREADS as usize];
        for entry in map.range(..) {
            let (key, value) = entry.unwrap();
            found[(key % THREADS) as usize].insert(key, value);
        }
        for (thread, found) in (0..).zip(found) {
            let acknowledged = next[thread as usize];
            if found == left_by(thread, acknowledged + 1) && found != left_by(thread, acknowledged)
            {
                next[thread as usize] += 1; // the operation in flight had happened
            } else {
                assert_eq!(found, left_by(thread, acknowledged), "thread {thread}");
            }
        }
    }
}
