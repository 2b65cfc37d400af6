//! A session that only reads: on what a kill or a close has left, it reads in every way there is, and stores
//! nothing. (A store to a file that is mapped to be read only ends the process.)

use std::sync::Arc;

use endura_engine::Error;
use endura_engine::space::{Session, Space};
use endura_engine::tree::Index;
use endura_variants::handles::WordMap;

use super::world::{MapOf, Medium, Shape};

/// Opens the pool to be read, reads all of it, and closes it again. A store panics.
pub(crate) fn read_in_every_way<S: Shape>(medium: &Medium, session: Session) {
    medium.set_sealed(true);
    let session = Session { read_only: true, ..session };
    let space = Arc::new(Space::mount(Arc::clone(medium), session).unwrap());
    match S::open(&space) {
        // Killed before there was a map.
        Err(Error::NoSuchMap { .. }) => {}
        tree => {
            let map = WordMap::over(tree.unwrap());
            let entries = read::<S>(&map);
            verify::<S>(&space, &map, entries.len());
            write_in_vain(&map);
        }
    }
    assert!(matches!(space.relieve(), Err(Error::ReadOnly)));
    assert!(matches!(
        space.drop_map("map", |_| Ok(Box::new(|_, _, _, _| Ok(true)))),
        Err(Error::ReadOnly)
    ));
    space.stats();
    assert!(space.close().unwrap());
    assert!(matches!(space.save(), Err(Error::ReadOnly)));
    drop(space);
    medium.set_sealed(false);
}

/// The entries, on which all ways to read agree.
fn read<S: Shape>(map: &MapOf<S>) -> Vec<(u64, u64)> {
    let entries: Vec<_> = map.iter().map(|entry| entry.unwrap()).collect();
    let mut backward: Vec<_> = map.range(..).rev().map(|entry| entry.unwrap()).collect();
    backward.reverse();
    assert_eq!(entries, backward);
    let keys: Vec<u64> = entries.iter().flat_map(|&(key, _)| [key, key.wrapping_add(1)]).collect();
    let many = map.get_many(&keys).unwrap();
    for (&key, many) in keys.iter().zip(many) {
        let scanned = entries.iter().find(|entry| entry.0 == key).map(|entry| entry.1);
        assert_eq!([map.get(key).unwrap(), many], [scanned; 2], "{key}");
        assert_eq!(map.contains_key(key).unwrap(), scanned.is_some());
        assert_eq!(map.range(key..).next().map(Result::unwrap).is_some(), key <= last(&entries));
    }
    assert_eq!(map.first().unwrap(), entries.first().copied());
    assert_eq!(map.last().unwrap(), entries.last().copied());
    assert_eq!(map.is_empty().unwrap(), entries.is_empty());
    entries
}

fn last(entries: &[(u64, u64)]) -> u64 {
    entries.last().map_or(0, |entry| entry.0)
}

/// Counts, checks the structure, and looks whether each chunk has one owner.
fn verify<S: Shape>(space: &Space<Medium>, map: &MapOf<S>, entries: usize) {
    assert_eq!(map.index().exact_len().unwrap(), entries as u64);
    map.len().unwrap();
    let quiesced = space.quiesce().unwrap();
    let mut check = quiesced.check().unwrap();
    let found = S::check(map.index(), &mut |at, bytes| check.reach(at, bytes).unwrap()).unwrap();
    check.finish().unwrap();
    assert_eq!(found.entries, entries as u64);
}

fn write_in_vain<I: Index>(map: &WordMap<I>) {
    let outcomes = [
        map.insert(5, 5).map(drop),
        map.update(5, 5).map(drop),
        map.remove(5).map(drop),
        map.clear(),
        map.pop_first().map(drop),
        map.pop_last().map(drop),
    ];
    for (i, outcome) in outcomes.into_iter().enumerate() {
        // Of a map that has no entries there is nothing to pop, to update or to remove.
        assert!(matches!(outcome, Err(Error::ReadOnly) | Ok(())), "{i}: {outcome:?}");
        assert!(i != 0 || outcome.is_err());
    }
}
