//! A process that writes from sixteen threads, most often the same few keys, is killed with SIGKILL again and again. Each
//! thread says on a pipe what has returned; all of that must be there, and at most one operation more for each thread.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use endura::{Kind, MapOptions, Pool, PoolOptions};
use endura_variants::random::mix;

use crate::children::{THREADS, orders, run_and_kill, write_for_ever};

fn options() -> PoolOptions {
    Pool::options().max_size(2 << 30)
}

/// Operation number `n` of a thread: its key (no two threads share one, all lie beside each other), and what becomes of
/// it. Of a thousand keys of a thread the first is about as frequent as all from the hundredth on.
fn operation(thread: u64, n: u64) -> (u64, Option<Vec<u8>>) {
    let drawn = mix(n << 8 | thread);
    let rank = (1_000_f64.powf((drawn % 10_007) as f64 / 10_007.0)) as u64;
    let key = (rank % 7) << 61 | rank << 8 | thread;
    let value = || n.to_le_bytes().repeat(1 + (drawn >> 20) as usize % 40);
    (key, (drawn >> 40 & 3 != 0).then(value))
}

/// What a thread left behind after some of its operations, which are done one by one.
#[derive(Clone, Default)]
struct Left {
    next: u64,
    entries: BTreeMap<u64, Vec<u8>>,
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

fn kept(test: &str, kind: Kind, (rounds, runs): (u32, Duration)) {
    let of_kind = MapOptions::new().kind(kind);
    if let Some((path, starts)) = orders() {
        let pool = options().open_existing(path).unwrap();
        let map = pool.map_with::<u64, [u8]>("map", of_kind).unwrap();
        return write_for_ever(&starts, |thread, n| {
            match operation(thread, n) {
                (key, Some(value)) => map.insert(key, &value),
                (key, None) => map.remove(key),
            }
            .unwrap();
        });
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let pool = options().create_new(&path).unwrap();
    pool.map_with::<u64, [u8]>("map", of_kind).unwrap();
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
        for entry in pool.map::<u64, [u8]>("map").unwrap().iter() {
            let (key, value) = entry.unwrap();
            found[(key & 0xFF) as usize].insert(key, value);
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

const FEW: (u32, Duration) = (5, Duration::from_millis(150));
const MANY: (u32, Duration) = (100, Duration::from_millis(300));

#[test]
fn acknowledged_operations_on_fast_fair_survive_sigkill() {
    kept("killed::acknowledged_operations_on_fast_fair_survive_sigkill", Kind::FastFair, FEW);
}

#[test]
fn acknowledged_operations_on_an_nbtree_survive_sigkill() {
    kept("killed::acknowledged_operations_on_an_nbtree_survive_sigkill", Kind::NbTree, FEW);
}

#[test]
#[ignore = "a minute: cargo test --release -p endura-engine --test records -- --ignored --nocapture hundred"]
fn a_hundred_kills_of_fast_fair() {
    kept("killed::a_hundred_kills_of_fast_fair", Kind::FastFair, MANY);
}

#[test]
#[ignore = "a minute: cargo test --release -p endura-engine --test records -- --ignored --nocapture hundred"]
fn a_hundred_kills_of_an_nbtree() {
    kept("killed::a_hundred_kills_of_an_nbtree", Kind::NbTree, MANY);
}
