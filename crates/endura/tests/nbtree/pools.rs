//! NBTree maps in pools: kinds, reopening, dropping, reading only.

use endura::lab::handles::Handles as _;
use endura::lab::tree::Len;
use endura::{Error, Kind, Pool, PoolOptions};

use crate::support::ops::scatter;

const ENTRIES: u64 = 5_000;

fn options() -> PoolOptions {
    Pool::options().max_size(1 << 30)
}

#[test]
fn a_map_is_what_it_was_after_a_close() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let pool = options().create_new(&path).unwrap();
    let map = pool.nbtree("map").unwrap();
    (0..ENTRIES).for_each(|n| assert_eq!(map.insert(scatter(n), n).unwrap(), None));
    let before = pool.verify().unwrap();
    assert_eq!((before.maps[0].entries, before.maps[0].kind), (ENTRIES, Kind::NbTree));
    assert_eq!((before.repairs_pending(), before.shares.leaked), (0, 0));
    pool.close().unwrap();
    assert!(matches!(map.get(0), Err(Error::Closed)));
    for read_only in [true, false] {
        let pool = options().read_only(read_only).open_existing(&path).unwrap();
        let map = pool.nbtree("map").unwrap();
        assert_eq!(map.len().unwrap(), Len::Exact(ENTRIES));
        let all = map.range(..).map(Result::unwrap);
        assert!(all.map(|(key, _)| key).is_sorted());
        (0..ENTRIES).for_each(|n| assert_eq!(map.get(scatter(n)).unwrap(), Some(n)));
        assert_eq!(matches!(map.insert(0, 0), Err(Error::ReadOnly)), read_only);
        assert_eq!(pool.verify().unwrap().maps[0].entries, ENTRIES);
    }
}

#[test]
fn two_handles_are_one_map_and_two_kinds_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let pool = options().create_new(folder.path().join("pool")).unwrap();
    let (one, other) = (pool.nbtree("map").unwrap(), pool.nbtree("map").unwrap());
    (0..ENTRIES).for_each(|n| assert_eq!(one.insert(scatter(n), n).unwrap(), None));
    (0..ENTRIES).for_each(|n| assert_eq!(other.remove(scatter(n)).unwrap(), Some(n)));
    assert!(one.is_empty().unwrap());
    assert!(matches!(pool.fast_fair("map"), Err(Error::WrongKind { .. })));
    pool.fast_fair("other").unwrap();
    assert!(matches!(pool.nbtree("other"), Err(Error::WrongKind { .. })));
    assert_eq!(pool.any_map("map", None).unwrap().index().kind(), Kind::NbTree);
    assert_eq!(pool.any_map("other", None).unwrap().index().kind(), Kind::FastFair);
    assert!(pool.any_map("other", Some(Kind::NbTree)).is_err());
}

#[test]
fn a_dropped_map_gives_all_its_chunks_back() {
    let folder = tempfile::tempdir().unwrap();
    let pool = options().create_new(folder.path().join("pool")).unwrap();
    let map = pool.nbtree("map").unwrap();
    (0..ENTRIES).for_each(|n| assert_eq!(map.insert(scatter(n), n).unwrap(), None));
    assert!(pool.drop_map("map").unwrap());
    assert!(matches!(map.get(0), Err(Error::Dropped)));
    let shares = pool.verify().unwrap().shares;
    assert_eq!((shares.reached, shares.leaked), (0, 0), "{shares:?}");
    assert!(pool.nbtree("map").unwrap().is_empty().unwrap());
}
