//! Counts in the background that fail: a node is damaged where an unclean end has lost the number of entries.
//!
//! `approximate_len` sets the count going. It goes on saying how many were counted before the damage; it neither
//! fails nor hangs. `len` counts itself, and fails each time it is asked. What does not meet the damage works.

use std::time::{Duration, Instant};

use endura::{Key, Map, MapOptions, Pool, Value};
use endura_engine::{Error, Kind};

use crate::support::patched::{Closed, Words, options};
use crate::support::patience::ends;
use crate::support::pools::killed;

const ENTRIES: u64 = 3_000;

/// Nobody gives the node a meaning.
fn damage(kind: Kind, words: &Words) {
    match kind {
        Kind::FastFair => {
            let leaves = words.fast_fair(0);
            words.put(leaves[leaves.len() / 2] + 32, 0);
        }
        // Nodes and arrays that are neither, all but the root: which of them are retired is not told here.
        Kind::Roart => {
            let inner = words.roart().into_iter().filter(|&at| at != words.root());
            inner.for_each(|at| words.put(at + 8, 0));
        }
        // A block that is followed by itself.
        _ => {
            let block = words.blocks()[1];
            words.put(block, block | words.get(block) & 3);
        }
    }
}

fn asked<K: Key + ?Sized, V: Value + ?Sized>(pool: &Pool, map: &Map<K, V>, kind: Kind) {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(200) {
        let about = map.approximate_len().unwrap();
        assert!((about as u64) < ENTRIES, "{kind:?}: {about}");
        std::thread::sleep(Duration::from_millis(5));
    }
    for _ in 0..3 {
        let told = map.len();
        assert!(matches!(told, Err(Error::Corrupt { .. })), "{kind:?}: {told:?}");
        assert!((map.approximate_len().unwrap() as u64) < ENTRIES, "{kind:?}");
    }
    assert!(matches!(pool.verify(), Err(Error::Corrupt { .. })), "{kind:?}");
}

#[test]
fn a_count_that_meets_damage_is_told_to_who_asks_for_the_number() {
    for kind in [Kind::FastFair, Kind::NbTree, Kind::Roart] {
        ends("a count that meets damage", move || {
            let closed = Closed::new(kind, ENTRIES);
            let path = closed.patched(|words| damage(kind, words));
            killed(options().open_existing(&path).unwrap(), &path);
            let pool = options().open_existing(&path).unwrap();
            if kind == Kind::Roart {
                asked(&pool, &pool.map::<str, str>("map").unwrap(), kind);
            } else {
                let with = MapOptions::new().kind(kind);
                asked(&pool, &pool.map_with::<u64, u64>("map", with).unwrap(), kind);
            }
            pool.close().unwrap();
        });
    }
}
