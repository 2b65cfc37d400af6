//! Bulk loads: beside others, and with a kill in the middle.

use std::fmt::Debug;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use endura::{Map, Pool, Value};

use crate::cases::{self, Case, Visitor};

const KEYS: u64 = 3_000;
const ROUNDS: u64 = 4;
const SIGKILL: i32 = 9;
/// Tells the copy of the test that it is the child, and which pool to write to.
const CHILD: &str = "ENDURA_TEST_KILLED_LOAD";

/// Enters every second key in ascending order.
fn load<C: Case>(map: &Map<C::K, C::V>, odd: bool)
where
    <C::K as Value>::Owned: Ord + Clone,
{
    let all = (0..KEYS).filter(|n| (n % 2 == 1) == odd);
    let mut entries: Vec<_> = all.map(|n| (C::key(n), C::value(n))).collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let lent = entries.iter().map(|(key, value)| (C::K::lend(key), C::V::lend(value)));
    assert_eq!(map.extend(lent).unwrap(), entries.len());
}

struct Loads<'p>(&'p Path);

impl Visitor for Loads<'_> {
    fn visit<C: Case>(&mut self)
    where
        <C::K as Value>::Owned: Ord + Clone + Debug,
        <C::V as Value>::Owned: PartialEq + Clone + Debug,
    {
        let pool = Pool::open(self.0).unwrap();
        let map = &C::open(&pool);
        for round in 0..ROUNDS {
            let (done, is_last) = (&AtomicBool::new(false), round + 1 == ROUNDS);
            thread::scope(|scope| {
                let loads = [false, true].map(|odd| scope.spawn(move || load::<C>(map, odd)));
                // Nodes split under one load, and go under the other.
                let remover = scope.spawn(move || {
                    while !done.load(Relaxed) && !is_last {
                        map.clear().unwrap();
                    }
                });
                for load in loads {
                    load.join().unwrap();
                }
                done.store(true, Relaxed);
                remover.join().unwrap();
            });
            pool.verify().unwrap();
        }
        for n in 0..KEYS {
            let found = map.get(C::K::lend(&C::key(n))).unwrap();
            assert!(found.is_some(), "{}: key {n}", C::NAME);
        }
        let keys: std::collections::BTreeSet<_> = (0..KEYS).map(C::key).collect();
        assert_eq!(map.len().unwrap(), keys.len(), "{}", C::NAME);
    }
}

#[test]
fn loads_beside_each_other_and_beside_removals() {
    let folder = tempfile::tempdir().unwrap();
    cases::all(&mut Loads(&folder.path().join("pool.endura")));
}

/// Loads for ever, and says of each entry that it is in when the next one is taken.
fn load_until_killed(path: &str) {
    let pool = Pool::open(path).unwrap();
    let map = pool.map::<u64, u64>("load").unwrap();
    let mut out = std::io::stdout().lock();
    let entries = (0..).map(|n: u64| {
        out.write_all(format!("\nin {n}\n").as_bytes()).unwrap();
        out.flush().unwrap();
        (3 * n, n)
    });
    map.extend(entries).unwrap();
}

#[test]
fn what_a_load_has_put_in_before_a_kill_stays() {
    if let Ok(path) = std::env::var(CHILD) {
        return load_until_killed(&path);
    }
    let folder = tempfile::tempdir().unwrap();
    for round in 0..ROUNDS {
        let path = folder.path().join(format!("{round}.endura"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "bulk::what_a_load_has_put_in_before_a_kill_stays", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut entered = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let Some(n) = line.unwrap().strip_prefix("in ").and_then(|n| n.parse().ok()) else {
                continue;
            };
            entered = n;
            if n == 2_000 + 777 * round {
                child.kill().unwrap();
            }
        }
        assert_eq!(child.wait().unwrap().signal(), Some(SIGKILL));
        let pool = Pool::open(&path).unwrap();
        pool.verify().unwrap();
        let map = pool.map::<u64, u64>("load").unwrap();
        let found: Vec<_> = map.iter().map(Result::unwrap).collect();
        assert!(found.iter().copied().eq((0..found.len() as u64).map(|n| (3 * n, n))));
        let len = found.len() as u64;
        assert!(len == entered || len == entered + 1, "{len} entries, {entered} were said");
    }
}
