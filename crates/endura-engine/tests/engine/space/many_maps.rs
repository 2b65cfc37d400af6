//! Thousands of maps in one pool: how long it takes to create, open, list and read them, and what they cost.
//!
//! Ten thousand of each kind, as the guide has it:
//!
//! ```text
//! cargo test --release -p endura-engine --test engine many_maps -- --nocapture
//! ```

use std::time::Duration;

use endura::{Map, MapOptions, Pool};
use endura_engine::Kind;
use rustix::time::{ClockId, clock_gettime};

use super::memory::held;
use crate::support::pools::killed;

const KINDS: [Kind; 3] = [Kind::FastFair, Kind::NbTree, Kind::Roart];
const MAPS: usize = if cfg!(debug_assertions) { 2_000 } else { 10_000 };
/// The most that a step may take for all maps.
const LIMIT: Duration = Duration::from_secs(1);

/// The time that the calling thread has had a processor: other tests run beside this one.
fn time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Does a step, and says how long it took.
fn step<T>(kind: Kind, what: &str, work: impl FnOnce() -> T) -> T {
    let begun = time();
    let made = work();
    let took = time() - begun;
    println!("{kind}: {MAPS} maps {what} in {} ms", took.as_millis());
    assert!(took <= LIMIT, "{kind}: {what} in {took:?}");
    made
}

fn open(pool: &Pool, kind: Kind, number: usize) -> Map<u64, u64> {
    let options = MapOptions::new().kind(kind);
    pool.map_with(&format!("map {number}"), options).unwrap()
}

fn read_each(pool: &Pool, kind: Kind) {
    for number in 0..MAPS {
        let found = open(pool, kind, number).get(7).unwrap();
        assert_eq!(found, Some(number as u64));
    }
}

fn of_kind(kind: Kind) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let pool = Pool::options().max_size(1 << 30).create_new(&path).unwrap();
    step(kind, "created", || (0..MAPS).for_each(|number| drop(open(&pool, kind, number))));
    step(kind, "written to", || {
        (0..MAPS)
            .for_each(|number| _ = open(&pool, kind, number).insert(7, number as u64).unwrap());
    });
    let report = pool.verify().unwrap();
    println!("{kind}: {} bytes of chunks a map", report.shares.reached / MAPS as u64);
    step(kind, "closed", || pool.close().unwrap());
    drop(pool);

    let before = held();
    let pool = step(kind, "opened", || Pool::options().open_existing(&path).unwrap());
    println!(
        "{kind}: {} bytes of memory a map that is not used",
        (held() - before) / MAPS as isize
    );
    step(kind, "listed", || assert_eq!(pool.maps().unwrap().len(), MAPS));
    step(kind, "read", || read_each(&pool, kind));
    println!("{kind}: {} bytes of memory a map that was read", (held() - before) / MAPS as isize);
    step(kind, "counted", || {
        (0..MAPS).for_each(|number| assert_eq!(open(&pool, kind, number).len().unwrap(), 1));
    });
    killed(pool, &path);

    let pool = Pool::options().recovery_threads(0);
    let pool = step(kind, "opened after a kill", || pool.open_existing(&path).unwrap());
    step(kind, "searched for lost space", || assert!(pool.recover_leaks().unwrap(), "all at once"));
    step(kind, "renamed", || {
        (0..MAPS).for_each(|number| {
            pool.rename(&format!("map {number}"), &format!("{number}")).unwrap();
        });
    });
    step(kind, "dropped", || {
        (0..MAPS).for_each(|number| assert!(pool.drop_map(&format!("{number}")).unwrap()));
    });
    assert!(pool.maps().unwrap().is_empty());
    assert_eq!(pool.verify().unwrap().shares.leaked, 0);
}

#[test]
fn many_maps_in_one_pool_take_a_second_at_most() {
    KINDS.into_iter().for_each(of_kind);
}
