//! All that reads a map, in a session that only reads: whatever a kill or a close has left, the answers agree and
//! nothing is stored. The file is mapped without the right to store, so that a store ends this process.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

use endura::{Error, Pool, Value};

use crate::cases::{self, Blobs, Case, Texts, Visitor};

/// Opens the pool to be read, reads all of it in every way there is, and closes it.
pub(crate) fn read_in_every_way(path: &Path) {
    let pool = Pool::options().read_only(true).open_existing(path).unwrap();
    let reads = || {
        let mut reads = Reads { pool: &pool, maps: 0 };
        cases::all(&mut reads);
        reads.maps
    };
    // Two threads, for the first use of an NbTree makes what both need.
    let maps = std::thread::scope(|scope| {
        let other = scope.spawn(reads);
        (reads(), other.join().unwrap())
    });
    assert_eq!(maps.0, maps.1);
    assert_eq!(pool.maps().unwrap().len(), maps.0);
    pool.verify().unwrap();
    assert!(pool.stats().unwrap().read_only);
    for refused in [
        pool.recover_leaks().map(drop),
        pool.drop_map("numbers").map(drop),
        pool.rename("numbers", "others"),
        pool.map::<u64, u64>("a new one").map(drop).map_err(|error| match error {
            Error::NoSuchMap { .. } => Error::ReadOnly,
            other => other,
        }),
    ] {
        assert!(matches!(refused, Err(Error::ReadOnly)), "{refused:?}");
    }
    pool.close().unwrap();
}

struct Reads<'p> {
    pool: &'p Pool,
    maps: usize,
}

impl Visitor for Reads<'_> {
    fn visit<C: Case>(&mut self)
    where
        <C::K as Value>::Owned: Ord + Clone + Debug,
        <C::V as Value>::Owned: PartialEq + Clone + Debug,
    {
        let map = match C::try_open(self.pool) {
            // Killed before it was made.
            Err(Error::NoSuchMap { .. }) => return,
            map => map.unwrap(),
        };
        self.maps += 1;
        // Before anything was counted.
        map.approximate_len().unwrap();
        let first = map.first_key_value().unwrap();
        let entries: Vec<_> = map.iter().map(Result::unwrap).collect();
        let mut backward: Vec<_> = map.iter().rev().map(Result::unwrap).collect();
        backward.reverse();
        assert!(entries == backward, "{}", C::NAME);
        assert_eq!(
            (first.as_ref(), map.last_key_value().unwrap().as_ref()),
            (entries.first(), entries.last())
        );
        assert_eq!(map.is_empty().unwrap(), entries.is_empty());
        assert_eq!(map.len().unwrap(), entries.len());
        let (mut up, mut down) = (0, 0);
        map.iter().visit(|_, _| up += 1).unwrap();
        map.iter().visit_rev(|_, _| down += 1).unwrap();
        assert_eq!([up, down, map.keys().count(), map.values().count()], [entries.len(); 4]);
        let model: BTreeMap<_, _> = entries.into_iter().collect();
        let keys: Vec<_> = (0..1_000).map(C::key).collect();
        let many = map.get_many(keys.iter().map(<C::K as Value>::lend)).unwrap();
        for (key, many) in keys.iter().zip(many) {
            let (lent, known) = (<C::K as Value>::lend(key), model.get(key));
            assert_eq!(map.get(lent).unwrap().as_ref(), known);
            assert_eq!(many.as_ref(), known);
            assert_eq!(map.contains_key(lent).unwrap(), known.is_some());
            assert_eq!(map.get_with(lent, |_| ()).unwrap().is_some(), known.is_some());
        }
        let key = &keys[0];
        let (key, value) = (<C::K as Value>::lend(key), C::value(0));
        let value = <C::V as Value>::lend(&value);
        for refused in [
            map.insert(key, value).map(drop),
            map.replace(key, value).map(drop),
            map.alter(key, |_| None).map(drop),
            map.remove(key).map(drop),
        ] {
            assert!(matches!(refused, Err(Error::ReadOnly)), "{refused:?}");
        }
    }
}

/// What only some types have.
fn read_as_these_types_can(path: &Path) {
    let pool = Pool::options().read_only(true).open_existing(path).unwrap();
    let texts = Texts::open(&pool);
    let begun = texts.iter().filter(|entry| entry.as_ref().unwrap().0.starts_with("user:"));
    assert_eq!(texts.prefix("user:").count(), begun.count());
    assert_eq!(texts.prefix("user:").rev().count(), texts.prefix("user:").count());
    let blobs = Blobs::open(&pool);
    for (key, value) in blobs.iter().take(100).map(Result::unwrap) {
        assert_eq!(blobs.read_with(key, |bytes| bytes.to_vec()).unwrap(), Some(value));
    }
    let mut visited = 0;
    blobs.range_with(.., |_, _| visited += 1).unwrap();
    assert_eq!(visited, blobs.len().unwrap());
    pool.close().unwrap();
}

/// Some of each case, then some taken out again.
struct Fills<'p>(&'p Pool);

impl Visitor for Fills<'_> {
    fn visit<C: Case>(&mut self) {
        let map = C::open(self.0);
        for n in 0..2_000 {
            let (key, value) = (C::key(n), C::value(n));
            map.insert(<C::K as Value>::lend(&key), <C::V as Value>::lend(&value)).unwrap();
        }
        for n in (0..2_000).step_by(3) {
            map.remove(<C::K as Value>::lend(&C::key(n))).unwrap();
        }
    }
}

#[test]
fn a_closed_pool_is_read_in_every_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool.endura");
    let pool = Pool::open(&path).unwrap();
    cases::all(&mut Fills(&pool));
    pool.close().unwrap();
    let before = std::fs::read(&path).unwrap();
    read_in_every_way(&path);
    read_as_these_types_can(&path);
    assert!(std::fs::read(&path).unwrap() == before);
}
