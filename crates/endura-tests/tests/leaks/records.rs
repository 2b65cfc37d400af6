//! Maps with records beside those of a [`World`](crate::World): byte strings and integers, each in a FAST & FAIR tree and in
//! an NBTree.

use std::sync::Arc;

use endura_engine::media::Heap;
use endura_engine::space::{LeakWalk, Space};
use endura_engine::tree::key_word::One;
use endura_engine::tree::record_tree::RecordTree;
use endura_engine::tree::{ByteIndex, fast_fair_bytes, nbtree};
use endura_variants::handles::{ByteEntry, ByteMap};

use crate::{FastFair, NbTree, name};

/// With words of one byte leaves are replaced more often than they are split.
type FairStrings = fast_fair_bytes::Tree<Arc<Heap>, 24, 24, One>;
type NbStrings = nbtree::ByteTree<Arc<Heap>, 16, 4, One>;

pub(crate) struct Records {
    fair_strings: FairStrings,
    nb_strings: NbStrings,
    fast_fair: RecordTree<FastFair>,
    nbtree: RecordTree<NbTree>,
}

impl Records {
    pub(crate) fn open(space: &Arc<Space<Arc<Heap>>>) -> Self {
        Self {
            fair_strings: FairStrings::open(space, "fast_fair strings").unwrap(),
            nb_strings: NbStrings::open_strings(space, "nbtree strings").unwrap(),
            fast_fair: RecordTree::open(space, "fast_fair records").unwrap(),
            nbtree: RecordTree::open(space, "nbtree records").unwrap(),
        }
    }

    pub(crate) fn walks(&self) -> Vec<Box<dyn LeakWalk<Arc<Heap>>>> {
        let mut walks = self.fair_strings.marking();
        walks.extend(self.nb_strings.marking_strings());
        walks.extend([self.fast_fair.numbers().marking(), self.fast_fair.marking()]);
        walks.extend(self.nbtree.numbers().marking());
        walks.push(self.nbtree.marking());
        walks
    }

    /// Checks the trees, and passes the offset and the bytes of every chunk to `note`.
    pub(crate) fn check(&self, note: &mut dyn FnMut(u64, u64)) {
        self.fair_strings.check(note).unwrap();
        self.nb_strings.check(note).unwrap();
        self.fast_fair.check(note).unwrap();
        self.nbtree.check(note).unwrap();
    }

    pub(crate) fn maps(&self) -> [Box<dyn Values>; 4] {
        let integer = |key: u64| key.to_be_bytes().to_vec();
        [
            Box::new(Spelled(ByteMap::over(self.fair_strings.clone()), name)),
            Box::new(Spelled(ByteMap::over(self.nb_strings.clone()), name)),
            Box::new(Spelled(ByteMap::over(self.fast_fair.clone()), integer)),
            Box::new(Spelled(ByteMap::over(self.nbtree.clone()), integer)),
        ]
    }
}

/// A map of byte strings of whichever kind.
pub(crate) trait Values {
    fn put(&self, key: u64, value: &[u8]);
    fn take(&self, key: u64);
    fn all(&self) -> Vec<ByteEntry>;
}

/// A map, and how it spells a number.
struct Spelled<I>(ByteMap<I>, fn(u64) -> Vec<u8>);

impl<I: ByteIndex> Values for Spelled<I> {
    fn put(&self, key: u64, value: &[u8]) {
        self.0.insert((self.1)(key), value).unwrap();
    }

    fn take(&self, key: u64) {
        self.0.remove((self.1)(key)).unwrap();
    }

    fn all(&self) -> Vec<ByteEntry> {
        self.0.iter().map(Result::unwrap).collect()
    }
}
