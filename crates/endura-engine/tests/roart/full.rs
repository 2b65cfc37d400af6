//! Running out of space at every chunk of every operation: it fails cleanly, and nothing is lost.

use endura_engine::Error;
use endura_variants::roart::{Tiny, WithoutArrays};

use crate::byte_full::refuse_each;
use crate::world::{MapOf, World};

#[test]
fn inserts_updates_and_splits_fail_cleanly() {
    let insert = |key: &'static [u8]| move |map: &MapOf<Tiny>| map.insert(key, "value").map(drop);
    refuse_each::<Tiny>(&[], insert(b"alone"));
    refuse_each::<Tiny>(&[b"pair-1"], insert(b"pair-2"));
    refuse_each::<Tiny>(&[b"a1", b"a2", b"a3", b"a4"], insert(b"a5"));
    refuse_each::<Tiny>(&[b"a1x", b"a1y", b"a1z", b"a2"], insert(b"a3"));
    refuse_each::<Tiny>(&[b"n1", b"n2", b"n3", b"n4", b"n"], insert(b"n5"));
    refuse_each::<Tiny>(&[b"a1", b"a2", b"a3", b"a4", b"a5"], insert(b"b"));
    refuse_each::<Tiny>(&[b"ab1", b"ab2", b"ab3", b"ab4", b"ab5"], insert(b"aa"));
    refuse_each::<Tiny>(&[b"k"], |map| map.update("k", "new").map(drop));
    refuse_each::<Tiny>(&[], |map| map.insert_from("s", 100, |_| Ok(())));
    refuse_each::<WithoutArrays>(&[b"pair-1"], |map| map.insert("pair-2", "").map(drop));
}

/// A remove never fails for want of space: what does not fit stays larger than it could be.
#[test]
fn removes_succeed_where_a_smaller_node_cannot_be_had() {
    let keys: Vec<[u8; 2]> = (0..20).map(|n| [b'n', n]).collect();
    let world = World::<Tiny>::new().with(&keys);
    for key in &keys {
        world.stage().refuse_chunk(1);
        assert!(world.map().remove(key).unwrap().is_some());
    }
    assert!(world.entries().is_empty());
    world.verify_tidy();
}

/// A pool that is really full, and has room again after removes.
#[test]
fn a_full_pool_takes_entries_again_after_removes() {
    let world = World::<Tiny>::of_pages(6);
    let key = |n: u32| n.to_be_bytes();
    for round in 0..3 {
        let mut n = 0;
        let full = loop {
            match world.map().insert(key(n), [round; 500]) {
                Ok(_) => n += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(full, Error::Full { .. }), "{full}");
        assert!(n > 1_000, "{n} entries fit");
        assert_eq!(world.verify_tidy().entries, u64::from(n));
        (0..n).for_each(|n| assert!(world.map().remove(key(n)).unwrap().is_some()));
        assert_eq!(world.verify_tidy().nodes, 1);
    }
}
