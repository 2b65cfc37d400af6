//! Trees of small nodes that have their values in records: of byte strings, and of integers.

use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

use endura::Result;
use endura_engine::media::Heap;
use endura_engine::tree::key_word::One;
use endura_engine::tree::record_tree::RecordTree;
use endura_engine::tree::{ByteIndex, fast_fair_bytes, nbtree, roart};
use endura_variants::handles::ByteMap;
use endura_variants::roart::Tiny as SmallArrays;

use crate::choices::Choices;
use crate::every_operation::{Damaged, Image, ROOM, STEP, Tiny, TinyFastFair, TinyNbTree};

pub(crate) type TinyFairStrings = fast_fair_bytes::Tree<Arc<Heap>, 24, 30, One>;
pub(crate) type TinyNbStrings = nbtree::ByteTree<Arc<Heap>, 24, 4, One>;
pub(crate) type TinyRoart = roart::Tree<Arc<Heap>, SmallArrays>;
pub(crate) type TinyFairRecords = RecordTree<TinyFastFair>;
pub(crate) type TinyNbRecords = RecordTree<TinyNbTree>;

/// Entries of a sound map.
const ENTRIES: u64 = 300;

/// Short ones and long ones, with prefixes in common, and each the prefix of some other.
fn string(n: u64) -> Vec<u8> {
    match n % 4 {
        0 => n.to_be_bytes()[6..].to_vec(),
        1 => format!("a/shared/prefix/of/all/{n}").into_bytes(),
        2 => vec![b'n'; n as usize / 4],
        _ => vec![b'f', n as u8],
    }
}

fn integer(n: u64) -> Vec<u8> {
    (n % 700 * STEP + n / 700).to_be_bytes().to_vec()
}

macro_rules! tiny {
    ($($tree:ty, $open:ident, $key:ident;)*) => { $(
        impl Tiny for $tree {
            fn open(space: &Damaged, name: &str) -> Result<Self> {
                Self::$open(space, name)
            }

            fn fill(&self) {
                let map = ByteMap::over(self.clone());
                for n in 0..ENTRIES {
                    map.insert($key(n), vec![n as u8; n as usize % 70]).unwrap();
                }
                map.insert($key(ENTRIES), vec![1; 20_000]).unwrap();
                (100..200).for_each(|n| _ = map.remove($key(n)).unwrap());
            }

            fn use_all(&self, choices: &mut Choices<'_>) {
                every_operation(&ByteMap::over(self.clone()), choices, $key);
            }

            fn check(&self) -> Result<()> {
                self.check(&mut |_, _| ()).map(drop)
            }

            fn images() -> &'static [Image; 2] {
                static IMAGES: LazyLock<[Image; 2]> = LazyLock::new(Image::of_sessions::<$tree>);
                &IMAGES
            }
        }
    )* };
}

/// All that a map of byte strings offers, on keys all over the tree.
fn every_operation<I: ByteIndex>(
    map: &ByteMap<I>,
    choices: &mut Choices<'_>,
    key: fn(u64) -> Vec<u8>,
) {
    let from = choices.below(ENTRIES as usize) as u64;
    let keys: Vec<Vec<u8>> = (0..20).map(|i| key((from + 17 * i) % (ENTRIES + 9))).collect();
    let _ = (map.len(), map.is_empty(), map.first(), map.last(), map.get_many(&keys));
    for (n, one) in (0..).zip(&keys) {
        let _ = (map.get(one), map.contains_key(one), map.insert(one, vec![7; 5 * n]));
        let _ = (map.insert_new(key(900 + n as u64), "new"), map.update(one, ""));
        let _ = (map.compare_exchange(one, Some(&[]), Some(b"other")), map.remove(one));
        let _ = map.fetch_update(one, |old| old.map(<[u8]>::to_vec).or(Some(Vec::new())));
        let _ = map.insert_from(one, 40, |out| {
            out.write_all(b"piece by piece").unwrap();
            Ok(())
        });
    }
    scans_end(map);
    let _ = (map.pop_first(), map.pop_last(), map.retain(|key, _| key.len() % 3 != 0));
    let (low, high) = ((&keys[1]).min(&keys[2]), (&keys[1]).max(&keys[2]));
    let _ = (map.remove_range::<Vec<u8>>(low..high), map.first(), map.len());
    if choices.below(4) == 0 {
        let _ = map.clear();
    }
}

/// At most so many entries can be told apart in the room there is.
fn scans_end<I: ByteIndex>(map: &ByteMap<I>) {
    let limit = (ROOM / 16) as usize;
    assert!(map.iter().take(limit).count() < limit, "a scan ends");
    assert!(map.iter().rev().take(limit).count() < limit, "a scan ends");
    let mut seen = 0;
    let _ = map.range_with::<Vec<u8>>(.., |_, _| {
        seen += 1;
        if seen < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert!(seen < limit, "a scan ends");
}

tiny! {
    TinyFairStrings, open, string;
    TinyNbStrings, open_strings, string;
    TinyRoart, open, string;
    TinyFairRecords, open, integer;
    TinyNbRecords, open, integer;
}
