//! R18: a process that writes from sixteen threads, most often the same few keys, is killed with SIGKILL
//! again and again. Each thread says on a pipe what has returned; all of that must be there, and at most
//! one operation more for each thread.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use endura::{Pool, PoolOptions};
use endura_variants::random::mix;

use crate::children::{THREADS, orders, run_and_kill, write_for_ever};

fn options() -> PoolOptions {
    Pool::options().max_size(2 << 30)
}

/// Operation number `n` of a thread: its key (no two threads share one, all lie beside each other), and
/// what becomes of it. Of a thousand keys of a thread the first is about as frequent as all from the
/// hundredth on.
fn operation(thread: u64, n: u64) -> (String, Option<Vec<u8>>) {
    let drawn = mix(n << 8 | thread);
    let rank = (1_000_f64.powf((drawn % 10_007) as f64 / 10_007.0)) as u64;
    let key = format!("/shared/{}/{rank}/{thread}", rank % 7);
    let value = || n.to_le_bytes().repeat(1 + (drawn >> 20) as usize % 40);
    (key, (drawn >> 40 & 3 != 0).then(value))
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
    if let Some((path, starts)) = orders() {
        let pool = options().open_existing(path).unwrap();
        let map = pool.map::<str, [u8]>("map").unwrap();
        return write_for_ever(&starts, |thread, n| {
            match operation(thread, n) {
                (key, Some(value)) => map.insert(&key, &value),
                (key, None) => map.remove(&key),
            }
            .unwrap();
        });
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let pool = options().create_new(&path).unwrap();
    pool.map::<str, [u8]>("map").unwrap();
    pool.close().unwrap();
    let mut left = vec![Left::default(); THREADS as usize];
    for round in 0..rounds {
        let starts: Vec<u64> = left.iter().map(|left| left.next).collect();
        let mut begun = None;
        let is_over = || begun.get_or_insert_with(Instant::now).elapsed() > runs;
        let ends = run_and_kill(test, &path, &starts, is_over);
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
