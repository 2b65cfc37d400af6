//! Damaged pools.

use std::sync::Arc;

use endura_engine::Result;
use endura_engine::media::Heap;
use endura_engine::space::{LeakWalk, Space};
use endura_engine::tree::fast_fair_bytes::Tree;
use endura_engine::tree::key_word::{KeyWord, One, Seven};

use crate::byte_damage::{self, Damaged};

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
