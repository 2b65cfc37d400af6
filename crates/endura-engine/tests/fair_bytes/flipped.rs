//! Damaged pools.

use std::sync::Arc;

use endura_engine::media::{Heap, Media, Ordering, Region};
use endura_engine::space::{LeakWalk, PAGE, Space};
use endura_engine::tree::fast_fair_bytes::Tree;
use endura_engine::tree::key_word::{KeyWord, One, Seven};
use endura_engine::tree::{ByteChange, ByteIndex};
use endura_engine::{Error, Result};
use endura_variants::sessions;

use crate::byte_damage::{self, Damaged};
use crate::patience::ends;

impl<const INNER: usize, const LEAF: usize, K: KeyWord> Damaged
    for Tree<Arc<Heap>, INNER, LEAF, K>
{
    fn open(space: &Arc<Space<Arc<Heap>>>, name: &str) -> Result<Self> {
        Self::open(space, name)
    }

    fn walks(&self) -> Vec<Box<dyn LeakWalk<Arc<Heap>>>> {
        self.marking()
    }

    fn check(&self) -> Result<()> {
        self.check(&mut |_, _| ()).map(drop)
    }

    fn count_all(&self) -> Result<()> {
        self.count_all()
    }
}

#[test]
fn a_damaged_pool_with_words_that_tie_answers_or_fails() {
    byte_damage::answers_or_fails::<Tree<Arc<Heap>, 24, 30, One>>();
}

#[test]
fn a_damaged_pool_with_words_that_part_answers_or_fails() {
    byte_damage::answers_or_fails::<Tree<Arc<Heap>, 32, 32, Seven>>();
}

/// Indices of words of a node: of the upper fence, the sibling, and what it is.
const HIGH: usize = 2;
const SIB: usize = 3;
const META: usize = 4;
const MAGIC: u64 = 0xFA57_FA1B;
const SPLITTING: u64 = 1 << 48;
const REPLACED: u64 = 3 << 48;

/// Leaves of four entries.
type Small = Tree<Arc<Heap>, 24, 24, Seven>;

fn key(n: u64) -> Vec<u8> {
    format!("{n:05}").into_bytes()
}

fn put(tree: &Small, key: &[u8], value: &[u8]) -> Result<()> {
    tree.apply(key, |_| ByteChange::Put(value.to_vec().into()))
}

fn node(heap: &Arc<Heap>, at: u64) -> Region<'_, Arc<Heap>> {
    Region::new(heap, at, META + 1).unwrap()
}

/// A pool that was not closed, and its leaves from left to right.
fn with_leaves(entries: u64) -> (Arc<Heap>, Vec<u64>) {
    let heap = Arc::new(Heap::new(32 * PAGE));
    let space = sessions::first(Arc::clone(&heap)).unwrap();
    let tree = Small::open(&space, "map").unwrap();
    (0..entries).for_each(|n| put(&tree, &key(n), b"value").unwrap());
    let word = |at: u64, i: usize| node(&heap, at).load(i, Ordering::Relaxed);
    let is_leaf = |&at: &u64| word(at, META) >> 32 == MAGIC && word(at, META) & 0xFF == 0;
    let leaves: Vec<u64> = (0..heap.len() - 64).step_by(64).filter(is_leaf).collect();
    let is_first = |at: &&u64| leaves.iter().all(|&other| word(other, SIB) != **at);
    let mut sorted = vec![**leaves.iter().filter(is_first).collect::<Vec<_>>().first().unwrap()];
    while let next @ 1.. = word(sorted[sorted.len() - 1], SIB) {
        sorted.push(next);
    }
    (heap, sorted)
}

/// A signpost leads far back to the left, to a leaf that has lost its upper fence: a walk from leaf to leaf comes there again
/// and again.
#[test]
fn the_leaves_of_a_level_in_a_circle_are_counted_in_the_end() {
    let (heap, leaves) = with_leaves(800);
    assert!(leaves.len() > 180);
    node(&heap, leaves[10]).store(HIGH, u64::MAX, Ordering::Relaxed);
    node(&heap, leaves[170]).store(SIB, leaves[10] | REPLACED, Ordering::Relaxed);
    ends("a count", move || {
        let tree = Small::open(&sessions::begin(heap, 2, false).unwrap(), "map").unwrap();
        assert!(matches!(tree.count_all(), Err(Error::Corrupt { .. })));
    });
}

/// The last leaf has an upper fence: it takes no key behind it, for the next one would be written over it.
#[test]
fn a_last_leaf_with_an_upper_fence_loses_no_key() {
    let (heap, leaves) = with_leaves(40);
    let last = Region::new(&heap, leaves[leaves.len() - 1], 24).unwrap();
    let words = (0..4).map(|slot| last.load(16 + 2 * slot, Ordering::Relaxed));
    let used = words.filter(|&word| word != u64::MAX).max().unwrap();
    last.store(HIGH, used + 1, Ordering::Relaxed);
    let tree = Small::open(&sessions::begin(heap, 2, false).unwrap(), "map").unwrap();
    let descending: Vec<Vec<u8>> = (0..9).rev().map(|i| format!("zz{i}").into_bytes()).collect();
    let kept: Vec<_> = descending.iter().filter(|key| put(&tree, key, b"new").is_ok()).collect();
    for key in kept {
        let value = tree.get_with(key, |value| value.to_vec());
        assert!(value.is_ok_and(|value| value.as_deref() == Some(b"new")));
    }
}

/// The link of a leaf says that a split is under way, and leads to the leaf behind the sibling. That one takes no part in a
/// split, and is not given back: all entries are there when the link is mended.
#[test]
fn a_leaf_with_the_tag_of_a_split_gives_back_no_leaf_behind_its_fence() {
    for i in 1..12 {
        let (heap, leaves) = with_leaves(80);
        let link = node(&heap, leaves[i]).load(SIB, Ordering::Relaxed);
        node(&heap, leaves[i]).store(SIB, leaves[i + 2] | SPLITTING, Ordering::Relaxed);
        let space = sessions::begin(Arc::clone(&heap), 2, false).unwrap();
        let tree = Small::open(&space, "map").unwrap();
        // Each key has its value again.
        let refused = (0..80).filter(|&n| put(&tree, &key(n), b"value").is_err()).count();
        assert!(refused > 0);
        drop((tree, space));
        node(&heap, leaves[i]).store(SIB, link, Ordering::Relaxed);
        let tree = Small::open(&sessions::begin(heap, 3, false).unwrap(), "map").unwrap();
        for n in 0..80 {
            let value = tree.get_with(&key(n), |value| value.to_vec()).unwrap();
            assert_eq!(value.as_deref(), Some(&b"value"[..]), "{n}");
        }
        tree.check(&mut |_, _| {}).unwrap();
    }
}
