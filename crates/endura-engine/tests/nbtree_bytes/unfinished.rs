//! Changes that ran out of space between two of their steps: the next writer completes them, however much later.

use crate::sessions::World;
use crate::world::Small;

/// So long that the fences of most blocks need a record beside them. No space is in reserve for that one, so that a change
/// can fail after its block was frozen.
fn key(n: u32) -> Vec<u8> {
    [vec![b'k'; 60], format!("{n:04}").into_bytes()].concat()
}

/// Removes a key, and lets that run out of space at the chunk that it requests as number `n`. Returns whether it did.
fn removed(world: &World<Small>, key: &[u8], n: u64) -> bool {
    world.stage().refuse_chunk(n);
    assert!(world.map().remove(key).unwrap().is_some());
    let is_refused = !world.stage().refusal_pending();
    world.stage().refuse_chunk(0);
    is_refused
}

/// Two leaves merge behind two others that stay frozen for want of space. The block of the right one is free from then on,
/// but the left one stays in the chain until its predecessor is replaced. By then the chunk of the right one has another
/// owner, and no thread may look for a fence in it. Returns which of the two refusals took place.
fn merges_behind_a_frozen_leaf(first: u64, second: u64) -> [bool; 2] {
    let world = World::<Small>::new();
    let map = world.map();
    // Of three entries each, because they come in order.
    (0..24).for_each(|n| _ = map.insert(key(10 * n), "value").unwrap());
    // Each time, the left leaf loses its entries and merges with the right one, which has two left.
    [30, 0, 10].into_iter().for_each(|n| _ = map.remove(key(n)).unwrap());
    let is_first = removed(&world, &key(20), first);
    [90, 60, 70].into_iter().for_each(|n| _ = map.remove(key(n)).unwrap());
    let is_second = removed(&world, &key(80), second);
    // What was retired becomes free, and is used for records of the size of a block.
    world.stage().poison_chunks();
    while world.space().stats().limbo_bytes > 0 {
        world.space().relieve().unwrap();
    }
    (0..60).for_each(|n| _ = map.insert(format!("z{n:03}"), [b'v'; 108]).unwrap());
    // The leaf that the second merge has made fills up, and is changed in turn.
    (61..90).for_each(|n| _ = map.insert(key(n), "value").unwrap());
    world.verify_tidy();
    [is_first, is_second]
}

#[test]
fn a_merge_behind_a_frozen_leaf_is_completed_after_its_memory_was_reused() {
    let mut most = 0;
    for first in (1..).take_while(|&first| merges_behind_a_frozen_leaf(first, 1)[0]) {
        let chunks = (1..).take_while(|&n| merges_behind_a_frozen_leaf(first, n)[1]).count();
        most = most.max(chunks);
    }
    assert!(most > 3, "a merge takes chunks for itself, and for the leaf before it");
}
