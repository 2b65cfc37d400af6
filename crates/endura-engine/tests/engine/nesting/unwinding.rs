//! A panic that is none of the pool's: what a destructor does in a map while the thread unwinds for
//! a reason of its own is as good as any other operation, and the pool stays in use.

use std::panic::{AssertUnwindSafe, catch_unwind};

use endura::{MapOptions, Pool};
use endura_engine::Kind;

use crate::support::patience::ends;

/// Runs a closure when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Runs `work` while this thread unwinds.
fn while_unwinding(mut work: impl FnMut()) {
    let mut outcome = None;
    let caught = catch_unwind(AssertUnwindSafe(|| {
        // A second panic must not leave the destructor.
        let _last_will = OnDrop(|| outcome = Some(catch_unwind(AssertUnwindSafe(&mut work))));
        panic!("the program's own");
    }));
    assert!(caught.is_err());
    outcome.unwrap().unwrap();
}

#[test]
fn writes_of_a_destructor_poison_nothing() {
    for kind in [Kind::FastFair, Kind::NbTree] {
        ends(kind.name(), move || of_kind(kind));
    }
}

fn of_kind(kind: Kind) {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::options().max_size(64 << 20).create_new(folder.path().join("pool")).unwrap();
    let map = pool.map_with::<u64, u64>("map", MapOptions::new().kind(kind)).unwrap();
    while_unwinding(|| {
        // Enough to split nodes, and to merge them.
        (0..2_000).for_each(|key| assert_eq!(map.insert(key, key).unwrap(), None));
        (0..1_900).for_each(|key| assert_eq!(map.remove(key).unwrap(), Some(key)));
        assert_eq!(map.range(..).count(), 100);
    });
    assert_eq!(map.insert(1, 1).unwrap(), None, "{kind}");
    drop(map);
    pool.close().unwrap();
}

#[test]
fn writes_and_scans_of_byte_maps_in_a_destructor_poison_nothing() {
    ends("a ROART map", of_bytes);
}

fn of_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::options().max_size(64 << 20).create_new(folder.path().join("pool")).unwrap();
    let map = pool.map::<str, str>("map").unwrap();
    let key = |n: u64| format!("a/shared/prefix/{n}");
    while_unwinding(|| {
        (0..2_000).for_each(|n| assert_eq!(map.insert(&key(n), "value").unwrap(), None));
        (0..1_900).for_each(|n| assert!(map.remove(&key(n)).unwrap().is_some()));
        // A scan leaves the order of the keys behind, under a lock.
        assert_eq!(map.iter().count(), 100);
    });
    assert_eq!(map.insert("key", "value").unwrap(), None);
    assert_eq!(map.iter().rev().count(), 101);
    drop(map);
    pool.close().unwrap();
}
