//! Maps that were dropped while somebody may still be inside: their chunks wait, they are not lost.

use endura::MapOptions;
use endura_engine::{Kind, LeakRecoveryState};

use crate::support::patched::options;
use crate::support::patience::ends;

#[test]
fn chunks_of_a_dropped_map_wait_and_are_not_leaked() {
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        ends(kind.name(), move || of_kind(kind, false));
        if kind != Kind::NbTree {
            ends(kind.name(), move || of_kind(kind, true));
        }
    }
}

fn of_kind(kind: Kind, strings: bool) {
    let folder = tempfile::tempdir().unwrap();
    let pool = options().create_new(folder.path().join("pool")).unwrap();
    let other = pool.map::<str, str>("other").unwrap();
    other.insert("key", "value").unwrap();
    let of_kind = MapOptions::new().kind(kind);
    if strings {
        let map = pool.map_with::<str, str>("map", of_kind).unwrap();
        (0..5_000).for_each(|n: u64| drop(map.insert(&n.to_string(), "value").unwrap()));
    } else {
        let map = pool.map_with::<u64, u64>("map", of_kind).unwrap();
        (0..5_000).for_each(|key| assert_eq!(map.insert(key, key).unwrap(), None));
    }
    let before = pool.verify().unwrap().shares;
    // The dropping thread is inside an operation itself, for which the nodes have to wait.
    let dropped = other.get_with("key", |_| pool.drop_map("map").unwrap()).unwrap();
    assert_eq!(dropped, Some(true));
    let shares = pool.verify().unwrap().shares;
    assert_eq!(pool.stats().unwrap().leak_recovery.state, LeakRecoveryState::NotNeeded);
    assert_eq!(shares.leaked, 0, "{kind}: {shares:?}");
    assert!(shares.limbo >= before.reached / 2, "{kind}: {shares:?} after {before:?}");
    // The next drop frees them.
    pool.map::<[u8], [u8]>("last").unwrap();
    assert!(pool.drop_map("last").unwrap());
    let shares = pool.verify().unwrap().shares;
    assert_eq!(shares.leaked, 0, "{kind}: {shares:?}");
    assert!(shares.limbo <= before.limbo, "{kind}: {shares:?} after {before:?}");
}
