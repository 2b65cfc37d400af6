//! Typed maps, and what a batch refuses.

use endura::{Error, Json, Pool};

#[test]
fn maps_of_any_types_are_changed_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool")).unwrap();
    let people = pool.map::<u64, str>("people").unwrap();
    let by_name = pool.map::<(String, u64), ()>("by name").unwrap();
    let flags = pool.map::<(), bool>("flags").unwrap();
    let docs = pool.map::<str, Json<Vec<(String, u32)>>>("docs").unwrap();
    let doc = vec![("a".to_owned(), 1)];
    let mut batch = pool.batch();
    batch.put(&people, 7, "Ada").unwrap().put(&by_name, ("Ada", 7), ()).unwrap();
    batch.put(&flags, (), true).unwrap().put(&docs, "d", &doc).unwrap();
    batch.expect(&people, 7, None).unwrap();
    batch.commit().unwrap();
    assert_eq!(people.get(7).unwrap().as_deref(), Some("Ada"));
    assert!(by_name.contains_key(("Ada", 7)).unwrap());
    assert_eq!(flags.get(()).unwrap(), Some(true));
    assert_eq!(docs.get("d").unwrap(), Some(doc.clone()));
    // Conditions alone.
    batch.expect(&people, 7, Some("Ada")).unwrap().expect(&docs, "d", Some(&doc)).unwrap();
    batch.commit().unwrap();
    batch.expect(&people, 7, Some("Eve")).unwrap();
    assert!(matches!(batch.commit(), Err(Error::Unmet { index: 0 })));
    batch.clear();
    batch.commit().unwrap();
}

#[test]
fn a_batch_takes_maps_of_its_pool_only() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| Pool::open(folder.path().join(name)).unwrap());
    let map = b.map::<u64, u64>("map").unwrap();
    let mut batch = a.batch();
    assert!(matches!(batch.put(&map, 1, 1), Err(Error::OtherPool)));
    assert!(matches!(batch.delete(&map, 1), Err(Error::OtherPool)));
    assert!(matches!(batch.expect(&map, 1, None), Err(Error::OtherPool)));
    assert!(batch.is_empty());
    let failed = a.transact(|tx| tx.get(&map, 1));
    assert!(matches!(failed, Err(Error::OtherPool)));
}

#[test]
fn a_batch_that_cannot_be_made_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let pool = Pool::open(&path).unwrap();
    let numbers = pool.map::<u64, u64>("numbers").unwrap();
    let texts = pool.map::<str, str>("texts").unwrap();
    let mut batch = pool.batch();
    batch.put(&numbers, 1, 1).unwrap().put(&texts, "a", "b").unwrap();
    pool.drop_map("texts").unwrap();
    assert!(matches!(batch.commit(), Err(Error::Dropped)));
    assert!(numbers.get(1).unwrap().is_none());
    pool.close().unwrap();
    assert!(matches!(batch.commit(), Err(Error::Closed { .. })));
    let pool = Pool::options().read_only(true).open(&path).unwrap();
    let numbers = pool.map::<u64, u64>("numbers").unwrap();
    let mut batch = pool.batch();
    batch.put(&numbers, 1, 1).unwrap();
    assert!(matches!(batch.commit(), Err(Error::ReadOnly)));
    // What only reads works there too.
    batch.clear();
    batch.expect(&numbers, 1, None).unwrap().commit().unwrap();
    assert_eq!(pool.transact(|tx| tx.get(&numbers, 1)).unwrap(), None);
    assert_eq!(pool.read(|| numbers.get(1)).unwrap(), None);
}

#[test]
fn a_transaction_that_fails_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::open(folder.path().join("pool")).unwrap();
    let map = pool.map::<str, u64>("map").unwrap();
    let failed = pool.transact(|tx| {
        tx.put(&map, "a", 1)?;
        Err::<(), _>(Error::NoSuchMap { name: "mine".to_owned() })
    });
    assert!(matches!(failed, Err(Error::NoSuchMap { .. })));
    assert_eq!(map.get("a").unwrap(), None);
    pool.transact(|tx| {
        tx.put(&map, "a", 1)?;
        assert_eq!((tx.get(&map, "a")?, tx.contains_key(&map, "b")?), (Some(1), false));
        tx.delete(&map, "a")?;
        assert!(!tx.contains_key(&map, "a")?);
        tx.put(&map, "b", 2)
    })
    .unwrap();
    assert_eq!((map.get("a").unwrap(), map.get("b").unwrap()), (None, Some(2)));
}
