//! A leak recovery of a map with records, beside the drop of that map.

use std::thread;

use endura_engine::Result;
use endura_engine::space::LeakWalk;

use crate::byte_world::ByteContents;
use crate::sessions::{Medium, World};
use crate::world::{SmallFair, SmallNb};

/// A walk over the records ends, without an error, if the map is dropped in the middle of one of its steps.
fn dropped_in_a_step<C: ByteContents>(walk: impl Fn(&C::Map) -> Box<dyn LeakWalk<Medium>>) {
    let key = |n: u64| (10 * n).to_be_bytes();
    let world = World::<C>::new().with((0..200).map(key)).killed();
    let mut walk = walk(world.map());
    let guard = world.space().pin().unwrap();
    let mut met = 0;
    let mut visit = |_, _| -> Result<()> {
        met += 1;
        if met == 1 {
            // Its chunks are of no interest here.
            let drop = || world.space().drop_map("map", |_| Ok(Box::new(|_, _, _, _| Ok(true))));
            assert!(thread::scope(|scope| scope.spawn(drop).join()).unwrap().unwrap());
        }
        Ok(())
    };
    assert!(walk.step(&guard, &mut visit, 1_000).unwrap());
    assert!((1..200).contains(&met), "{met} records of a map that is gone");
}

#[test]
fn a_walk_ends_with_its_map() {
    dropped_in_a_step::<SmallFair>(|map| map.index().marking());
    dropped_in_a_step::<SmallNb>(|map| map.index().marking());
}
