//! A real-time thread that waits for an ordinary one on the same processor lets that run: in each kind of wait that the
//! API can bring about. Those behind it have their tests beside them (`beside` in `crates/endura/src`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use endura::{Map, MapOptions, Pool};
use endura_engine::Kind;

#[path = "../../src/os/linux/real_time.rs"]
mod threads;

use threads::{TOO_LONG, beside, work_for};

const KINDS: [Kind; 3] = [Kind::FastFair, Kind::NbTree, Kind::Roart];
/// How often the real-time thread comes, at a moment at which the ordinary one may be anywhere.
const VISITS: u64 = 400;
/// What an ordinary thread needs that is inside of something.
const LONG: Duration = Duration::from_millis(5);

fn pool(folder: &tempfile::TempDir) -> Pool {
    Pool::options().max_size(1 << 30).create_new(folder.path().join("pool")).unwrap()
}

/// Has an ordinary thread do `holder` again and again, and a real-time thread do `visitor` now and then.
fn meet(
    kind: Kind,
    holder: impl Fn(&Map<u64, u64>, u64) + Sync,
    visitor: impl Fn(&Map<u64, u64>, u64) + Sync,
) {
    let folder = tempfile::tempdir().unwrap();
    let map = pool(&folder).map_with("m", MapOptions::new().kind(kind)).unwrap();
    (0..20).for_each(|key| _ = map.insert(1_000 + 10 * key, 0).unwrap());
    let is_over = AtomicBool::new(false);
    let hold = |ready: &dyn Fn()| {
        ready();
        (0..).take_while(|_| !is_over.load(Ordering::Relaxed)).for_each(|n| holder(&map, n));
    };
    let visit = || {
        let mut longest = Duration::ZERO;
        for n in 0..VISITS {
            std::thread::sleep(Duration::from_micros(150 + n % 50));
            let begun = Instant::now();
            visitor(&map, n);
            longest = longest.max(begun.elapsed());
            if longest > TOO_LONG {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        longest
    };
    if let Some((longest, _)) = beside(hold, visit) {
        println!("{kind}: {longest:?} at most");
        assert!(longest < TOO_LONG, "{kind}: {longest:?}");
    }
}

/// Keys of one leaf, or array, in the middle of the map.
fn write(map: &Map<u64, u64>, n: u64) {
    let key = 1_001 + n % 50;
    map.insert(key, n).unwrap();
    map.remove(key).unwrap();
}

/// A new smallest key, each one smaller than those before.
fn insert_in_front(map: &Map<u64, u64>, n: u64) {
    map.insert(1_000 - n % 1_000, n).unwrap();
}

fn pop(map: &Map<u64, u64>, _: u64) {
    map.pop_first().unwrap();
}

#[test]
fn a_writer_waits_for_a_lock() {
    meet(Kind::FastFair, write, write);
    meet(Kind::Roart, write, write);
    meet(Kind::NbTree, write, write);
}

#[test]
fn a_pop_waits_for_a_pop() {
    let pop_or_fill = |map: &Map<u64, u64>, n: u64| {
        map.insert(1_000 + n % 100, n).unwrap();
        map.pop_first().unwrap();
    };
    for kind in KINDS {
        meet(kind, pop_or_fill, pop);
    }
}

#[test]
fn an_insert_in_front_waits_for_a_pop() {
    let pop_and_fill = |map: &Map<u64, u64>, n: u64| {
        map.pop_first().unwrap();
        map.insert(2_000 + n % 100, n).unwrap();
    };
    for kind in KINDS {
        meet(kind, pop_and_fill, insert_in_front);
    }
}

#[test]
fn a_pop_waits_for_the_lock_of_a_leaf() {
    for kind in KINDS {
        meet(kind, insert_in_front, pop);
    }
}

/// Bytes of a map in which the closures of operations run inside of pins.
fn bytes(pool: &Pool) -> Map<u64, [u8]> {
    let map = pool.map("bytes").unwrap();
    map.insert(1, &b"one"[..]).unwrap();
    map
}

#[test]
fn a_close_waits_for_an_operation() {
    let folder = tempfile::tempdir().unwrap();
    let pool = pool(&folder);
    let map = bytes(&pool);
    let hold = |ready: &dyn Fn()| {
        let inside = map.get_with(1, |_| {
            ready();
            work_for(LONG);
        });
        inside.unwrap();
    };
    if let Some((closed, time)) = beside(hold, || pool.close()) {
        closed.unwrap();
        assert!(time < TOO_LONG, "{time:?}");
    }
}

#[test]
fn a_verification_waits_for_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let pool = pool(&folder);
    let map = bytes(&pool);
    let hold = |ready: &dyn Fn()| {
        let inside = map.insert_from(1, 3, |out| {
            ready();
            work_for(LONG);
            out.write_all(b"two")
        });
        inside.unwrap();
    };
    if let Some((verified, time)) = beside(hold, || pool.verify()) {
        verified.unwrap();
        assert!(time < TOO_LONG, "{time:?}");
    }
}

#[test]
fn a_writer_waits_for_a_verification() {
    let folder = tempfile::tempdir().unwrap();
    let pool = pool(&folder);
    let map = pool.map::<u64, u64>("m").unwrap();
    map.extend((0..20_000).map(|key| (key, key))).unwrap();
    let is_over = AtomicBool::new(false);
    let hold = |ready: &dyn Fn()| {
        ready();
        while !is_over.load(Ordering::Relaxed) {
            pool.verify().unwrap();
        }
    };
    let write = || {
        let mut longest = Duration::ZERO;
        for n in 0..10 {
            std::thread::sleep(LONG);
            let begun = Instant::now();
            map.insert(n, n).unwrap();
            longest = longest.max(begun.elapsed());
        }
        is_over.store(true, Ordering::Relaxed);
        longest
    };
    if let Some((longest, _)) = beside(hold, write) {
        assert!(longest < TOO_LONG, "{longest:?}");
    }
}
