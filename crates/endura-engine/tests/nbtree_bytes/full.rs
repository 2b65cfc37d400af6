//! Running out of space at every chunk of every operation: it fails cleanly, and nothing is lost.

use crate::byte_full::refuse_each;
use crate::byte_world::ByteContents;
use crate::world::{Small, Ties};

const SOME: [&[u8]; 9] = [b"a1", b"a2", b"a3", b"a4", b"b1", b"b2", b"c1", b"c2", b"c3"];

fn fails_cleanly<C: ByteContents>() {
    for count in 0..SOME.len() {
        refuse_each::<C>(&SOME[..count], |map| map.insert("a5", "value").map(drop));
        refuse_each::<C>(&SOME[..count], |map| map.insert_from("a0", 100, |_| Ok(())));
    }
    refuse_each::<C>(&SOME, |map| map.update("a1", "new").map(drop));
}

#[test]
fn writes_fail_cleanly() {
    fails_cleanly::<Small>();
    fails_cleanly::<Ties>();
}
