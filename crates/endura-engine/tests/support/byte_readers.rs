//! Every way to read a map of byte strings, and every way to write to it, in a session that only reads.

use std::ops::ControlFlow;

use endura_engine::Error;
use endura_engine::tree::{ByteIndex, Bytes};
use endura_variants::handles::{ByteEntry, ByteMap};

/// Reads all of the map in a session that only reads; returns the number of entries.
pub(crate) fn read_in_every_way<I: ByteIndex>(map: &ByteMap<I>) -> usize {
    let entries = read(map);
    assert_eq!(map.index().exact_len().unwrap(), entries.len() as u64);
    map.len().unwrap();
    write_in_vain(map);
    entries.len()
}

/// The entries, on which all ways to read agree.
fn read<I: ByteIndex>(map: &ByteMap<I>) -> Vec<ByteEntry> {
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

fn write_in_vain<I: ByteIndex>(map: &ByteMap<I>) {
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
