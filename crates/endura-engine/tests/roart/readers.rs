//! A session that only reads: on what a kill or a close has left, it reads in every way there is, and stores
//! nothing. (A store to a file that is mapped to be read only ends the process.)

use std::ops::ControlFlow;
use std::sync::Arc;

use endura_engine::Error;
use endura_engine::space::{Session, Space};
use endura_engine::tree::roart::{Techniques, Tree};
use endura_engine::tree::{ByteIndex, Bytes};
use endura_variants::handles::{ByteEntry, ByteMap};

use crate::world::{MapOf, Medium};

/// Opens the pool to be read, reads all of it, and closes it again. A store panics.
pub(crate) fn read_in_every_way<T: Techniques>(medium: &Medium, session: Session) {
    medium.set_sealed(true);
    let session = Session { read_only: true, ..session };
    let space = Arc::new(Space::mount(Arc::clone(medium), session).unwrap());
    match Tree::<_, T>::open(&space, "map") {
        // Killed before there was a map.
        Err(Error::NoSuchMap { .. }) => {}
        tree => {
            let map = ByteMap::over(tree.unwrap());
            let entries = read(&map);
            verify(&space, &map, entries.len());
            write_in_vain(&map);
        }
    }
    assert!(matches!(space.relieve(), Err(Error::ReadOnly)));
    space.stats();
    assert!(space.close().unwrap());
    assert!(matches!(space.save(), Err(Error::ReadOnly)));
    drop(space);
    medium.set_sealed(false);
}

/// The entries, on which all ways to read agree.
fn read<T: Techniques>(map: &MapOf<T>) -> Vec<ByteEntry> {
    let entries: Vec<_> = map.iter().map(|entry| entry.unwrap()).collect();
    let mut backward: Vec<_> = map.iter().rev().map(|entry| entry.unwrap()).collect();
    backward.reverse();
    assert_eq!(entries, backward);
    // A scan leaves the order of an array's keys for the next one, in a session that may write.
    let mut visited = 0;
    let mut count = |_: Bytes<'_>, _: Bytes<'_>| {
        visited += 1;
        ControlFlow::Continue(())
    };
    map.range_with::<&[u8]>(.., &mut count).unwrap();
    map.range_rev_with::<&[u8]>(.., &mut count).unwrap();
    assert_eq!(visited, 2 * entries.len());
    let known: Vec<&[u8]> = entries.iter().map(|entry| &entry.0[..]).collect();
    let many = map.get_many(&known).unwrap();
    for ((key, value), many) in entries.iter().zip(many) {
        assert_eq!(map.get(key).unwrap().as_ref(), Some(value));
        assert_eq!(many.as_ref(), Some(value));
        assert!(map.contains_key(key).unwrap());
        assert_eq!(map.get_with(key, |bytes| bytes.len()).unwrap(), Some(value.len()));
        assert_eq!(map.get([key, &b"+"[..]].concat()).unwrap().is_some(), {
            known.contains(&&[key, &b"+"[..]].concat()[..])
        });
        let prefix = &key[..key.len() / 2];
        assert!(map.prefix(prefix).any(|entry| entry.unwrap().0 == *key));
    }
    assert_eq!(map.first().unwrap(), entries.first().cloned());
    assert_eq!(map.last().unwrap(), entries.last().cloned());
    assert_eq!(map.is_empty().unwrap(), entries.is_empty());
    entries
}

/// Counts, checks the structure, and looks whether each chunk has one owner.
fn verify<T: Techniques>(space: &Space<Medium>, map: &MapOf<T>, entries: usize) {
    assert_eq!(map.index().exact_len().unwrap(), entries as u64);
    map.len().unwrap();
    let quiesced = space.quiesce().unwrap();
    let mut check = quiesced.check().unwrap();
    let found = map.index().check(&mut |at, bytes| check.reach(at, bytes).unwrap()).unwrap();
    check.finish().unwrap();
    assert_eq!(found.entries, entries as u64);
}

fn write_in_vain<T: Techniques>(map: &MapOf<T>) {
    let outcomes = [
        map.insert("key", "value").map(drop),
        map.update("key", "value").map(drop),
        map.remove("key").map(drop),
        map.clear(),
        map.pop_first().map(drop),
        map.pop_last().map(drop),
    ];
    for (i, outcome) in outcomes.into_iter().enumerate() {
        // Of a map that has no entries there is nothing to clear or to pop.
        assert!(matches!(outcome, Err(Error::ReadOnly) | Ok(())), "{i}: {outcome:?}");
        assert!(i != 0 || outcome.is_err());
    }
}
