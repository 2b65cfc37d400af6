//! NBTrees of tiny blocks.

use std::sync::Arc;

use endura_engine::Result;
use endura_engine::space::{LeakWalk, Space};
use endura_engine::tree::nbtree::Tree;

use super::numbers::{NumberTree, Numbers, OpenNumbers, node_bytes};
use crate::sim::Sim;

/// An NBTree with blocks of `W` words, 2 of which are the header, under inner nodes of `F` children.
pub type NbTree<const W: usize, const F: usize> = Numbers<Tree<Sim, W, F>>;

/// An open pool with one NBTree.
pub type OpenNbTree<const W: usize, const F: usize> = OpenNumbers<Tree<Sim, W, F>>;

impl<const W: usize, const F: usize> NumberTree for Tree<Sim, W, F> {
    const STRUCTURAL: &'static [&'static str] = &["change.", "settle.", "merge."];

    const STEPS: &'static [&'static str] = &[
        "alter.exchange",
        "alter.durable",
        "insert.I2",
        "insert.I3",
        "insert.pending",
        "insert.I4",
        "insert.I5",
        "insert.durable",
        "change.S0",
        "change.S1",
        "change.S3",
        "change.S4",
        "settle.S5",
        "settle.S6",
        "settle.unlink",
        "settle.S7",
        "settle.S8",
        "merge.M1",
        "merge.M2",
        "reroute.cell",
        "reroute.frozen",
        "reroute.root",
    ];

    const CHUNKS: &'static [u64] = &[node_bytes(W)];

    /// Blocks in reserve, and those that a merge has retired.
    const LEAVES_NOTHING: bool = false;

    fn open(space: &Arc<Space<Sim>>) -> Result<Self> {
        Self::open(space, "t")
    }

    fn walks(&self) -> Vec<Box<dyn LeakWalk<Sim>>> {
        self.marking()
    }

    fn check(&self, visit: &mut dyn FnMut(u64, u64)) -> Result<u64> {
        Ok(self.check(visit)?.entries)
    }

    fn count(&self) -> Result<()> {
        self.rebuild(1)
    }
}
