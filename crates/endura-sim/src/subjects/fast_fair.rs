//! FAST & FAIR trees of tiny nodes.

use std::sync::Arc;

use endura_engine::Result;
use endura_engine::space::{LeakWalk, Space};
use endura_engine::tree::Len;
use endura_engine::tree::fast_fair::{LineBinary, Tree};

use super::numbers::{NumberTree, Numbers, node_bytes};
use crate::sim::Sim;

/// A FAST & FAIR tree of inner nodes of `I` words and leaves of `L`, 8 of which are the header.
pub type FastFair<const I: usize, const L: usize> = Numbers<Tree<Sim, I, L, LineBinary>>;

impl<const I: usize, const L: usize> NumberTree for Tree<Sim, I, L, LineBinary> {
    const STRUCTURAL: &'static [&'static str] = &["split.", "merge.", "post.", "root."];

    const STEPS: &'static [&'static str] = &[
        "fast_delete.commit",
        "fast_delete.shift",
        "fast_insert.commit",
        "fast_insert.shift",
        "merge.M1",
        "merge.M2",
        "merge.M3",
        "merge.M4.sib",
        "merge.M4.high",
        "merge.M4.tag",
        "merge.M5",
        "post.P1",
        "post.P2",
        "root.grow",
        "root.shrink",
        "split.S3.sib",
        "split.S3.high",
        "split.S3.tag",
        "split.S3.durable",
    ];

    const CHUNKS: &'static [u64] = &[node_bytes(L)];

    fn open(space: &Arc<Space<Sim>>) -> Result<Self> {
        Self::open(space, "t")
    }

    fn walks(&self) -> Vec<Box<dyn LeakWalk<Sim>>> {
        vec![self.marking()]
    }

    fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<u64> {
        Ok(self.check(visit)?.entries)
    }

    fn is_volatile(at: u64, line: &[u64; 8]) -> bool {
        line[4] >> 32 == 0xFA57_FA18 && [0, 5, 6].contains(&(at / 8 % 8))
    }

    fn count(&self) -> Result<()> {
        if self.map().claim_count() { self.count_all() } else { Ok(()) }
    }

    fn counted(&self) -> Result<Len> {
        Ok(Len::Exact(self.map().sum()))
    }
}
