//! A process that writes from sixteen threads, most often the same few keys, is killed with SIGKILL again and again. Each
//! thread says on a pipe what has returned; all of that must be there, and at most one operation more for each thread.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use endura::{Kind, Map, MapOptions, Pool, PoolOptions};
use endura_variants::random::mix;

use crate::children::{THREADS, orders, run_and_kill, write_for_ever};

/// Rounds, and for how long the process runs in each.
pub(crate) const FEW: (u32, Duration) = (5, Duration::from_millis(150));
#[allow(dead_code, reason = "not every tree has such a test")]
pub(crate) const MANY: (u32, Duration) = (100, Duration::from_millis(300));

fn options() -> PoolOptions {
    Pool::options().max_size(2 << 30)
}

/// The keys of a map: no two threads share one, and all lie beside each other.
pub(crate) trait Keys {
    type Key: Ord + Clone;
    type Map: Sync;

    fn map(pool: &Pool, options: MapOptions) -> Self::Map;
    fn key(rank: u64, thread: u64) -> Self::Key;
    fn thread(key: &Self::Key) -> usize;
    fn insert(map: &Self::Map, key: Self::Key, value: &[u8]);
    fn remove(map: &Self::Map, key: Self::Key);
    fn entries(map: &Self::Map) -> Vec<(Self::Key, Vec<u8>)>;
}

/// Integer keys.
#[allow(dead_code, reason = "not every tree has such keys")]
pub(crate) struct Numbers;
/// Byte strings.
#[allow(dead_code, reason = "not every tree has such keys")]
pub(crate) struct Texts;

impl Keys for Numbers {
    type Key = u64;
    type Map = Map<u64, [u8]>;

    fn map(pool: &Pool, options: MapOptions) -> Self::Map {
        pool.map_with("map", options).unwrap()
    }

    fn key(rank: u64, thread: u64) -> u64 {
        (rank % 7) << 61 | rank << 8 | thread
    }

    fn thread(key: &u64) -> usize {
        (key & 0xFF) as usize
    }

    fn insert(map: &Self::Map, key: u64, value: &[u8]) {
        map.insert(key, value).unwrap();
    }

    fn remove(map: &Self::Map, key: u64) {
        map.remove(key).unwrap();
    }

    fn entries(map: &Self::Map) -> Vec<(u64, Vec<u8>)> {
        map.iter().map(|entry| entry.unwrap()).collect()
    }
}

impl Keys for Texts {
    type Key = String;
    type Map = Map<str, [u8]>;

    fn map(pool: &Pool, options: MapOptions) -> Self::Map {
        pool.map_with("map", options).unwrap()
    }

    fn key(rank: u64, thread: u64) -> String {
        format!("/shared/{}/{rank}/{thread}", rank % 7)
    }

    fn thread(key: &String) -> usize {
        key.rsplit_once('/').unwrap().1.parse().unwrap()
    }

    fn insert(map: &Self::Map, key: String, value: &[u8]) {
        map.insert(&key, value).unwrap();
    }

    fn remove(map: &Self::Map, key: String) {
        map.remove(&key).unwrap();
    }

    fn entries(map: &Self::Map) -> Vec<(String, Vec<u8>)> {
        map.iter().map(|entry| entry.unwrap()).collect()
    }
}

/// Operation number `n` of a thread: its key, and what becomes of it. Of a thousand keys of a thread the first is about as
/// frequent as all from the hundredth on.
fn operation<K: Keys>(thread: u64, n: u64) -> (K::Key, Option<Vec<u8>>) {
    let drawn = mix(n << 8 | thread);
    let rank = (1_000_f64.powf((drawn % 10_007) as f64 / 10_007.0)) as u64;
    let value = || n.to_le_bytes().repeat(1 + (drawn >> 20) as usize % 40);
    (K::key(rank, thread), (drawn >> 40 & 3 != 0).then(value))
}

/// What a thread left behind after some of its operations, which are done one by one.
struct Left<K: Keys> {
    next: u64,
    entries: BTreeMap<K::Key, Vec<u8>>,
}

impl<K: Keys> Left<K> {
    fn go_on(&mut self, thread: u64, end: u64) {
        for n in self.next..end {
            match operation::<K>(thread, n) {
                (key, Some(value)) => self.entries.insert(key, value),
                (key, None) => self.entries.remove(&key),
            };
        }
        self.next = end;
    }
}

/// `test` is the name of the test that calls this: the process is another run of it.
pub(crate) fn kept<K: Keys>(test: &str, kind: Kind, (rounds, runs): (u32, Duration)) {
    let of_kind = MapOptions::new().kind(kind);
    if let Some((path, starts)) = orders() {
        let pool = options().open_existing(path).unwrap();
        let map = K::map(&pool, of_kind);
        return write_for_ever(&starts, |thread, n| match operation::<K>(thread, n) {
            (key, Some(value)) => K::insert(&map, key, &value),
            (key, None) => K::remove(&map, key),
        });
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let pool = options().create_new(&path).unwrap();
    K::map(&pool, of_kind);
    pool.close().unwrap();
    let none = || Left::<K> { next: 0, entries: BTreeMap::new() };
    let mut left: Vec<_> = (0..THREADS).map(|_| none()).collect();
    for round in 0..rounds {
        let starts: Vec<u64> = left.iter().map(|left| left.next).collect();
        let mut begun = None;
        let is_over = || begun.get_or_insert_with(Instant::now).elapsed() > runs;
        let ends = run_and_kill(test, &path, &starts, is_over);
        let pool = options().open_existing(&path).unwrap();
        pool.verify().unwrap();
        let mut found = vec![BTreeMap::new(); THREADS as usize];
        for (key, value) in K::entries(&K::map(&pool, of_kind)) {
            found[K::thread(&key)].insert(key, value);
        }
        for (thread, (left, found)) in (0..).zip(left.iter_mut().zip(found)) {
            left.go_on(thread, ends[thread as usize]);
            if found != left.entries {
                // The operation in flight had happened.
                left.go_on(thread, left.next + 1);
                assert!(found == left.entries, "round {round}, thread {thread}");
            }
        }
        pool.close().unwrap();
    }
    println!("{} operations in {rounds} rounds", left.iter().map(|left| left.next).sum::<u64>());
}
