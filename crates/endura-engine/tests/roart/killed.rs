//! R18: a process that writes from sixteen threads, most often the same few keys, is killed with SIGKILL
//! again and again. Each thread says on a pipe what has returned; all of that must be there, and at most
//! one operation more for each thread.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use endura::{Pool, PoolOptions};

const THREADS: u64 = 16;
/// Tells the copy of this test that it is the child, and which pool to write to.
const CHILD: &str = "ENDURA_TEST_KILLED_ROART";

fn options() -> PoolOptions {
    Pool::options().max_size(2 << 30)
}

fn scatter(n: u64) -> u64 {
    let n = (n ^ n >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    n ^ n >> 29
}

/// Operation number `n` of a thread: its key (no two threads share one, all lie beside each other), and
/// what becomes of it. Of a thousand keys of a thread the first is about as frequent as all from the
/// hundredth on.
fn operation(thread: u64, n: u64) -> (String, Option<Vec<u8>>) {
    let drawn = scatter(n << 8 | thread);
    let rank = (1_000_f64.powf((drawn % 10_007) as f64 / 10_007.0)) as u64;
    let key = format!("/shared/{}/{rank}/{thread}", rank % 7);
    let value = || n.to_le_bytes().repeat(1 + (drawn >> 20) as usize % 40);
    (key, (drawn >> 40 & 3 != 0).then(value))
}

/// Writes for ever. Each thread goes on where the pipe of the last process ended.
fn child(path: &Path, starts: &[u64]) {
    println!(); // the test runner may have begun a line
    let pool = options().open_existing(path).unwrap();
    let map = pool.map::<str, [u8]>("map").unwrap();
    thread::scope(|scope| {
        for (thread, &start) in (0..).zip(starts) {
            let map = map.clone();
            scope.spawn(move || {
                for n in start.. {
                    match operation(thread, n) {
                        (key, Some(value)) => map.insert(&key, &value),
                        (key, None) => map.remove(&key),
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

/// Lets a child run for a while and kills it; gives the next operation of each thread.
fn run_and_kill(test: &str, path: &Path, starts: &[u64], runs: Duration) -> Vec<u64> {
    let texts: Vec<String> = starts.iter().map(u64::to_string).collect();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--include-ignored", "--nocapture"])
        .env(CHILD, format!("{}\n{}", path.display(), texts.join(" ")))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (mut next, mut begun) = (starts.to_vec(), None);
    for line in lines {
        let line = line.unwrap();
        let mut words = line.split(' ').map(str::parse::<u64>);
        if let (Some(Ok(thread)), Some(Ok(n)), None) = (words.next(), words.next(), words.next()) {
            assert_eq!(n, next[thread as usize], "operations are acknowledged in order");
            next[thread as usize] = n + 1;
            if begun.get_or_insert_with(Instant::now).elapsed() > runs {
                child.kill().unwrap();
            }
        }
    }
    assert!(begun.is_some() && !child.wait().unwrap().success(), "it wrote until it was killed");
    next
}

/// What a thread left behind after some of its operations, which are done one by one.
#[derive(Clone, Default)]
struct Left {
    next: u64,
    entries: BTreeMap<String, Vec<u8>>,
}

impl Left {
    fn go_on(&mut self, thread: u64, end: u64) {
        for n in self.next..end {
            match operation(thread, n) {
                (key, Some(value)) => self.entries.insert(key, value),
                (key, None) => self.entries.remove(&key),
            };
        }
        self.next = end;
    }
}

fn kept(test: &str, rounds: u32, runs: Duration) {
    if let Ok(orders) = std::env::var(CHILD) {
        let (path, starts) = orders.split_once('\n').unwrap();
        let starts: Vec<u64> = starts.split(' ').map(|n| n.parse().unwrap()).collect();
        return child(Path::new(path), &starts);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let pool = options().create_new(&path).unwrap();
    pool.map::<str, [u8]>("map").unwrap();
    pool.close().unwrap();
    let mut left = vec![Left::default(); THREADS as usize];
    for round in 0..rounds {
        let starts: Vec<u64> = left.iter().map(|left| left.next).collect();
        let ends = run_and_kill(test, &path, &starts, runs);
        let pool = options().open_existing(&path).unwrap();
        pool.verify().unwrap();
        let mut found = vec![BTreeMap::new(); THREADS as usize];
        for entry in pool.map::<str, [u8]>("map").unwrap().iter() {
            let (key, value) = entry.unwrap();
            let thread: usize = key.rsplit_once('/').unwrap().1.parse().unwrap();
            found[thread].insert(key, value);
        }
        for (thread, (left, found)) in (0..).zip(left.iter_mut().zip(found)) {
            left.go_on(thread, ends[thread as usize]);
            let mut further = left.clone();
            further.go_on(thread, left.next + 1);
            if found != left.entries {
                // The operation in flight had happened.
                *left = further;
                assert!(found == left.entries, "round {round}, thread {thread}");
            }
        }
        pool.close().unwrap();
    }
    println!("{} operations in {rounds} rounds", left.iter().map(|left| left.next).sum::<u64>());
}

#[test]
fn r18_acknowledged_operations_survive_sigkill() {
    let test = "killed::r18_acknowledged_operations_survive_sigkill";
    kept(test, 5, Duration::from_millis(150));
}

#[test]
#[ignore = "a minute: cargo test --release -p endura-engine --test roart -- --ignored --nocapture r18"]
fn r18_a_minute_with_a_kill_every_two_seconds() {
    kept("killed::r18_a_minute_with_a_kill_every_two_seconds", 30, Duration::from_secs(2));
}
