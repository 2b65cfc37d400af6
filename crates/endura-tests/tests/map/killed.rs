//! A process that writes to maps of all types, a thread each, is killed with SIGKILL again and again. Each thread
//! says on a pipe what has returned: all of that must be there, and at most one operation more of each.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use endura::{Map, Pool, Value};

use crate::cases::{self, Case, Visitor, scatter};
use crate::readers::read_in_every_way;

const ROUNDS: u64 = 6;
const SIGKILL: i32 = 9;
/// Tells the copy of this test that it is the child, and which pool to write to.
const CHILD: &str = "ENDURA_TEST_KILLED_MAPS";

type Entry<C> = (<<C as Case>::K as Value>::Owned, Option<<<C as Case>::V as Value>::Owned>);

/// Operation number `n` on a map: its key, and what becomes of it.
fn operation<C: Case>(n: u64) -> Entry<C> {
    let drawn = scatter(n.wrapping_mul(3));
    (C::key(drawn % 500), (drawn >> 20 & 3 != 0).then(|| C::value(n)))
}

/// What operation number `n` makes of what was there.
fn step<C: Case>(model: &mut BTreeMap<<C::K as Value>::Owned, <C::V as Value>::Owned>, n: u64)
where
    <C::K as Value>::Owned: Ord,
{
    match operation::<C>(n) {
        (key, Some(value)) => _ = model.insert(key, value),
        (key, None) => _ = model.remove(&key),
    }
}

fn apply<C: Case>(map: &Map<C::K, C::V>, n: u64) {
    let (key, value) = operation::<C>(n);
    let key = <C::K as Value>::lend(&key);
    match value {
        Some(_) if n.is_multiple_of(3) => drop(map.update(key, |_| C::value(n)).unwrap()),
        Some(value) => _ = map.insert(key, <C::V as Value>::lend(&value)).unwrap(),
        None if n.is_multiple_of(3) => _ = map.alter(key, |_| None).unwrap(),
        None => _ = map.remove(key).unwrap(),
    }
}

/// Writes for ever, from where the pipe of the last process ended.
struct Writers<'p> {
    pool: &'p Pool,
    starts: Vec<u64>,
}

impl Visitor for Writers<'_> {
    fn visit<C: Case>(&mut self) {
        let map = C::open(self.pool);
        let start = self.starts.remove(0);
        thread::spawn(move || {
            for n in start.. {
                apply::<C>(&map, n);
                // One short write is not torn by the kill.
                let line = format!("\n{} {n}\n", C::NAME);
                std::io::stdout().write_all(line.as_bytes()).unwrap();
                std::io::stdout().flush().unwrap();
            }
        });
    }
}

/// Looks whether what was acknowledged is there.
struct Checks<'p> {
    pool: &'p Pool,
    /// How many operations on each map were acknowledged.
    next: BTreeMap<String, u64>,
    looked_at: Vec<u64>,
}

impl Visitor for Checks<'_> {
    fn visit<C: Case>(&mut self)
    where
        <C::K as Value>::Owned: Ord + Clone + Debug,
        <C::V as Value>::Owned: PartialEq + Clone + Debug,
    {
        let next = self.next.get(C::NAME).copied().unwrap_or(0);
        let mut model = BTreeMap::new();
        for n in 0..next {
            step::<C>(&mut model, n);
        }
        let map = C::open(self.pool);
        let found: BTreeMap<_, _> = map.iter().map(Result::unwrap).collect();
        let mut done = next;
        if found != model {
            // The operation in flight had happened.
            step::<C>(&mut model, next);
            done += 1;
        }
        assert!(found == model, "{}: {next} operations", C::NAME);
        assert_eq!(map.len().unwrap(), found.len(), "{}", C::NAME);
        self.looked_at.push(done);
    }
}

/// Lets a child write for a while and kills it; gives how many operations on each map were acknowledged.
fn run_and_kill(path: &Path, starts: &[u64], round: u64) -> BTreeMap<String, u64> {
    let starts: Vec<String> = starts.iter().map(u64::to_string).collect();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::all_maps_survive_kills", "--nocapture"])
        .env(CHILD, format!("{}\n{}", path.display(), starts.join(" ")))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (mut next, mut lines_seen) = (BTreeMap::new(), 0);
    for line in lines {
        let line = line.unwrap();
        if let Some((name, n)) = line.rsplit_once(' ')
            && let Ok(n) = n.parse::<u64>()
        {
            next.insert(name.to_owned(), n + 1);
            lines_seen += 1;
            if lines_seen == 3_000 + scatter(round) % 3_000 {
                thread::sleep(Duration::from_micros(scatter(round) % 500));
                child.kill().unwrap();
            }
        }
    }
    let signal = child.wait().unwrap().signal();
    assert_eq!(signal, Some(SIGKILL), "the child wrote until it was killed");
    next
}

#[test]
fn all_maps_survive_kills() {
    if let Ok(orders) = std::env::var(CHILD) {
        let (path, starts) = orders.split_once('\n').unwrap();
        let pool = Pool::open(path).unwrap();
        let starts = starts.split(' ').map(|n| n.parse().unwrap()).collect();
        cases::all(&mut Writers { pool: &pool, starts });
        loop {
            thread::park();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool.endura");
    let mut starts = vec![0; names().len()];
    for round in 0..ROUNDS {
        let mut next = run_and_kill(&path, &starts, round);
        read_in_every_way(&path);
        let pool = Pool::open(&path).unwrap();
        pool.verify().unwrap();
        let names = names();
        for (name, &start) in names.iter().zip(&starts) {
            next.entry((*name).to_owned()).or_insert(start);
        }
        let mut checks = Checks { pool: &pool, next, looked_at: Vec::new() };
        cases::all(&mut checks);
        starts = checks.looked_at;
        pool.close().unwrap();
    }
}

fn names() -> Vec<&'static str> {
    struct Names(Vec<&'static str>);
    impl Visitor for Names {
        fn visit<C: Case>(&mut self) {
            self.0.push(C::NAME);
        }
    }
    let mut names = Names(Vec::new());
    cases::all(&mut names);
    names.0
}
