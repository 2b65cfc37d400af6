//! A client stores an item in the moment in which the old one is evicted, moved or swept.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use endura::Pool;

use super::hand::evict;
use super::{About, Item, Store, StoreOptions, Stored, Stores};
use crate::clock::Expiry;

const NOW: u32 = 1_000;
const KEYS: u64 = 8;

fn about(expiry: u32) -> About {
    About { flags: 0, expiry: Expiry(expiry), has_binary_key: false }
}

fn set(store: &Store, key: &[u8], expiry: u32, data: &[u8]) -> u64 {
    match store.store(Stores::Set, key, about(expiry), data, NOW).unwrap() {
        Stored::Yes(cas) => cas,
        stored => panic!("{stored:?}"),
    }
}

/// After the store has returned, its item is there, whatever happens to the old one at the same time. The number of races
/// is `ENDURA_EVICTION_RACES`.
#[test]
fn a_store_stays_while_the_old_item_goes() {
    let rounds = std::env::var("ENDURA_EVICTION_RACES").map_or(5_000, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::options().max_size(64 << 20);
    let options = StoreOptions { pool, max_item: 1 << 20, evicts: true };
    let store = Store::open(&folder.path().join("pool"), &options, NOW).unwrap();
    let evictions = store.evictions().unwrap();
    let (barrier, old, gone) = (Barrier::new(2), AtomicU64::new(0), AtomicU64::new(0));
    let key = |round: u64| format!("key {}", round % KEYS).into_bytes();
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..rounds {
                barrier.wait();
                let key = key(round);
                let is_gone = match round % 3 {
                    0 => evict(&store, evictions, &key, Some(old.load(Ordering::Relaxed))).unwrap(),
                    1 => store.remove_dead(&key, NOW).unwrap(),
                    _ => {
                        let old = store.bytes_of(&key).unwrap().unwrap();
                        !store.exchange(&key, &old, Some(&old)).unwrap()
                    }
                };
                gone.fetch_add(u64::from(is_gone), Ordering::Relaxed);
                barrier.wait();
            }
        });
        for round in 0..rounds {
            let (key, data) = (key(round), round.to_string());
            // An old item that is swept has expired.
            let expiry = if round % 3 == 1 { NOW - 1 } else { 0 };
            old.store(set(&store, &key, expiry, b"old"), Ordering::Relaxed);
            barrier.wait();
            // The moment of the store moves over that of the eviction.
            (0..round % 64).for_each(|_| std::hint::spin_loop());
            let cas = set(&store, &key, 0, data.as_bytes());
            barrier.wait();
            let mut found = None;
            let show = |item: Item<'_>| found = Some((item.cas, item.data.to_vec()));
            store.get(&key, NOW, show).unwrap();
            assert_eq!(found, Some((cas, data.into_bytes())), "round {round}");
        }
    });
    // Both orders have happened.
    let gone = gone.into_inner();
    assert!(gone > 0 && gone < rounds, "{gone} of {rounds}");
}
