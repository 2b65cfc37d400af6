//! A process that writes from sixteen threads is killed with SIGKILL, again and again.
//!
//! Each thread says on a pipe which operation has returned. After the reopen every one of these
//! must be there, and at most one more per thread: the one that was in flight.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use endura::{Map, Pool, PoolOptions};

use super::ops::scatter;

const THREADS: u64 = 16;
/// Tells the copy of this test that it is the child, and which pool to write to.
const CHILD: &str = "ENDURA_TEST_KILLED_CHILD";

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

/// Writes for ever. Each thread goes on where the pipe of the last process ended.
fn child(path: &Path, starts: &[u64], open: impl Fn(&Pool) -> Map<u64, u64>) {
    println!(); // the test runner may have begun a line
    let pool = options().open_existing(path).unwrap();
    let map = open(&pool);
    thread::scope(|scope| {
        for (thread, &start) in (0..).zip(starts) {
            let map = map.clone();
            scope.spawn(move || {
                for n in start.. {
                    match operation(thread, n) {
                        (key, Some(value)) => map.insert(key, value),
                        (key, None) => map.remove(key),
                    }
                    .unwrap();
                    // One short write is not torn by the kill.
                    let line = format!("{thread} {n}\n");
                    std::io::stdout().write_all(line.as_bytes()).unwrap();
                    std::io::stdout().flush().unwrap();
                }
            });
        }
    });
}

fn spawn(test: &str, path: &Path, starts: &[u64]) -> Child {
    let starts: Vec<String> = starts.iter().map(u64::to_string).collect();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, format!("{}\n{}", path.display(), starts.join(" ")))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets the child run for a while and kills it; gives the next operation of each thread.
fn run_and_kill(test: &str, path: &Path, starts: &[u64], round: u64) -> Vec<u64> {
    let mut child = spawn(test, path, starts);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = starts.to_vec();
    let (mut operations, limit) = (0, 2_000 + scatter(round) % 20_000);
    let mut killed = false;
    for line in lines {
        let line = line.unwrap();
        let mut words = line.split(' ').map(str::parse::<u64>);
        if let (Some(Ok(thread)), Some(Ok(n)), None) = (words.next(), words.next(), words.next()) {
            assert_eq!(n, next[thread as usize], "operations are acknowledged in order");
            next[thread as usize] = n + 1;
            operations += 1;
        }
        if operations >= limit && !killed {
            thread::sleep(Duration::from_micros(scatter(round) % 500));
            child.kill().unwrap();
            killed = true;
        }
    }
    assert!(killed && !child.wait().unwrap().success(), "the child wrote until it was killed");
    next
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
        if let Ok(orders) = std::env::var(CHILD) {
            let (path, starts) = orders.split_once('\n').unwrap();
            if Path::new(path).ends_with(name) {
                let starts: Vec<u64> = starts.split(' ').map(|n| n.parse().unwrap()).collect();
                child(Path::new(path), &starts, &self.open);
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
            next = run_and_kill(self.test, &path, &next, round);
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
