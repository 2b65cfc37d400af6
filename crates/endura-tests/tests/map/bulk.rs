//! Bulk loads: beside others, and with a kill in the middle.

use std::fmt::Debug;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
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

/// What a child of this process says of `test` with the pool at `path`: words and numbers, until `is_enough`
/// says so and it is killed.
fn listen_and_kill(test: &str, path: &Path, mut is_enough: impl FnMut(&str, u64) -> bool) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let Some((word, n)) = line.split_once(' ') else { continue };
        if n.parse().is_ok_and(|n| is_enough(word, n)) {
            child.kill().unwrap();
        }
    }
    assert_eq!(child.wait().unwrap().signal(), Some(SIGKILL));
}

#[test]
fn what_a_load_has_put_in_before_a_kill_stays() {
    if let Ok(path) = std::env::var(CHILD) {
        return load_until_killed(&path);
    }
    let folder = tempfile::tempdir().unwrap();
    for round in 0..ROUNDS {
        let path = folder.path().join(format!("{round}.endura"));
        let (test, mut entered) = ("bulk::what_a_load_has_put_in_before_a_kill_stays", 0);
        listen_and_kill(test, &path, |word, n| {
            let is_in = word == "in";
            entered = if is_in { n } else { entered };
            is_in && n == 2_000 + 777 * round
        });
        let pool = Pool::open(&path).unwrap();
        pool.verify().unwrap();
        let map = pool.map::<u64, u64>("load").unwrap();
        let found: Vec<_> = map.iter().map(Result::unwrap).collect();
        assert!(found.iter().copied().eq((0..found.len() as u64).map(|n| (3 * n, n))));
        let len = found.len() as u64;
        assert!(len == entered || len == entered + 1, "{len} entries, {entered} were said");
    }
}

/// Says something that is whole in the pipe, whatever comes behind it. Where nobody listens, this process ends.
fn say(word: &str, n: u64) {
    let mut out = std::io::stdout().lock();
    let said = out.write_all(format!("\n{word} {n}\n").as_bytes()).and_then(|()| out.flush());
    if said.is_err() {
        std::process::exit(1);
    }
}

/// As above, with a thread behind it that takes out all but each seventh entry.
fn load_beside_removals_until_killed(path: &str) {
    let pool = Pool::open(path).unwrap();
    let (map, entered) = (&pool.map::<u64, u64>("load").unwrap(), &AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(move || {
            for n in (0..).filter(|n| n % 7 > 0) {
                while entered.load(Relaxed) < n + 20 {
                    thread::yield_now();
                }
                assert_eq!(map.remove(3 * n).unwrap(), Some(n));
                say("out", n);
            }
        });
        let entries = (0..).map(|n| {
            entered.store(n, Relaxed);
            say("in", n);
            (3 * n, n)
        });
        map.extend(entries).unwrap();
    });
}

#[test]
fn what_was_put_in_and_taken_out_before_a_kill_is_in_and_out() {
    if let Ok(path) = std::env::var(CHILD) {
        return load_beside_removals_until_killed(&path);
    }
    let folder = tempfile::tempdir().unwrap();
    for round in 0..ROUNDS {
        let path = folder.path().join(format!("{round}.endura"));
        let test = "bulk::what_was_put_in_and_taken_out_before_a_kill_is_in_and_out";
        let (mut entered, mut gone) = (0, 0);
        listen_and_kill(test, &path, |word, n| {
            match word {
                "in" => entered = n,
                "out" => gone = n,
                _ => {}
            }
            word == "in" && n == 1_000 + 777 * round
        });
        let pool = Pool::open(&path).unwrap();
        pool.verify().unwrap();
        let map = pool.map::<u64, u64>("load").unwrap();
        // One entry of each thread was on its way.
        let leaving = (gone + 1..).find(|n| n % 7 > 0).unwrap();
        for n in (0..entered + 9).filter(|&n| n != entered && n != leaving) {
            let stays = n < entered && (n % 7 == 0 || n > gone);
            let what = format!("{n}, {entered} in, {gone} out");
            assert_eq!(map.get(3 * n).unwrap(), stays.then_some(n), "{what}");
        }
        assert_eq!(map.iter().count(), map.len().unwrap());
    }
}
