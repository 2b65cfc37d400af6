//! Damage that makes no operation fail, but stops work in the background, shows in `stats().warnings`; and damage
//! that would make entries vanish is `Corrupt`.

use std::os::unix::fs::FileExt;
use std::path::Path;

use endura::{MapOptions, Pool};
use endura_engine::{Checkpoints, Kind, LeakRecoveryState, Stats};

use crate::killed_file::leave_as_killed;
use crate::support::patched::{Closed, options, outcome};

/// A pool as a killed process leaves it, with a few entries in each kind of map.
fn unclosed_pool(path: &Path) {
    let pool = Pool::options().checkpoints(Checkpoints::off()).create_new(path).unwrap();
    let (numbers, strings) =
        (pool.map::<u64, u64>("numbers").unwrap(), pool.map::<u64, [u8]>("strings").unwrap());
    for key in 0..2_000_u64 {
        numbers.insert(key, key).unwrap();
        strings.insert(key, &key.to_be_bytes()).unwrap();
    }
    leave_as_killed(path, || drop((numbers, strings, pool)));
}

/// What the pool says when its leak recovery has been tried.
fn collected(path: &Path) -> (Stats, bool) {
    let pool = Pool::options().open_existing(path).unwrap();
    let done = pool.recover_leaks().unwrap();
    // Also what was refused can be read.
    assert_eq!(pool.map::<u64, u64>("numbers").unwrap().get(1).unwrap(), Some(1));
    (pool.stats().unwrap(), done)
}

#[test]
fn headers_that_contradict_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    unclosed_pool(&path);
    let (stats, done) = collected(&path);
    assert_eq!((stats.warnings, done), (vec![], true));

    std::fs::remove_file(&path).unwrap();
    unclosed_pool(&path);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    // The header of the first span.
    file.write_all_at(&[0; 8], 12_288 + 8 * 12).unwrap();
    let (stats, done) = collected(&path);
    assert_eq!((stats.leak_recovery.state, done), (LeakRecoveryState::Failed, false));
    let told = |what: &str| stats.warnings.iter().any(|warning| warning.contains(what));
    assert!(told("headers of pages") && told("was given up"), "{:?}", stats.warnings);
}

/// A replaced block of an NBTree leads to the one that replaces it, and not out of the chain.
#[test]
fn a_signpost_that_leads_nowhere() {
    let closed = Closed::new(Kind::NbTree, 1_500);
    for number in [0, 1, 5] {
        let path = closed.patched(|words| words.put(words.blocks()[number], 3));
        let pool = options().open_existing(path).unwrap();
        let map = pool.map_with::<u64, u64>("map", MapOptions::new().kind(Kind::NbTree)).unwrap();
        for found in [map.get(1_000).map(drop), map.insert(2_000, 1).map(drop)] {
            assert_eq!(outcome(found), "`Corrupt`", "block {number}");
        }
        assert_eq!(outcome(map.last_key_value()), "`Corrupt`", "block {number}");
        assert_eq!(outcome(pool.verify()), "`Corrupt`", "block {number}");
    }
}
