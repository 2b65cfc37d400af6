//! NBTree maps in pools: kinds, reopening, dropping, reading only.

use endura::{MapOptions, Pool, PoolOptions};
use endura_engine::{Error, Kind};

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
    let map = pool.map_with::<u64, u64>("map", MapOptions::new().kind(Kind::NbTree)).unwrap();
    (0..ENTRIES).for_each(|n| assert_eq!(map.insert(scatter(n), n).unwrap(), None));
    let before = pool.verify().unwrap();
    assert_eq!((before.maps[0].entries, before.maps[0].kind), (ENTRIES, Kind::NbTree));
    assert_eq!((before.repairs_pending(), before.shares.leaked), (0, 0));
    pool.close().unwrap();
    assert!(matches!(map.get(0), Err(Error::Closed { .. })));
    for read_only in [true, false] {
        let pool = options().read_only(read_only).open_existing(&path).unwrap();
        let map = pool.map_with::<u64, u64>("map", MapOptions::new().kind(Kind::NbTree)).unwrap();
        assert_eq!(map.approximate_len().unwrap(), ENTRIES as usize);
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
    let (one, other) = (
        pool.map_with::<u64, u64>("map", MapOptions::new().kind(Kind::NbTree)).unwrap(),
        pool.map_with::<u64, u64>("map", MapOptions::new().kind(Kind::NbTree)).unwrap(),
    );
    (0..ENTRIES).for_each(|n| assert_eq!(one.insert(scatter(n), n).unwrap(), None));
    (0..ENTRIES).for_each(|n| assert_eq!(other.remove(scatter(n)).unwrap(), Some(n)));
    assert!(one.is_empty().unwrap());
    let open = |name, kind| pool.map_with::<u64, u64>(name, MapOptions::new().kind(kind));
    assert!(matches!(open("map", Kind::FastFair), Err(Error::WrongKind { .. })));
    pool.map::<u64, u64>("other").unwrap();
    assert!(matches!(open("other", Kind::NbTree), Err(Error::WrongKind { .. })));
    assert_eq!(pool.map::<u64, u64>("map").unwrap().kind(), Kind::NbTree);
    assert_eq!(pool.map::<u64, u64>("other").unwrap().kind(), Kind::FastFair);
}

#[test]
fn a_dropped_map_gives_all_its_chunks_back() {
    let folder = tempfile::tempdir().unwrap();
    let pool = options().create_new(folder.path().join("pool")).unwrap();
    let map = pool.map_with::<u64, u64>("map", MapOptions::new().kind(Kind::NbTree)).unwrap();
    (0..ENTRIES).for_each(|n| assert_eq!(map.insert(scatter(n), n).unwrap(), None));
    assert!(pool.drop_map("map").unwrap());
    assert!(matches!(map.get(0), Err(Error::Dropped)));
    let shares = pool.verify().unwrap().shares;
    assert_eq!((shares.reached, shares.leaked), (0, 0), "{shares:?}");
    assert!(
        pool.map_with::<u64, u64>("map", MapOptions::new().kind(Kind::NbTree))
            .unwrap()
            .is_empty()
            .unwrap()
    );
}
