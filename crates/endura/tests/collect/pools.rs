//! Pools in files.

use std::time::{Duration, Instant};

use endura::pool::CollectionState;
use endura::{MediaChoice, Pool};

/// The threads of a pool find what was stranded by themselves, and the statistics tell.
#[test]
fn threads_find_it_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.endura");
    for threads in [0, 1, 3] {
        let pool = Pool::options().media(MediaChoice::PageCache).open_or_create(&path).unwrap();
        let map = pool.fast_fair("m").unwrap();
        (0..20_000).for_each(|key| _ = map.insert(key, key).unwrap());
        // As a killed process leaves it.
        let before = std::fs::read(&path).unwrap();
        drop(map);
        pool.close().unwrap();
        std::fs::write(&path, before).unwrap();
        let pool = Pool::options().collectors(threads).open(&path).unwrap();
        assert!(!pool.stats().unwrap().clean_open);
        if threads == 0 {
            assert_eq!(pool.stats().unwrap().collection.state, CollectionState::Pending);
            assert!(pool.collect().unwrap());
        }
        let begun = Instant::now();
        while !pool.stats().unwrap().collection.is_done() {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
        assert_eq!(pool.verify().unwrap().shares.leaked, 0);
        assert_eq!(pool.fast_fair("m").unwrap().range(..).count(), 20_000);
        pool.close().unwrap();
    }
}
