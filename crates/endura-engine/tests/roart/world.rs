//! Worlds with a map of byte strings.

use std::sync::Arc;
use std::time::Duration;

use endura_engine::Result;
use endura_engine::space::Space;
use endura_engine::tree::TreeCheck;
use endura_engine::tree::roart::{Techniques, Tree};
use endura_variants::handles::ByteMap;
use proptest::prelude::*;

use crate::byte_readers;
use crate::byte_world::ByteContents;
use crate::sessions::{Contents, Medium};

pub(crate) use crate::sessions::World;

pub(crate) type MapOf<T> = ByteMap<Tree<Medium, T>>;

impl<T: Techniques> Contents for T {
    type Map = MapOf<T>;

    const PAGES: u64 = 512;
    const PATIENCE: Duration = Duration::from_millis(1);

    fn open_map(space: &Arc<Space<Medium>>) -> Result<MapOf<T>> {
        Tree::open(space, "map").map(ByteMap::over)
    }

    fn check_map(map: &MapOf<T>, visit: &mut dyn FnMut(u64, u64)) -> Result<TreeCheck> {
        map.index().check(visit)
    }

    fn read_in_every_way(map: &MapOf<T>) -> usize {
        byte_readers::read_in_every_way(map)
    }
}

impl<T: Techniques> ByteContents for T {
    type Index = Tree<Medium, T>;

    fn key() -> BoxedStrategy<Vec<u8>> {
        key().boxed()
    }

    fn bare() -> Option<(u64, u64)> {
        Some((1, 0))
    }
}

/// A key that often meets others: short ones of few letters, long ones of few shapes, and pairs of
/// bytes that fill large nodes.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let letter = prop::sample::select(vec![0, b'a', b'b', 0x80, 0xFF]);
    let short = prop::collection::vec(letter.clone(), 0..5);
    let long = (0..40_usize, prop::collection::vec(letter, 0..3), 0..2_usize).prop_map(
        |(stem, tail, shape)| {
            let mut key: Vec<u8> = (0..stem).map(|i| b"xyxyzxyxyw"[i % 10]).collect();
            key.extend(tail);
            key.extend(vec![b'~'; 9 * shape]);
            key
        },
    );
    let fan = (0..3_u8, any::<u8>()).prop_map(|(a, b)| vec![b'f', a, b, b'!']);
    prop_oneof![3 => short, 3 => long, 4 => fan]
}
