//! Every way to read a map of numbers, and every way to write to it, in a session that only reads.

use endura_engine::Error;
use endura_engine::tree::Index;
use endura_variants::handles::WordMap;

/// Reads all of the map in a session that only reads; returns the number of entries.
pub(crate) fn read_in_every_way<I: Index>(map: &WordMap<I>) -> usize {
    let entries = read(map);
    assert_eq!(map.index().exact_len().unwrap(), entries.len() as u64);
    map.len().unwrap();
    write_in_vain(map);
    entries.len()
}

/// The entries, on which all ways to read agree.
fn read<I: Index>(map: &WordMap<I>) -> Vec<(u64, u64)> {
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
