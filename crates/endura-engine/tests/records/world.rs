//! Worlds with a map of integer keys and byte strings.

use std::sync::Arc;
use std::time::Duration;

use endura_engine::Result;
use endura_engine::space::Space;
use endura_engine::tree::fast_fair::{self, LineBinary};
use endura_engine::tree::record_tree::RecordTree;
use endura_engine::tree::{TreeCheck, nbtree};
use endura_variants::handles::ByteMap;
use proptest::prelude::*;

use crate::byte_readers;
use crate::byte_world::ByteContents;
use crate::sessions::{Contents, Medium};

/// FAST & FAIR with nodes of four entries.
pub(crate) struct SmallFair;
/// FAST & FAIR with the nodes of a pool.
pub(crate) struct Fair;
/// NBTree with blocks of seven entries, and inner nodes of four.
pub(crate) struct SmallNb;
/// NBTree with the blocks of a pool.
pub(crate) struct Nb;

/// Keys of eight bytes, of which many are beside each other, and some at the ends.
fn key() -> BoxedStrategy<Vec<u8>> {
    let numbers = prop_oneof![
        6 => 0..200_u64,
        2 => (0..4_u64, 0..50_u64).prop_map(|(part, n)| part << 62 | n),
        1 => (0..5_u64).prop_map(|n| u64::MAX - n),
        1 => any::<u64>(),
    ];
    numbers.prop_map(|number| number.to_be_bytes().to_vec()).boxed()
}

macro_rules! contents {
    ($($name:ident: $tree:ty, $bare:expr;)*) => { $(
        impl Contents for $name {
            type Map = ByteMap<RecordTree<$tree>>;

            const PAGES: u64 = 512;
            const PATIENCE: Duration = Duration::from_millis(1);

            fn open_map(space: &Arc<Space<Medium>>) -> Result<Self::Map> {
                RecordTree::<$tree>::open(space, "map").map(ByteMap::over)
            }

            fn check_map(map: &Self::Map, visit: &mut dyn FnMut(u64, u64)) -> Result<TreeCheck> {
                map.index().check(visit)
            }

            fn read_in_every_way(map: &Self::Map) -> usize {
                byte_readers::read_in_every_way(map)
            }
        }

        impl ByteContents for $name {
            type Index = RecordTree<$tree>;

            fn key() -> BoxedStrategy<Vec<u8>> {
                key()
            }

            fn bare() -> Option<(u64, u64)> {
                $bare
            }
        }
    )* };
}

contents! {
    SmallFair: fast_fair::Tree<Medium, 16, 16, LineBinary>, None;
    Fair: fast_fair::Tree<Medium, 256, 128, LineBinary>, None;
    SmallNb: nbtree::Tree<Medium, 16, 4>, None;
    Nb: nbtree::Tree<Medium, 128, 64>, None;
}
