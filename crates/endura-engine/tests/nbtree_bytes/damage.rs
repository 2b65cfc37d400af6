//! Damaged pools.

use std::sync::Arc;

use endura_engine::Result;
use endura_engine::media::Heap;
use endura_engine::space::{LeakWalk, Space};
use endura_engine::tree::key_word::{KeyWord, One, Seven};
use endura_engine::tree::nbtree::ByteTree;

use crate::byte_damage::{self, Damaged};

impl<const W: usize, const FANOUT: usize, K: KeyWord> Damaged
    for ByteTree<Arc<Heap>, W, FANOUT, K>
{
    fn open(space: &Arc<Space<Arc<Heap>>>, name: &str) -> Result<Self> {
        Self::open_strings(space, name)
    }

    fn walks(&self) -> Vec<Box<dyn LeakWalk<Arc<Heap>>>> {
        self.marking_strings()
    }

    fn check(&self) -> Result<()> {
        self.check(&mut |_, _| ()).map(drop)
    }

    fn count_all(&self) -> Result<()> {
        self.rebuild(1)
    }
}

#[test]
fn a_damaged_pool_with_words_that_tie_answers_or_fails() {
    byte_damage::answers_or_fails::<ByteTree<Arc<Heap>, 16, 4, One>>();
}

#[test]
fn a_damaged_pool_with_words_that_part_answers_or_fails() {
    byte_damage::answers_or_fails::<ByteTree<Arc<Heap>, 32, 8, Seven>>();
}
