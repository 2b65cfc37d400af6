//! Transactions of many threads on the same keys.

use std::thread;

use endura::Pool;

use crate::maps::{KINDS, Numbers, Random};

/// Threads move amounts between keys of two maps: the sum stays, and each transfer is made once.
#[test]
fn transfers_keep_the_sum() {
    const KEYS: u64 = 8;
    const EACH: u64 = 400;
    let folder = tempfile::tempdir().unwrap();
    for first in 0..KINDS.len() {
        let second = (first + 2) % KINDS.len();
        let pool = Pool::open(folder.path().join(first.to_string())).unwrap();
        let maps = [(0, first), (1, second)]
            .map(|(i, kind): (u32, usize)| Numbers::open(&pool, &i.to_string(), kind));
        for key in 0..KEYS {
            maps.iter().for_each(|map| map.put(key, 1_000));
        }
        thread::scope(|scope| {
            for seed in 1..=3 {
                let (pool, maps) = (&pool, &maps);
                scope.spawn(move || {
                    let mut random = Random(seed);
                    for _ in 0..EACH {
                        let [from, to] =
                            [(); 2].map(|()| (random.below(2) as usize, random.below(KEYS)));
                        pool.transact(|tx| {
                            let left = maps[from.0].get_in(tx, from.1)?.unwrap();
                            let amount = left.min(7);
                            maps[from.0].put_in(tx, from.1, left - amount)?;
                            let had = maps[to.0].get_in(tx, to.1)?.unwrap();
                            maps[to.0].put_in(tx, to.1, had + amount)
                        })
                        .unwrap();
                        // Invariants of batches are never seen broken in a transaction.
                        let sum = pool.transact(|tx| {
                            let mut sum = 0;
                            for map in maps {
                                for key in 0..KEYS {
                                    sum += map.get_in(tx, key)?.unwrap();
                                }
                            }
                            assert_eq!(sum, 2 * KEYS * 1_000, "half a transfer was seen");
                            Ok(sum)
                        });
                        assert_eq!(sum.unwrap(), 2 * KEYS * 1_000);
                    }
                });
            }
        });
        let sum: u64 = maps.iter().flat_map(Numbers::all).map(|(_, value)| value).sum();
        assert_eq!(sum, 2 * KEYS * 1_000);
    }
}

/// Each of many increments counts, beside single writes to another key of the map.
#[test]
fn no_update_of_a_transaction_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    for kind in 0..KINDS.len() {
        let pool = Pool::open(folder.path().join(kind.to_string())).unwrap();
        let map = Numbers::open(&pool, "map", kind);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        pool.transact(|tx| {
                            let n = map.get_in(tx, 5)?.unwrap_or(0);
                            map.put_in(tx, 5, n + 1)
                        })
                        .unwrap();
                    }
                });
            }
            scope.spawn(|| (0..3_000).for_each(|n| map.put(6, n)));
        });
        assert_eq!((map.get(5), map.get(6)), (Some(900), Some(2_999)));
    }
}
