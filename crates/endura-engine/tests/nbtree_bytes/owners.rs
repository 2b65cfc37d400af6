//! Who frees the record of an insert that does not become an entry, and when.

use endura_variants::media::Stop;

use crate::byte_world::ByteContents;
use crate::sessions::World;
use crate::stage::stopped;
use crate::world::{Small, Ties};

/// A thread that found the slot PENDING may still compare its key with the one in the record. So the record waits for the
/// end of all pins, although it was never part of the map.
fn waits_for_readers<C: ByteContents>() {
    let world = World::<C>::new();
    let is_late = stopped(
        &world,
        Stop::at("insert.I2"),
        |map| assert!(!map.insert_new("k", "late").unwrap()),
        || assert!(world.map().insert_new("k", "early").unwrap()),
    );
    assert!(is_late);
    assert!(world.space().stats().limbo_bytes > 0, "the record was free at once");
    assert_eq!(world.map().get("k").unwrap().as_deref(), Some(&b"early"[..]));
    assert_eq!(world.verify_tidy().entries, 1);
}

#[test]
fn the_record_of_an_insert_that_lost_waits_for_its_readers() {
    waits_for_readers::<Small>();
    waits_for_readers::<Ties>();
}
