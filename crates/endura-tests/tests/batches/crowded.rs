//! Looks and pops beside commits that overlap without an end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use endura::{Kind, MapOptions, Pool};

#[test]
fn experiment() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    for kind in [Kind::FastFair, Kind::NbTree] {
        for (threads, keys) in [(2_u64, 4_000_u64), (6, 4_000), (12, 4_000), (12, 300)] {
            let pool = Pool::open(folder.path().join(format!("{kind}{threads}{keys}"))).unwrap();
            let map = pool.map_with::<u64, u64>("map", MapOptions::new().kind(kind)).unwrap();
            (0..100).for_each(|key| _ = map.put(key, 1).unwrap());
            let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
            let mut worst = [Duration::ZERO; 4];
            let mut count = [0; 4];
            thread::scope(|scope| {
                for t in 1..=threads {
                    let (pool, map, stop, commits) = (&pool, &map, &stop, &commits);
                    scope.spawn(move || {
                        let mut n = 0;
                        while !stop.load(Ordering::Relaxed) {
                            let mut batch = pool.batch();
                            n += 1;
                            (0..keys).for_each(|key| {
                                _ = batch.put(map, t << 32 | key * 977, n).unwrap()
                            });
                            batch.commit().unwrap();
                            commits.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
                thread::sleep(Duration::from_millis(300));
                for what in 0..4 {
                    let begun = Instant::now();
                    while begun.elapsed() < Duration::from_secs(4) {
                        let at = Instant::now();
                        match what {
                            0 => drop(map.first_key_value().unwrap()),
                            1 => drop(map.pop_first().unwrap()),
                            2 => drop(pool.read(|| map.get(5))),
                            _ => drop(pool.verify().map_err(|e| println!("{e:?}"))),
                        }
                        worst[what] = worst[what].max(at.elapsed());
                        count[what] += 1;
                    }
                }
                stop.store(true, Ordering::Relaxed);
            });
            println!(
                "{kind} {threads} threads {keys} keys: first, pop, read, verify worst {worst:?}, {count:?}, {} commits",
                commits.into_inner()
            );
        }
    }
}
