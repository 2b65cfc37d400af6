//! The commands on a store, without a network.

use std::path::Path;
use std::sync::mpsc;

use endura::{Error, Pool};

use super::changes::Change;
use super::sweep::turn;
use super::{About, Counter, Deleted, Delta, Item, Store, StoreOptions, Stored, Stores, Sum};
use crate::clock::Expiry;

const NOW: u32 = 1_000;
const FOREVER: About = about(5, 0);

const fn about(flags: u32, expiry: u32) -> About {
    About { flags, expiry: Expiry(expiry), has_binary_key: false }
}

fn is_stored(stored: Stored) -> bool {
    matches!(stored, Stored::Yes(_))
}

fn open(folder: &Path, now: u32) -> Store {
    let pool = Pool::options().max_size(64 << 20);
    Store::open(&folder.join("pool"), &StoreOptions { pool, max_item: 100, evicts: false }, now)
        .unwrap()
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), NOW);
    (folder, store)
}

fn data(store: &Store, key: &[u8], now: u32) -> Option<Vec<u8>> {
    let mut data = None;
    let is_there = store.get(key, now, |item| data = Some(item.data.to_vec())).unwrap();
    assert_eq!(is_there, data.is_some());
    data
}

fn cas(store: &Store, key: &[u8]) -> u64 {
    let mut cas = 0;
    store.get(key, NOW, |item| cas = item.cas).unwrap();
    cas
}

fn add(store: &Store, key: &[u8], delta: u64, is_less: bool) -> Delta {
    let sum = Sum { delta, is_less, cas: 0, initial: None };
    store.add(key, sum, NOW, |_, _| ()).unwrap()
}

fn set(store: &Store, key: &[u8], expiry: u32) {
    let stored = store.store(Stores::Set, key, about(0, expiry), b"v", NOW);
    assert!(is_stored(stored.unwrap()));
}

#[test]
fn conditions_decide() {
    let (_folder, store) = store();
    let put = |how, data: &[u8]| store.store(how, b"k", FOREVER, data, NOW).unwrap();
    assert_eq!(put(Stores::Replace, b"x"), Stored::No);
    assert_eq!(put(Stores::Append(0), b"x"), Stored::No);
    assert_eq!(put(Stores::Cas(1), b"x"), Stored::NotFound);
    assert!(is_stored(put(Stores::Add, b"b")));
    assert_eq!(put(Stores::Add, b"x"), Stored::No);
    assert!(is_stored(put(Stores::Append(0), b"c")));
    assert!(is_stored(put(Stores::Prepend(0), b"a")));
    assert_eq!(data(&store, b"k", NOW).unwrap(), b"abc");
    let cas = cas(&store, b"k");
    assert_eq!(put(Stores::Cas(cas + 1), b"x"), Stored::Exists);
    assert!(is_stored(put(Stores::Cas(cas), b"new")));
    assert_eq!(put(Stores::Cas(cas), b"x"), Stored::Exists);
    assert_eq!(put(Stores::Append(0), &[b'y'; 98]), Stored::No);
    assert_eq!(put(Stores::Prepend(0), &[b'y'; 98]), Stored::No);
    assert_eq!(data(&store, b"k", NOW).unwrap(), b"new");
    assert_eq!(store.delete(b"k", None, NOW).unwrap(), Deleted::Yes);
    assert_eq!(store.delete(b"k", None, NOW).unwrap(), Deleted::NotFound);
}

#[test]
fn numbers_wrap_and_end_at_zero() {
    let (_folder, store) = store();
    let add = |delta, is_less| add(&store, b"n", delta, is_less);
    let set = |data: &[u8]| store.store(Stores::Set, b"n", FOREVER, data, NOW).unwrap();
    assert_eq!(add(1, false), Delta::NotFound);
    set(b"18446744073709551615");
    assert_eq!(add(2, false), Delta::Is(1));
    assert_eq!(add(5, true), Delta::Is(0));
    set(b"10  ");
    assert_eq!(add(1, true), Delta::Is(9));
    assert_eq!(data(&store, b"n", NOW).unwrap(), b"9   ");
    for wrong in [&b""[..], b"x", b"-1", b"1x", b"18446744073709551616"] {
        set(wrong);
        assert_eq!(add(1, false), Delta::NotANumber);
        assert_eq!(data(&store, b"n", NOW).unwrap(), wrong);
    }
}

#[test]
fn what_has_expired_or_was_flushed_is_gone_and_swept() {
    let (_folder, store) = store();
    set(&store, b"a", NOW + 10);
    set(&store, b"b", 0);
    assert!(data(&store, b"a", NOW + 9).is_some() && data(&store, b"a", NOW + 10).is_none());
    assert!(store.touch(b"a", Expiry(NOW + 20), NOW, |_| ()).unwrap());
    assert!(data(&store, b"a", NOW + 19).is_some());
    assert_eq!(store.sweep(None, 10, NOW + 19).unwrap(), (None, 0));
    assert_eq!(store.sweep(None, 1, NOW + 20).unwrap(), (Some(b"a".to_vec()), 1));
    assert_eq!(store.count().unwrap(), 1);
    store.flush_all(None).unwrap();
    assert!(data(&store, b"b", NOW).is_none());
    set(&store, b"c", 0);
    assert_eq!(store.sweep(Some(b"a"), 10, NOW).unwrap(), (None, 1));
    store.flush_all(Some(NOW + 5)).unwrap();
    store.flush_if_due(NOW + 4).unwrap();
    assert!(data(&store, b"c", NOW).is_some());
    store.flush_if_due(NOW + 5).unwrap();
    assert!(data(&store, b"c", NOW).is_none());
}

