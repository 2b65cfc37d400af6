//! A process that is killed before each of its stores: the map is what it was before the operation
//! or after it, and can be used.

use endura_engine::tree::ByteIndex;

use crate::byte_crashes::{crash_after, crash_everywhere};
use crate::byte_world::ByteContents;
use crate::sessions::World;

const SOME: [&[u8]; 9] = [b"a1", b"a2", b"a3", b"a4", b"b1", b"b2", b"c1", b"c2", b"c3"];

pub(crate) fn killed_before_every_store<C: ByteContents>() {
    for count in 0..SOME.len() {
        crash_everywhere::<C>(&SOME[..count], |map| _ = map.insert(b"a5", "value").unwrap());
        crash_everywhere::<C>(&SOME[..count], |map| {
            map.insert_from(b"a0", 100, |out| {
                out.write_all(b"filled").unwrap();
                Ok(())
            })
            .unwrap();
        });
    }
    for count in 1..SOME.len() {
        crash_everywhere::<C>(&SOME[..count], |map| _ = map.update("a1", "new").unwrap());
        crash_everywhere::<C>(&SOME[..count], |map| _ = map.remove("a1").unwrap());
        crash_everywhere::<C>(&SOME[..count], |map| _ = map.pop_last().unwrap());
    }
    // Leaves merge.
    crash_after::<C>(&SOME, &SOME[1..8], |map| _ = map.remove("a1").unwrap());
    crash_after::<C>(&SOME, &SOME[..8], |map| _ = map.remove("c3").unwrap());
}

/// A count after a crash is that of the records, and the space of those that nothing leads to comes back.
pub(crate) fn stranded_records_are_counted_and_freed<C: ByteContents>() {
    let key = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    let world = World::<C>::new().with((0..5_000).map(key));
    let world = world.killed();
    assert_eq!(world.map().index().exact_len().unwrap(), 5_000);
    assert_eq!(world.verify_owners().0.entries, 5_000);
}
