//! Records whose keys have rotted: a key that lies outside of its block does not become a fence.

use std::sync::atomic::Ordering;

use endura_engine::media::Region;
use endura_engine::tree::key_word::KeyWord;
use endura_engine::tree::nbtree::ByteTree;

use crate::byte_world::ByteContents;
use crate::sessions::{Medium, World};
use crate::stage::ends;
use crate::world::{Small, Ties};

const KEYS: u64 = 24;

/// Each is a single word of its record.
fn key(n: u64) -> Vec<u8> {
    format!("k{n:07}").into_bytes()
}

/// Replaces the key in the record of `old` by another one.
fn rot<C: ByteContents>(world: &World<C>, old: &[u8], new: [u8; 8]) {
    let old = u64::from_le_bytes(old.try_into().unwrap());
    let mut chunks = Vec::new();
    C::check_map(world.map(), &mut |at, _| chunks.push(at)).unwrap();
    let records = chunks.into_iter().map(|at| Region::new(world.stage(), at, 3).unwrap());
    let is_it = |record: &Region<'_, _>| {
        [0, 2].map(|i| record.load(i, Ordering::Relaxed)) == [8 << 32 | 8, old]
    };
    let found: Vec<_> = records.filter(is_it).collect();
    assert_eq!(found.len(), 1);
    found[0].store(2, u64::from_le_bytes(new), Ordering::Relaxed);
}

/// Changes every leaf of a map in which one key has rotted. Every operation answers or fails, and ends.
fn answers_or_fails<C, K>(victim: u64, new: [u8; 8])
where
    C: ByteContents<Index = ByteTree<Medium, 16, 4, K>>,
    K: KeyWord,
{
    let world = World::<C>::new().with((0..KEYS).map(|n| key(100 * n)));
    rot(&world, &key(100 * victim), new);
    let map = world.map();
    let others = || (0..100 * KEYS).step_by(9).map(key).chain([new.to_vec()]);
    for key in others() {
        let _ = (map.insert(&key, "value"), map.get(&key));
    }
    let most = 1_000;
    let _ = map.index().rebuild(1);
    assert!(map.iter().take(most).count() < most && map.iter().rev().take(most).count() < most);
    let _ = (map.first(), map.last(), map.pop_first(), map.pop_last());
    for key in others() {
        let _ = (map.remove(&key), map.first(), map.last());
    }
    let _ = (map.pop_first(), map.pop_last(), map.clear());
}

fn wherever_it_lies<C, K>()
where
    C: ByteContents<Index = ByteTree<Medium, 16, 4, K>>,
    K: KeyWord,
{
    for victim in 0..KEYS {
        for new in [*b"aaaaaaaa", *b"zzzzzzzz", *b"k0000950", *b"k0001550"] {
            answers_or_fails::<C, K>(victim, new);
        }
    }
}

#[test]
fn a_map_with_a_rotten_key_answers_or_fails() {
    ends("a map with a rotten key", || {
        wherever_it_lies::<Small, _>();
        wherever_it_lies::<Ties, _>();
    });
}
