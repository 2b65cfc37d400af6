//! Worlds with a map of byte strings.

use std::sync::Arc;
use std::time::Duration;

use endura_engine::Result;
use endura_engine::space::Space;
use endura_engine::tree::TreeCheck;
use endura_engine::tree::key_word::{One, Seven};
use endura_engine::tree::nbtree::ByteTree;
use endura_variants::handles::ByteMap;
use proptest::prelude::*;

use crate::byte_readers;
use crate::byte_world::ByteContents;
use crate::sessions::{Contents, Medium};

/// Blocks of four entries, and words of one byte without fingerprints, so that equal words are the rule.
pub(crate) struct Ties;
/// Blocks of four entries.
pub(crate) struct Small;
/// The blocks of a pool.
pub(crate) struct Whole;

macro_rules! contents {
    ($($name:ident: $tree:ty;)*) => { $(
        impl Contents for $name {
            type Map = ByteMap<$tree>;

            const PAGES: u64 = 512;
            const PATIENCE: Duration = Duration::from_millis(1);

            fn open_map(space: &Arc<Space<Medium>>) -> Result<Self::Map> {
                <$tree>::open_strings(space, "map").map(ByteMap::over)
            }

            fn check_map(map: &Self::Map, visit: &mut dyn FnMut(u64, u64)) -> Result<TreeCheck> {
                map.index().check(visit)
            }

            fn read_in_every_way(map: &Self::Map) -> usize {
                byte_readers::read_in_every_way(map)
            }
        }

        impl ByteContents for $name {
            type Index = $tree;

            fn key() -> BoxedStrategy<Vec<u8>> {
                key().boxed()
            }

            fn bare() -> Option<(u64, u64)> {
                None
            }
        }
    )* };
}

contents! {
    Ties: ByteTree<Medium, 16, 4, One>;
    Small: ByteTree<Medium, 16, 4, Seven>;
    Whole: ByteTree<Medium, 128, 64>;
}

/// A key that often meets others: short ones of few letters, long ones of few shapes, keys that differ only far behind, and
/// pairs of bytes.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let letter = prop::sample::select(vec![0, b'a', b'b', 0x80, 0xFF]);
    let short = prop::collection::vec(letter.clone(), 0..5);
    let zeros = (0..3_u8, 0..20_usize).prop_map(|(first, zeros)| {
        let mut key = vec![first; usize::from(first > 0)];
        key.extend(vec![0; zeros]);
        key
    });
    let long = (0..90_usize, prop::collection::vec(letter, 0..3), 0..2_usize).prop_map(
        |(stem, tail, shape)| {
            let mut key: Vec<u8> = (0..stem).map(|i| b"xyxyzxyxyw"[i % 10]).collect();
            key.extend(tail);
            key.extend(vec![b'~'; 9 * shape]);
            key
        },
    );
    let users = (0..400_u32).prop_map(|n| format!("user:{n:012}").into_bytes());
    let fan = (0..3_u8, any::<u8>()).prop_map(|(a, b)| vec![b'f', a, b, b'!']);
    prop_oneof![3 => short, 1 => zeros, 3 => long, 2 => users, 3 => fan]
}
