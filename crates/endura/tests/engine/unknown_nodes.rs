//! A FAST & FAIR map with nodes of sizes that this build does not know (the paper's, of 512 bytes on all levels): it is
//! refused by name, with what to do, and left as it is; what else is in the pool can be used.

use std::fs::File;
use std::os::unix::fs::FileExt;

use endura::{Error, Kind, MapOptions, NodeLayout, Result};

use crate::patched::{Closed, FIRST_ENTRY, options};
use crate::pools::killed;

/// The word of its entry that says what a map is.
const WHAT: u64 = FIRST_ENTRY + 8;

/// FAST & FAIR with nodes of so many words, and a name of three bytes.
const fn nodes(inner: u64, leaf: u64) -> u64 {
    3 << 56 | (inner << 16 | leaf) << 8 | 1
}

fn refused<T>(result: Result<T>) {
    let error = result.err().expect("a refusal");
    assert!(matches!(&error, Error::UnknownNodes { name } if name == "map"), "{error}");
    let told = error.to_string();
    assert!(told.contains("that this build does not know") && told.contains("export"), "{told}");
}

#[test]
fn a_map_of_unknown_node_sizes_is_refused_and_left_as_it_is() {
    let closed = Closed::new(Kind::FastFair, 1_000);
    let path = closed.patched(|words| {
        assert_eq!(words.get(WHAT), nodes(256, 128));
        words.put(WHAT, nodes(64, 64));
    });
    // Closed, then killed: its chunks are not known, so nothing is collected.
    for round in 0..2 {
        let pool = options().open_existing(&path).unwrap();
        refused(pool.map::<u64, u64>("map"));
        let layout = MapOptions::new().node_layout(NodeLayout::Wide);
        refused(pool.map_with::<u64, u64>("map", layout));
        refused(pool.map_with::<u64, u64>("map", MapOptions::new().kind(Kind::FastFair)));
        refused(pool.verify());
        refused(pool.drop_map("map"));
        assert!(matches!(
            pool.map_with::<u64, u64>("map", MapOptions::new().kind(Kind::NbTree)),
            Err(Error::WrongKind { .. })
        ));
        let other = pool.map::<u64, u64>("other").unwrap();
        assert_eq!(other.insert(round, 7).unwrap(), None);
        let maps = pool.maps().unwrap();
        let found = maps.iter().find(|map| map.name == "map").unwrap();
        assert_eq!((found.kind, found.layout), (Kind::FastFair, None));
        drop(other);
        killed(pool, &path);
    }
    // With the sizes that it has it is what it was.
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(&nodes(256, 128).to_le_bytes(), WHAT).unwrap();
    let pool = options().open_existing(&path).unwrap();
    let map = pool.map::<u64, u64>("map").unwrap();
    assert!((0..1_000).all(|key| map.get(key).unwrap() == Some(key)));
    pool.verify().unwrap();
}
