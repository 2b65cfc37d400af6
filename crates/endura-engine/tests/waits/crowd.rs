//! What waits cost where there are more writers than processors and a holder of a lock is preempted:
//!
//!     cargo test --release -p endura-engine --test waits crowd -- --ignored --nocapture
//!
//! Each line is one round of a second: operations a second of all threads, and the time that one operation took, as the
//! median, the 99.9th percentile and the longest, in microseconds.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use endura::{Map, MapOptions, Pool};
use endura_engine::{Error, Kind};

const WRITERS: u64 = 8;
const ROUND: Duration = Duration::from_secs(1);

/// What a thread does again and again, in a map that had so many keys; it is told its number and how often it did it.
type Work = fn(&Map<u64, u64>, u64, u64, u64) -> Result<(), Error>;

const LOADS: [(&str, Kind, u64, Work); 6] = [
    ("one leaf, FastFair", Kind::FastFair, 32, overwrite),
    ("one leaf, Roart", Kind::Roart, 32, overwrite),
    ("one leaf, NbTree", Kind::NbTree, 32, overwrite),
    ("a million keys, FastFair", Kind::FastFair, 1_000_000, overwrite),
    ("a million keys, Roart", Kind::Roart, 1_000_000, overwrite),
    ("pops beside inserts, FastFair", Kind::FastFair, 10_000, pop_or_insert),
];

fn overwrite(map: &Map<u64, u64>, keys: u64, thread: u64, n: u64) -> Result<(), Error> {
    let scattered = (thread << 32 | n).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
    map.insert(scattered % keys, n).map(drop)
}

fn pop_or_insert(map: &Map<u64, u64>, _: u64, thread: u64, n: u64) -> Result<(), Error> {
    match thread % 2 {
        0 => map.pop_first().map(drop),
        _ => map.insert(thread << 32 | n, n).map(drop),
    }
}

/// The times that all operations of a round took, in nanoseconds, in order.
fn round(map: &Map<u64, u64>, keys: u64, work: Work) -> Vec<u32> {
    let together = Barrier::new(WRITERS as usize);
    let of_thread = |thread: u64| {
        let mut times = Vec::with_capacity(4_000_000);
        together.wait();
        let begun = Instant::now();
        let mut last = begun;
        for n in 0.. {
            work(map, keys, thread, n).unwrap();
            let now = Instant::now();
            times.push((now - last).as_nanos() as u32);
            last = now;
            if now - begun > ROUND {
                break;
            }
        }
        times
    };
    let of_thread = &of_thread;
    let mut times: Vec<u32> = std::thread::scope(|scope| {
        let spawn = |thread| scope.spawn(move || of_thread(thread));
        let threads: Vec<_> = (0..WRITERS).map(spawn).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    times.sort_unstable();
    times
}

#[test]
#[ignore = "measures, for a minute; `ENDURA_ROUNDS` says how often"]
fn crowd() {
    let rounds = std::env::var("ENDURA_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let pool = Pool::open(folder.path().join("pool")).unwrap();
    println!("{:32} {:>10} {:>8} {:>8} {:>9}", "load", "ops/s", "p50", "p99.9", "longest");
    for (name, kind, keys, work) in LOADS {
        let map = pool.map_with::<u64, u64>(name, MapOptions::new().kind(kind)).unwrap();
        map.extend((0..keys).map(|key| (key, key))).unwrap();
        for _ in 0..rounds {
            let times = round(&map, keys, work);
            let at = |part: f64| f64::from(times[(times.len() as f64 * part) as usize]) / 1e3;
            let (count, longest) = (times.len(), f64::from(times[times.len() - 1]) / 1e3);
            println!("{name:32} {count:>10} {:>8.1} {:>8.1} {longest:>9.1}", at(0.5), at(0.999));
        }
    }
}
