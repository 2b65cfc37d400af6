//! No memory at the n-th request, for all n: the operation fails, and nothing else happens.

use crate::support::full::{refused_everywhere, without_room};
use endura::Error;
use endura::media::Stop;

use crate::support::stage::{ends, stopped};
use crate::support::world::{MapOf, Slots3, Slots7, Slots63, World};

#[test]
fn a_refused_chunk_leaves_the_map_unchanged_and_nothing_leaks() {
    refused_everywhere::<Slots3>();
    refused_everywhere::<Slots7>();
}

/// Removes free nothing before a change, and a change needs room first: the reserve makes it.
#[test]
fn a_pool_without_room_still_reads_updates_and_removes() {
    without_room::<Slots7>(6);
    without_room::<Slots63>(6);
}

/// A leaf is frozen for a change, the thread that did it stands still with the chunks that it took, and the
/// pool has no others: who updates or removes in that leaf completes the change with one of the reserve.
#[test]
fn a_frozen_leaf_is_written_to_without_room() {
    ends("frozen without room", || {
        for step in ["change.S0", "change.S1", "change.S3"] {
            let world = World::<Slots7>::of_pages(6);
            (0..7).for_each(|n| _ = world.map().insert(10 * n, n).unwrap());
            let insert = |map: &MapOf<Slots7>| _ = map.insert(5, 5).unwrap();
            let met = stopped(&world, Stop::at(step), insert, || {
                let map = world.map();
                // All the room there is goes to another partition.
                let full = (1 << 61..).find_map(|key| map.insert(key, key).err()).unwrap();
                // What was retired since cannot be used again before the thread goes on.
                assert!(
                    matches!(full, Error::Full { .. } | Error::ReclaimStalled { .. }),
                    "{full}"
                );
                for n in 0..7 {
                    assert_eq!(map.update(10 * n, 100 + n).unwrap(), Some(n), "{step}");
                }
                // After a crash at this moment as well.
                let next = world.crashed();
                (0..7).for_each(|n| assert_eq!(next.map().remove(10 * n).unwrap(), Some(100 + n)));
                (0..7).for_each(|n| assert_eq!(map.remove(10 * n).unwrap(), Some(100 + n)));
            });
            assert!(met, "{step}");
            assert_eq!(world.map().get(5).unwrap(), Some(5), "{step}");
        }
    });
}
