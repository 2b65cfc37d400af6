//! A pool that is too small for what clients store.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{Client, Running, contents, from_environment, stat};

const MEMORY: [&str; 4] = ["--memory", "16M", "--threads", "2"];
const POOL: u64 = 16 << 20;

/// A client that stores more than fits, and knows what it has stored last.
struct Filler {
    rng: fastrand::Rng,
    /// The number of the last store of each key.
    stored: HashMap<u64, u64>,
    number: u64,
}

impl Filler {
    fn new(seed: u64) -> Self {
        eprintln!("seed {seed}");
        Self { rng: fastrand::Rng::with_seed(seed), stored: HashMap::new(), number: 0 }
    }

    /// Stores so many bytes, some items at a time, of sizes that `size` chooses. Each must be stored.
    fn store(
        &mut self,
        client: &mut Client,
        bytes: u64,
        size: impl Fn(&mut fastrand::Rng) -> usize,
    ) {
        let mut all = 0;
        while all < bytes {
            let (mut said, mut sizes) = (Vec::new(), Vec::new());
            for _ in 0..self.rng.usize(1..20) {
                let (key, size) = (self.rng.u64(..1 << 20), size(&mut self.rng));
                self.number += 1;
                self.stored.insert(key, self.number);
                let mut data = format!("{} ", self.number).into_bytes();
                data.resize(data.len().max(size), b'd');
                said.extend(format!("set f{key} 0 0 {}\r\n", data.len()).into_bytes());
                said.extend(data);
                said.extend(b"\r\n");
                all += size as u64;
                sizes.push(size);
            }
            client.say(said).unwrap();
            for size in sizes {
                assert_eq!(client.line().unwrap(), "STORED", "{size} bytes after {all}");
            }
        }
    }

    /// What is there must be what was stored last, of the newest items and of some others. Returns the share of the newest
    /// ones that are there, and that of all.
    fn compare(&self, client: &mut Client) -> (f64, f64) {
        let (mut newest, mut all, mut asked) = (0, 0, 0);
        let is_newest = |number: u64| number + 100 > self.number;
        let others = 1 + self.stored.len() / 10_000;
        let chosen = |(place, (_, number)): &(usize, (&u64, &u64))| {
            is_newest(**number) || place.is_multiple_of(others)
        };
        for (_, (key, &number)) in self.stored.iter().enumerate().filter(chosen) {
            asked += 1;
            let Some((_, _, _, data)) = client.items(&format!("get f{key}\r\n")).unwrap().pop()
            else {
                continue;
            };
            let found = data.split(|&byte| byte == b' ').next().unwrap();
            assert_eq!(found, number.to_string().as_bytes(), "f{key}");
            all += 1;
            newest += u64::from(is_newest(number));
        }
        (newest as f64 / 100.0, f64::from(all) / f64::from(asked))
    }
}

/// Sizes as of web pages and their parts: most are small, few are large.
fn mixed(rng: &mut fastrand::Rng) -> usize {
    let bits = match rng.u8(..100) {
        0 => rng.u32(15..18),
        1..10 => rng.u32(11..15),
        _ => rng.u32(4..11),
    };
    rng.usize(1 << bits..2 << bits)
}

fn started(pool: &Path) -> (Running, Client) {
    let server = Running::start(pool, &MEMORY);
    let client = server.connect();
    (server, client)
}

/// No store is refused, before a kill and after it, and what is there is right.
#[test]
fn a_pool_takes_ten_times_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let mut filler = Filler::new(fastrand::u64(..));
    for _ in 0..3 {
        let (server, mut client) = started(&pool);
        filler.store(&mut client, 10 * POOL / 3, mixed);
        assert!(stat(&mut client, "evictions") > 0);
        server.kill();
        contents(&pool);
    }
    let (server, mut client) = started(&pool);
    filler.store(&mut client, POOL, mixed);
    let (newest, all) = filler.compare(&mut client);
    eprintln!("{newest} of the newest, {all} of all");
    assert!(newest > 0.8 && newest > 2.0 * all, "{newest} of the newest, {all} of all");
    assert!(std::fs::metadata(&pool).unwrap().len() <= POOL);
    server.terminate();
    contents(&pool);
}

/// A pool full of one size takes any other.
#[test]
fn sizes_may_change() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let mut filler = Filler::new(fastrand::u64(..));
    let (server, mut client) = started(&pool);
    for size in [100, 5_000, 30, 100_000, 700, 990_000, 15_000, 300] {
        let begun = Instant::now();
        // More than the pool has room for, with the nodes of the map.
        let bytes = (2 * POOL).min(150_000 * size as u64);
        filler.store(&mut client, bytes, |rng| rng.usize(size..size + size / 20 + 1));
        eprintln!("{size} bytes: {} ms", begun.elapsed().as_millis());
        let (newest, _) = filler.compare(&mut client);
        eprintln!("{size} bytes: {newest} of the newest");
        // A hundred of the larger ones do not fit.
        assert!(newest > 0.5 || size > 15_000, "{newest} of the newest with {size} bytes");
    }
    server.terminate();
    contents(&pool);
}

/// What is asked for again and again stays, whatever else is stored.
#[test]
fn what_is_fetched_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut client) = started(&folder.path().join("pool"));
    for n in 0..100 {
        assert_eq!(client.ask(format!("set hot{n} 0 0 5\r\nhello\r\n")).unwrap(), "STORED");
    }
    let mut filler = Filler::new(fastrand::u64(..));
    let mut found = 0;
    for round in 0..40 {
        filler.store(&mut client, POOL / 8, mixed);
        let there = (0..100).filter(|n| client.get(&format!("hot{n}")).is_some()).count();
        found = if round == 0 { there } else { found.min(there) };
    }
    assert!(found >= 95, "{found} of 100");
    assert!(stat(&mut client, "evicted_unfetched") > 0);
    server.terminate();
}

/// Items of all sizes, times of expiry and removals, for `ENDURA_EVICTION_SECONDS`: the rate of stores does not fall, and no
/// store is refused.
#[test]
fn a_full_pool_stays_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let mut filler = Filler::new(fastrand::u64(..));
    let (mut server, mut client) = started(&pool);
    let time = Duration::from_secs(from_environment("ENDURA_EVICTION_SECONDS", 3));
    let (until, mut round) = (Instant::now() + time, 0);
    while Instant::now() < until {
        round += 1;
        let least = filler.rng.u32(4..14);
        filler.store(&mut client, POOL / 2, |rng| match rng.bool() {
            true => mixed(rng),
            false => rng.usize(1 << least..2 << least),
        });
        for _ in 0..200 {
            let key = filler.rng.u64(..1 << 20);
            client.ask(format!("delete f{key}\r\n")).unwrap();
            filler.stored.remove(&key);
        }
        if round % 10 == 0 {
            server.kill();
            contents(&pool);
            (server, client) = started(&pool);
            filler.compare(&mut client);
        }
    }
    let (newest, all) = filler.compare(&mut client);
    eprintln!("{round} rounds: {newest} of the newest, {all} of all");
    server.terminate();
    contents(&pool);
}
