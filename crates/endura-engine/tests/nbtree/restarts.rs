//! N21. The metadata layer after an open: made as it is needed, or all at once, and told of.

use endura_engine::tree::Len;

use crate::support::ops::scatter;
use crate::support::stage::ends;
use crate::support::world::{Slots7, Slots63, World};

/// Keys of all partitions, and enough of them for inner nodes of several levels.
fn entries(count: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..count).map(|n| ((scatter(n) << 3) | (n % 8), n)).map(|(key, n)| (key.rotate_right(3), n))
}

#[test]
fn the_first_lookup_makes_one_partition_and_reads_one_block() {
    ends("a lazy restart", || {
        let world = World::<Slots63>::with(entries(20_000)).killed();
        let index = world.map().index();
        let fresh = index.stats();
        assert_eq!((fresh.partitions, fresh.blocks_found, fresh.blocks_read), (0, 0, 0));
        let (key, value) = entries(20_000).nth(77).unwrap();
        assert_eq!(world.map().get(key).unwrap(), Some(value));
        let first = index.stats();
        assert_eq!((first.partitions, first.blocks_read), (1, 1));
        assert!(first.blocks_found > 20 && first.metadata_bytes > 0, "{first:?}");
        assert!(!first.is_complete());
        world.map().range(..).for_each(|entry| _ = entry.unwrap());
        let last = index.stats();
        assert!(last.is_complete() && last.blocks_found > 7 * first.blocks_found, "{last:?}");
    });
}

/// One thread or many, beside writers or not, after a close or a kill: the same map.
#[test]
fn a_rebuild_by_many_threads_is_that_of_one() {
    ends("a rebuild", || {
        for threads in [1, 2, 5] {
            for killed in [false, true] {
                let world = World::<Slots7>::with(entries(6_000));
                let before = world.entries();
                let world = if killed { world.killed() } else { world.closed() };
                let index = world.map().index();
                std::thread::scope(|scope| {
                    scope.spawn(|| index.rebuild(threads).unwrap());
                    for (key, value) in entries(6_000).step_by(7) {
                        assert_eq!(world.map().insert(key, value).unwrap(), Some(value));
                    }
                });
                assert!(index.stats().is_complete(), "{:?}", index.stats());
                assert_eq!(world.map().len().unwrap(), Len::Exact(6_000));
                assert_eq!(world.entries(), before);
                assert_eq!(world.verify().entries, 6_000);
            }
        }
    });
}

/// A crash while the layer is made, and opens without a write: nothing was written, nothing changes.
#[test]
fn a_restart_writes_nothing() {
    let mut world = World::<Slots7>::with(entries(2_000));
    let before = world.entries();
    for _ in 0..3 {
        world = world.killed();
        world.map().index().rebuild(2).unwrap();
        assert_eq!(world.crashed().entries(), before);
        assert_eq!(world.verify().repairs.total(), 0);
    }
    assert_eq!(world.entries(), before);
}
