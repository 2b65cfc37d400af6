//! The metadata layer after an open: made as it is needed, or all at once.

use endura_engine::tree::Len;

use crate::sessions::World;
use crate::world::{Ties, Whole};

fn key(n: u64) -> Vec<u8> {
    format!("some/prefix/of/many/keys/{}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 1_000_003)
        .into_bytes()
}

#[test]
fn the_first_lookup_reads_one_block() {
    let world = World::<Whole>::new().with((0..5_000).map(key)).killed();
    let index = world.map().index();
    assert_eq!((index.stats().partitions, index.stats().blocks_read), (0, 0));
    assert_eq!(world.map().get(key(77)).unwrap(), Some(key(77)));
    let first = index.stats();
    assert_eq!((first.partitions, first.all_partitions, first.blocks_read), (1, 1, 1));
    assert!(first.blocks_found > 80 && !first.is_complete(), "{first:?}");
    assert_eq!(world.entries().len(), 5_000);
    assert!(index.stats().is_complete());
}

#[test]
fn a_rebuild_by_many_threads_is_that_of_one() {
    for threads in [1, 2, 5] {
        for killed in [false, true] {
            let world = World::<Ties>::new().with((0..1_500).map(key));
            let before = world.keys();
            let world = if killed { world.killed() } else { world.closed() };
            let index = world.map().index();
            std::thread::scope(|scope| {
                scope.spawn(|| index.rebuild(threads).unwrap());
                for n in (0..1_500).step_by(7) {
                    assert_eq!(world.map().insert(key(n), "new").unwrap(), Some(key(n)));
                }
            });
            assert!(index.stats().is_complete(), "{:?}", index.stats());
            assert_eq!(world.map().len().unwrap(), Len::Exact(1_500));
            assert_eq!(world.keys(), before);
            assert_eq!(world.verify_owners().0.entries, 1_500);
        }
    }
}
