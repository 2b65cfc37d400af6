//! Pools in files.

use std::time::{Duration, Instant};

use endura::{Kind, MapOptions, MediaChoice, Pool};
use endura_engine::space::LeakRecoveryState;

use crate::killed_file::leave_as_killed;

/// The threads of a pool find what was stranded by themselves, and the statistics tell.
#[test]
fn threads_find_it_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.endura");
    for threads in [0, 1, 3] {
        let pool = Pool::options().media(MediaChoice::PageCache).open(&path).unwrap();
        let map = pool.map::<u64, u64>("m").unwrap();
        (0..20_000).for_each(|key| _ = map.insert(key, key).unwrap());
        leave_as_killed(&path, || {
            drop(map);
            pool.close().unwrap();
        });
        let pool = Pool::options().recovery_threads(threads).open_existing(&path).unwrap();
        assert!(!pool.stats().unwrap().clean_open);
        if threads == 0 {
            assert_eq!(pool.stats().unwrap().leak_recovery.state, LeakRecoveryState::Pending);
            assert!(pool.recover_leaks().unwrap());
        }
        let begun = Instant::now();
        while !pool.stats().unwrap().leak_recovery.is_done() {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
        assert_eq!(pool.verify().unwrap().shares.leaked, 0);
        assert_eq!(pool.map::<u64, u64>("m").unwrap().range(..).count(), 20_000);
        pool.close().unwrap();
    }
}

/// A15. A pool is the same wherever it is mapped, and so is a copy of its file; a file that is none is
/// refused, and not written to.
#[test]
fn a15_a_copy_opens_at_another_address_and_what_is_no_pool_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [path, copy] = ["pool", "copy"].map(|name| folder.path().join(name));
    let options = Pool::options().max_size(1 << 28);
    let pool = options.create_new(&path).unwrap();
    let nbtree = MapOptions::new().kind(Kind::NbTree);
    for n in 0..2_000_u64 {
        pool.map::<u64, u64>("f").unwrap().insert(n * 7, n).unwrap();
        pool.map_with::<u64, u64>("n", nbtree).unwrap().insert(n * 11, n).unwrap();
        let strings = pool.map::<str, [u8]>("r").unwrap();
        strings.insert(&format!("key/{n}"), &n.to_le_bytes()).unwrap();
    }
    pool.close().unwrap();
    std::fs::copy(&path, &copy).unwrap();
    // Both at once, so that they cannot be mapped at one address.
    let both = [&path, &copy].map(|path| options.open_existing(path).unwrap());
    for pool in &both {
        assert_eq!(pool.verify().unwrap().shares.leaked, 0);
        let numbers = |entry: endura::Result<(u64, u64)>| entry.unwrap();
        let expected = |step: u64| (0..2_000_u64).map(move |n| (n * step, n));
        assert!(pool.map::<u64, u64>("f").unwrap().iter().map(numbers).eq(expected(7)));
        let other = pool.map_with::<u64, u64>("n", nbtree).unwrap();
        assert!(other.iter().map(numbers).eq(expected(11)));
        let strings = pool.map::<str, [u8]>("r").unwrap();
        assert_eq!(strings.iter().count(), 2_000);
        assert!(
            (0..2_000_u64)
                .all(|n| { strings.get(&format!("key/{n}")).unwrap().unwrap() == n.to_le_bytes() })
        );
    }
    both.into_iter().for_each(|pool| _ = pool.close().unwrap());
    let whole = std::fs::read(&copy).unwrap();
    let mut headless = whole.clone();
    headless[..8192].fill(0);
    for bytes in [&headless[..], &whole[..whole.len() / 2], &whole[..4096], &[1; 100]] {
        std::fs::write(&copy, bytes).unwrap();
        assert!(options.open_existing(&copy).is_err(), "{} bytes", bytes.len());
        assert!(std::fs::read(&copy).unwrap() == bytes, "written to");
    }
}
