//! NBTrees of tiny blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

use endura::lab::pool::Space;
use endura::lab::tree::nbtree::Tree;

use super::{Collection, MapOp, maps};
use crate::choose::Random;
use crate::sim::Sim;
use crate::subject::{Finding, Subject, first_wrong_key};

/// An NBTree with blocks of `W` words, 2 of which are the header, under inner nodes of `F` children.
#[derive(Debug, Clone)]
pub struct NbTree<const W: usize, const F: usize> {
    /// The keys that operations are about, ascending; all are looked up after a crash.
    pub keys: Vec<u64>,
}

/// An open pool with one NBTree.
pub struct OpenNbTree<const W: usize, const F: usize> {
    /// Its pool.
    pub space: Arc<Space<Sim>>,
    /// The tree.
    pub tree: Tree<Sim, W, F>,
    /// What is found of what the last crash stranded.
    pub collection: Collection,
}

impl<const W: usize, const F: usize> OpenNbTree<W, F> {
    fn over(medium: Sim, session: u64) -> Result<Self, Finding> {
        let space = maps::mounted(medium, session)?;
        let tree = maps::told(Tree::open(&space, "t"))?;
        let collection = Collection::of(&space, tree.marking());
        Ok(Self { space, tree, collection })
    }
}

impl<const W: usize, const F: usize> Subject for NbTree<W, F> {
    type Open = OpenNbTree<W, F>;
    type Op = MapOp;
    type Answer = Option<u64>;
    type Model = BTreeMap<u64, u64>;

    fn create(&self, medium: Sim) -> Result<Self::Open, Finding> {
        maps::told(Space::format(&medium))?;
        OpenNbTree::over(medium, 1)
    }

    fn open(&self, medium: Sim, session: u64) -> Result<Self::Open, Finding> {
        OpenNbTree::over(medium, session)
    }

    fn empty(&self) -> Self::Model {
        BTreeMap::new()
    }

    fn apply(&self, open: &Self::Open, op: &MapOp) -> Result<Option<u64>, Finding> {
        open.collection.around(|| maps::apply(&open.tree, op))
    }

    fn specify(&self, model: &mut Self::Model, op: &MapOp) -> Option<u64> {
        op.specify(model)
    }

    fn observe(&self, open: &Self::Open) -> Result<Self::Model, Finding> {
        maps::observe(&open.tree, &self.keys)
    }

    fn verify(&self, open: &Self::Open, model: &Self::Model) -> Result<(), Finding> {
        let survey = |visit: &mut dyn FnMut(u64, u64)| open.tree.survey(visit);
        maps::verify(&open.space, &open.collection, survey, model.len())
    }

    fn continuation(&self, model: &Self::Model, random: &mut Random) -> Vec<MapOp> {
        maps::continuation(&self.keys, model, random)
    }

    fn difference(&self, found: &Self::Model, expected: &[Self::Model]) -> String {
        first_wrong_key(found, expected)
    }

    fn is_structural(&self, step: &str) -> bool {
        ["change.", "settle.", "merge."].iter().any(|part| step.starts_with(part))
    }
}
