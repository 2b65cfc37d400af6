//! A map is copied as it is, or not at all.

use std::path::Path;

use endura::dynamic::DynamicMap;
use endura::{Error, Kind, MapInfo, MapOptions, NodeLayout, Pool, Types};

use crate::process::*;

const ENTRIES: u64 = 3000;

/// A pool with a map of each kind, each size of nodes, and some types.
fn filled(path: &Path) -> Pool {
    let pool = Pool::options().create_new(path).unwrap();
    let kind = |kind| MapOptions::new().kind(kind);
    let nodes = |layout| kind(Kind::FastFair).node_layout(layout);
    for (name, options) in [
        ("wide", nodes(NodeLayout::Wide)),
        ("narrow", nodes(NodeLayout::NarrowLeaves)),
        ("blocks", kind(Kind::NbTree)),
        ("radix", kind(Kind::Roart)),
    ] {
        let map = pool.map_with::<u64, u64>(name, options).unwrap();
        (0..ENTRIES).for_each(|key| _ = map.put(key * 7, !key).unwrap());
    }
    let words = pool.map::<str, [u8]>("words").unwrap();
    let sorted = pool.map_with::<str, [u8]>("sorted words", kind(Kind::FastFair)).unwrap();
    let blocks = pool.map_with::<str, [u8]>("blocks of words", kind(Kind::NbTree)).unwrap();
    let few = pool.map::<(i8, u16), bool>("few").unwrap();
    for key in 0..ENTRIES {
        words.put(&format!("{key:b}"), &vec![key as u8; key as usize]).unwrap();
        sorted.put(&format!("{key:b}"), &vec![key as u8; key as usize]).unwrap();
        blocks.put(&format!("{key:b}"), &vec![key as u8; key as usize]).unwrap();
        few.put((key as i8, key as u16), key % 3 == 0).unwrap();
    }
    pool.map::<u64, u64>("empty").unwrap();
    let of_a_program = |key: &str| Types { key: key.into(), value: "their::Value: u32".into() };
    let newtype = DynamicMap::open_as(&pool, "own", MapOptions::new(), of_a_program("u8")).unwrap();
    newtype.insert(&[1], &[0, 0, 0, 2]).unwrap();
    let unknown = Types { key: "u8".into(), value: "postcard<Their>".into() };
    let unknown = DynamicMap::open_as(&pool, "unknown", MapOptions::new(), unknown).unwrap();
    unknown.insert(&[1], b"anything").unwrap();
    pool
}

/// Keys and values as they are stored.
type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// What is to be equal in a copy.
fn facts(pool: &Pool, name: &str) -> (MapInfo, Entries) {
    let info = pool.maps().unwrap().into_iter().find(|map| map.name == name).unwrap();
    let entries = DynamicMap::open(pool, name).unwrap().iter();
    let entries = entries.map(|entry| entry.map(|(key, value)| (key.into(), value.into())));
    (info, entries.collect::<Result<_, _>>().unwrap())
}

#[test]
fn maps_of_all_kinds_are_copied_as_they_are() {
    for folder in folders() {
        let path = folder.path().join("pool");
        filled(&path).close().unwrap();
        for read_only in [true, false] {
            let old = Pool::options().read_only(read_only).open_existing(&path).unwrap();
            let to = folder.path().join(format!("copy {read_only}"));
            let new = Pool::options().create_new(&to).unwrap();
            let names: Vec<_> = old.maps().unwrap().into_iter().map(|map| map.name).collect();
            assert_eq!(names.len(), 11);
            for name in &names {
                let copied = old.copy_map(name, &new).unwrap();
                let (info, entries) = facts(&old, name);
                assert_eq!(copied, entries.len() as u64, "{name}");
                assert!(facts(&new, name) == (info, entries), "{name}");
                let again = old.copy_map(name, &new);
                assert!(matches!(again, Err(Error::MapExists { .. })), "{again:?}");
                assert!(matches!(old.copy_map(name, &old), Err(Error::MapExists { .. })));
            }
            assert!(matches!(old.copy_map("none", &new), Err(Error::NoSuchMap { .. })));
            new.verify().unwrap();
            new.close().unwrap();
            assert!(matches!(old.copy_map("few", &new), Err(Error::Closed { .. })));
        }
    }
}

#[test]
fn a_copy_that_finds_no_room_is_none() {
    let folder = &folders()[0];
    let old = filled(&folder.path().join("pool"));
    for name in ["wide", "radix", "words"] {
        let to = folder.path().join(name);
        let new = Pool::options().max_size(128 << 10).create_new(&to).unwrap();
        let full = old.copy_map(name, &new);
        assert!(matches!(full, Err(Error::Full { .. })), "{name}: {full:?}");
        assert_eq!(new.maps().unwrap().len(), 0, "{name}");
        new.verify().unwrap();
    }
}
