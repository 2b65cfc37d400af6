//! A process that is killed before each of its stores: the map is what it was before the operation
//! or after it, and can be used. (What a power failure leaves is explored by `endura-sim`.)

use std::collections::BTreeMap;

use endura_variants::media::Stop;

use crate::byte_races::at_every;
use crate::byte_world::ByteContents;
use crate::sessions::World;
use crate::stage::stopped;

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// Uses whatever a crash left: puts everything in, takes everything out.
fn use_up<C: ByteContents>(world: World<C>, entries: &Entries) {
    let (check, _) = world.verify_owners();
    assert_eq!(check.entries, entries.len() as u64);
    for key in entries.keys() {
        assert_eq!(world.map().get(key).unwrap().as_ref(), entries.get(key));
    }
    let keys: Vec<Vec<u8>> =
        (0..6_u8).map(|n| vec![b'a', n]).chain(entries.keys().cloned()).collect();
    for key in &keys {
        world.map().insert(key, "again").unwrap();
    }
    world.verify_owners();
    for key in &keys {
        assert!(world.map().remove(key).unwrap().is_some(), "{}", key.escape_ascii());
    }
    assert_eq!(world.verify_owners().0.entries, 0);
}

pub(crate) fn crash_everywhere<C: ByteContents>(keys: &[&[u8]], act: impl Fn(&C::Map) + Sync) {
    crash_after::<C>(keys, &[], act);
}

/// Crashes `act` before each of its stores, on a map where the keys `gone` have come and gone.
pub(crate) fn crash_after<C: ByteContents>(
    keys: &[&[u8]],
    gone: &[&[u8]],
    act: impl Fn(&C::Map) + Sync,
) {
    let entries = |world: &World<C>| world.entries().into_iter().collect::<Entries>();
    let prepared = || {
        let world = World::<C>::adr().with(keys);
        gone.iter().for_each(|key| _ = world.map().remove(key).unwrap());
        world
    };
    let world = prepared();
    let before = entries(&world);
    act(world.map());
    let after = entries(&world);
    assert_ne!(before, after);
    let stops = at_every(Stop::at_store, |stop| {
        let world = prepared();
        let crash = || {
            let next = world.crashed();
            let found = entries(&next);
            assert!(found == before || found == after, "{found:?}");
            use_up(next, &found);
        };
        stopped(&world, stop, |map| act(map), crash)
    });
    assert!(stops > 0, "the operation stores something");
}