/// A change of an item that was flushed does not bring it back, and a new item can take its place.
#[test]
fn a_flushed_item_is_absent_to_every_command() {
    let (_folder, store) = store();
    let put = |how| store.store(how, b"k", FOREVER, b"1", NOW).unwrap();
    for _ in 0..2 {
        assert!(is_stored(put(Stores::Set)));
        let cas = cas(&store, b"k");
        store.flush_all(None).unwrap();
        for how in [Stores::Replace, Stores::Append(0), Stores::Prepend(0)] {
            assert_eq!(put(how), Stored::No);
        }
        assert_eq!(put(Stores::Cas(cas)), Stored::NotFound);
        assert_eq!(add(&store, b"k", 1, false), Delta::NotFound);
        assert!(!store.touch(b"k", Expiry(0), NOW, |_| ()).unwrap());
        assert_eq!(store.delete(b"k", None, NOW).unwrap(), Deleted::NotFound);
        assert!(is_stored(put(Stores::Add)));
        assert!(data(&store, b"k", NOW).is_some());
    }
}

/// A change that has read an item before a flush and writes after it must not carry the old data over the flush.
#[test]
fn no_change_carries_an_item_over_a_flush() {
    let (_folder, store) = store();
    set(&store, b"k", 0);
    let changed = store.change(b"k", NOW, |old, _| {
        let bytes = Item { cas: 7, ..old.unwrap() }.to_bytes();
        store.flush_all(None)?;
        Ok(Change::Put(bytes, ()))
    });
    changed.unwrap();
    assert_eq!(data(&store, b"k", NOW), None);
    store
        .change(b"new", NOW, |old, epoch| {
            assert!(old.is_none());
            store.flush_all(None)?;
            let new = Item::new(about(0, 0), epoch, 8, b"x");
            Ok(Change::Put(new.to_bytes(), ()))
        })
        .unwrap();
    assert_eq!(data(&store, b"new", NOW), None);
}

#[test]
fn times_and_flushes_survive_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let reopened = |now| open(folder.path(), now);
    let store = reopened(NOW);
    set(&store, b"short", NOW + 10);
    set(&store, b"long", NOW + 1_000);
    let first = cas(&store, b"long");
    drop(store);
    let store = reopened(NOW + 20);
    assert!(
        data(&store, b"short", NOW + 20).is_none() && data(&store, b"long", NOW + 20).is_some()
    );
    set(&store, b"other", 0);
    assert!(cas(&store, b"other") > first);
    store.flush_all(None).unwrap();
    set(&store, b"new", 0);
    drop(store);
    let store = reopened(NOW + 30);
    assert!(data(&store, b"long", NOW + 30).is_none() && data(&store, b"new", NOW + 30).is_some());
    store.flush_all(Some(NOW + 50)).unwrap();
    drop(store);
    // The flush was due while no server ran: no client sees an item from before it, nor loses one from after it.
    let store = reopened(NOW + 60);
    assert!(data(&store, b"new", NOW + 60).is_none());
    set(&store, b"newer", 0);
    store.flush_if_due(NOW + 70).unwrap();
    drop(store);
    assert!(data(&reopened(NOW + 80), b"newer", NOW + 80).is_some());
}

/// A store that finds the pool full has the sweep look at all items at once; a flush needs no space.
#[test]
fn a_full_pool_is_swept_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::options().max_size(8 << 20);
    let options = StoreOptions { pool, max_item: 1 << 20, evicts: false };
    let store = Store::open(&folder.path().join("pool"), &options, NOW).unwrap();
    let (_alive, end) = mpsc::channel();
    let put = |i: u32| {
        let key = format!("key {i}");
        store.store(Stores::Set, key.as_bytes(), about(0, NOW + 10), &[7; 40], NOW)
    };
    let full = (0..).find_map(|i| put(i).err()).unwrap();
    assert!(matches!(full, Error::Full { .. }), "{full}");
    let many = store.count().unwrap();
    assert!(many > 21_000, "{many} items are fewer than a turn looks at in any case");
    assert_eq!(turn(&store, Some(b"z".to_vec()), NOW + 10, &end).unwrap(), None);
    assert_eq!(store.counters().get(Counter::Reclaimed), many as u64);
    assert_eq!(store.count().unwrap(), 0);
    assert!(put(0).is_ok());
    let full = (0..).find_map(|i| put(i).err()).unwrap();
    assert!(matches!(full, Error::Full { .. }), "{full}");
    // Commands that free space work on a full pool.
    assert_eq!(store.delete(b"key 1", None, NOW).unwrap(), Deleted::Yes);
    store.flush_all(Some(NOW + 5)).unwrap();
    store.flush_all(None).unwrap();
    assert!(data(&store, b"key 0", NOW).is_none());
}

/// The sweep does not touch entries of other programs, or bytes that are not items.
#[test]
fn entries_that_are_no_items_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let pool = Pool::options().max_size(64 << 20).open(&path).unwrap();
    pool.map::<[u8], [u8]>("items").unwrap().put(b"k", &[0; 100]).unwrap();
    pool.map::<[u8], [u8]>("memcached items").unwrap().put(b"k", b"short").unwrap();
    pool.close().unwrap();
    let store = open(folder.path(), NOW);
    store.flush_all(None).unwrap();
    assert_eq!(data(&store, b"k", NOW), None);
    assert_eq!(store.sweep(None, 10, NOW).unwrap(), (None, 0));
    assert!(store.pool().map::<[u8], [u8]>("items").unwrap().get(b"k").unwrap().is_some());
}
