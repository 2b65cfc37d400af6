//! A map of a newer build: of a kind, with sizes of its nodes, or with a feature that this build does not know. It has
//! one answer, which names it and says what to do. It stays as it is, and all other maps can be used.

use std::fs::File;
use std::os::unix::fs::FileExt;

use endura::dynamic::{DynamicMap, UntypedMap};
use endura::{MapOptions, Pool};
use endura_engine::{Error, Kind, NodeLayout, Result};

use crate::support::patched::{Closed, FIRST_ENTRY, options, spelled};
use crate::support::pools::killed;

/// The word of its entry that says what a map is: its kind, from bit 8 on the parameters of its nodes, from bit 56 on
/// the bytes of its name.
const WHAT: u64 = FIRST_ENTRY + 8;

fn refused<T>(result: Result<T>) {
    let error = result.err().expect("a refusal");
    assert!(matches!(&error, Error::UnknownNodes { name } if name == "map"), "{error}");
    let told = error.to_string();
    assert!(told.contains("that this build does not know") && told.contains("export"), "{told}");
}

/// What can be done with a pool in which `map` is unknown.
fn other_maps_are_used(pool: &Pool, round: u64) {
    let other = pool.map::<u64, u64>("other").unwrap();
    assert_eq!(other.insert(round, 7).unwrap(), None);
    let found = DynamicMap::open(pool, "other").unwrap();
    assert!(matches!(found.map(), UntypedMap::Words(map) if map.get(round).unwrap() == Some(7)));
    assert_eq!(found.types().key, "u64");
    assert_eq!(other.len().unwrap() as u64, round + 1);
    pool.map::<str, str>("passing").unwrap().insert("a", "b").unwrap();
    assert!(pool.drop_map("passing").unwrap());
}

fn is_refused(pool: &Pool, kind: Kind) {
    for options in [
        MapOptions::new(),
        MapOptions::new().create(false),
        MapOptions::new().kind(kind),
        MapOptions::new().node_layout(NodeLayout::Wide),
    ] {
        match kind {
            Kind::Roart => refused(pool.map_with::<str, str>("map", options)),
            _ => refused(pool.map_with::<u64, u64>("map", options)),
        }
    }
    refused(DynamicMap::open(pool, "map"));
    refused(pool.drop_map("map"));
    refused(pool.verify());
}

fn a_map_with(kind: Kind, what: impl Fn(u64) -> u64) {
    let closed = Closed::new(kind, 1_000);
    let mut sound = 0;
    let path = closed.patched(|words| {
        sound = words.get(WHAT);
        words.put(WHAT, what(sound));
    });
    // Closed, then killed: its chunks are not known, so nothing is recovered.
    for round in 0..2 {
        let pool = options().open_existing(&path).unwrap();
        is_refused(&pool, kind);
        match round {
            0 => assert!(pool.recover_leaks().unwrap()),
            _ => refused(pool.recover_leaks()),
        }
        let maps = pool.maps().unwrap();
        let found = maps.iter().find(|map| map.name == "map").unwrap();
        assert!(!found.is_known && found.layout.is_none());
        assert_eq!(found.kind, (what(sound) & 0xFF == sound & 0xFF).then_some(kind));
        other_maps_are_used(&pool, round);
        assert!(maps.iter().all(|map| map.is_known == (map.name == "other")));
        killed(pool, &path);
    }
    // As it was, it is what it was.
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(&sound.to_le_bytes(), WHAT).unwrap();
    let pool = options().open_existing(&path).unwrap();
    match kind {
        Kind::Roart => {
            let map = pool.map::<str, str>("map").unwrap();
            assert!((0..1_000).all(|n| map.get(&spelled(n)).unwrap().is_some()));
        }
        _ => {
            let map = pool.map::<u64, u64>("map").unwrap();
            assert!((0..1_000).all(|key| map.get(key).unwrap() == Some(key)));
        }
    }
    assert!(pool.recover_leaks().unwrap());
    pool.verify().unwrap();
}

const KINDS: [Kind; 3] = [Kind::FastFair, Kind::NbTree, Kind::Roart];

#[test]
fn of_an_unknown_kind() {
    KINDS.into_iter().for_each(|kind| a_map_with(kind, |what| what & !0xFF | 9));
}

/// The paper's nodes of 512 bytes, for one.
#[test]
fn of_unknown_node_sizes() {
    a_map_with(Kind::FastFair, |what| what & 0xFF << 56 | (64 << 16 | 64) << 8 | 1);
    a_map_with(Kind::NbTree, |what| what & 0xFF << 56 | 64 << 8 | 2);
    a_map_with(Kind::Roart, |what| what & 0xFF << 56 | 2 << 8 | 3);
}

#[test]
fn with_an_unknown_feature() {
    KINDS.into_iter().for_each(|kind| a_map_with(kind, |what| what | 1 << 55));
}
