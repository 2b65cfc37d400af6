//! A pop beside commits that overlap without an end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use endura::{Kind, MapOptions, Pool};

/// Threads that commit.
const THREADS: u64 = 12;
/// Keys of a commit: so many that it has the map for itself.
const KEYS: u64 = 4_000;
/// Far longer than as many commits as there are threads take.
const SOON: Duration = Duration::from_secs(4);

#[test]
fn a_pop_gets_its_turn_beside_large_commits() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    for kind in [Kind::FastFair, Kind::NbTree] {
        let pool = Pool::open(folder.path().join(kind.to_string())).unwrap();
        let map = pool.map_with::<u64, u64>("map", MapOptions::new().kind(kind)).unwrap();
        (0..100).for_each(|key| _ = map.put(key, 1).unwrap());
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for thread in 1..=THREADS {
                let (pool, map, stop) = (&pool, &map, &stop);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let mut batch = pool.batch();
                        (0..KEYS).for_each(|key| {
                            _ = batch.put(map, (thread << 32) | (key * 977), thread).unwrap();
                        });
                        batch.commit().unwrap();
                    }
                });
            }
            thread::sleep(Duration::from_millis(200));
            let pop = |_| {
                let begun = Instant::now();
                assert!(map.pop_first().unwrap().is_some());
                begun.elapsed()
            };
            let slowest = (0..8).map(pop).max();
            stop.store(true, Ordering::Relaxed);
            assert!(slowest < Some(SOON), "{kind}: {slowest:?}");
            println!("{kind}: {slowest:?}");
        });
    }
}
