//! Large batches, and too large ones.

use endura::{Batch, Error, Kind, MapOptions, Pool};

const MOST: u64 = Batch::MOST_PARTS as u64;

#[test]
fn a_million_parts_are_one_batch_and_one_more_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [Kind::FastFair, Kind::NbTree] {
        let pool = Pool::open(folder.path().join(kind.name())).unwrap();
        let map = pool.map_with::<u64, u64>("map", MapOptions::new().kind(kind)).unwrap();
        let mut batch = pool.batch();
        for key in 0..MOST {
            batch.put(&map, key.wrapping_mul(0x9E37_79B9_7F4A_7C15), key).unwrap();
        }
        batch.put(&map, 1, 1).unwrap();
        let refused = batch.commit();
        assert!(matches!(refused, Err(Error::BatchTooLarge { operations: 1_048_577, .. })));
        batch.clear();
        for key in 0..MOST {
            batch.put(&map, key.wrapping_mul(0x9E37_79B9_7F4A_7C15), key).unwrap();
        }
        batch.commit().unwrap();
        assert_eq!(map.len().unwrap() as u64, MOST);
        pool.verify().unwrap();
        pool.close().unwrap();
    }
}

/// A small pool is filled by batches until there is no space, and goes on after removes.
#[test]
fn a_full_pool_refuses_a_batch_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        let path = folder.path().join(kind.name());
        let pool = Pool::options().max_size(8 << 20).open(path).unwrap();
        let map = pool.map_with::<str, [u8]>("map", MapOptions::new().kind(kind)).unwrap();
        let numbers = pool.map_with::<u64, u64>("numbers", MapOptions::new()).unwrap();
        let mut made = 0_u64;
        let failed = loop {
            let mut batch = pool.batch();
            for i in 0..50 {
                let key = format!("key {} of batch {made}, which is long", i * 7919 % 50);
                batch.put(&map, &key, &[made as u8; 300]).unwrap();
                batch.put(&numbers, made << 32 | i, i).unwrap();
            }
            match batch.commit() {
                Ok(()) => made += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(failed, Error::Full { .. }), "{failed:?}");
        assert!(made > 20, "{made}");
        let count = |made: u64| {
            assert_eq!(map.len().unwrap() as u64, 50 * made);
            assert_eq!(numbers.len().unwrap() as u64, 50 * made);
        };
        count(made);
        map.remove_range("key 10".."key 2").unwrap();
        let left = map.len().unwrap() as u64;
        pool.batch()
            .put(&map, "a", &[0; 300])
            .unwrap()
            .put(&map, "b", &[0; 300])
            .unwrap()
            .commit()
            .unwrap();
        assert_eq!(map.len().unwrap() as u64, left + 2);
        pool.verify().unwrap();
        pool.close().unwrap();
    }
}

/// A part that is too long is refused where it is added, and is no part. The others are committed.
#[test]
fn too_long_keys_and_values_are_refused_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("data.endura")).unwrap();
    let map = pool.map::<str, [u8]>("map").unwrap();
    let long = "k".repeat(70_000);
    let mut batch = pool.batch();
    batch.put(&map, "first", b"1").unwrap();
    assert!(matches!(batch.put(&map, &long, b"1"), Err(Error::KeyTooLong { len: 70_000, .. })));
    assert!(matches!(batch.delete(&map, &long), Err(Error::KeyTooLong { .. })));
    let value = vec![0; (1 << 30) + 1];
    assert!(matches!(batch.put(&map, "second", &value), Err(Error::ValueTooLong { .. })));
    batch.put(&map, "third", b"3").unwrap();
    assert_eq!(batch.len(), 2);
    batch.commit().unwrap();
    assert_eq!(map.len().unwrap(), 2);
}

#[test]
fn an_empty_batch_is_refused_by_a_closed_pool_too() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("data.endura")).unwrap();
    let mut batch = pool.batch();
    batch.commit().unwrap();
    pool.close().unwrap();
    assert!(matches!(batch.commit(), Err(Error::Closed { .. })));
}
