//! FAST & FAIR trees of tiny nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use endura::lab::pool::{PAGE, Space};
use endura::lab::tree::fast_fair::{LineBinary, Tree};

use super::{Collection, maps};
use crate::choose::Random;
use crate::sim::Sim;
use crate::subject::{Finding, Subject, first_wrong_key};

/// An operation of a map from `u64` to `u64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapOp {
    /// Gives a key a value.
    Put(u64, u64),
    /// Takes a key out.
    Remove(u64),
}

impl MapOp {
    /// The key that it is about.
    pub fn key(self) -> u64 {
        match self {
            Self::Put(key, _) | Self::Remove(key) => key,
        }
    }

    /// What it makes of a model; gives the value the key had.
    pub fn specify(self, model: &mut BTreeMap<u64, u64>) -> Option<u64> {
        match self {
            Self::Put(key, value) => model.insert(key, value),
            Self::Remove(key) => model.remove(&key),
        }
    }
}

/// A FAST & FAIR tree of inner nodes of `I` words and leaves of `L`, 8 of which are the header.
#[derive(Debug, Clone)]
pub struct FastFair<const I: usize, const L: usize> {
    /// The keys that operations are about, ascending; all are looked up after a crash.
    pub keys: Vec<u64>,
}

/// Bytes that a pool of a few tiny trees needs.
pub const LIMIT: u64 = 12 * PAGE;

/// An open pool with one tree.
pub struct OpenTree<const I: usize, const L: usize> {
    /// Its pool.
    pub space: Arc<Space<Sim>>,
    /// The tree.
    pub tree: Tree<Sim, I, L, LineBinary>,
    /// What is found of what the last crash stranded.
    pub collection: Collection,
}

impl<const I: usize, const L: usize> OpenTree<I, L> {
    fn over(medium: Sim, session: u64) -> Result<Self, Finding> {
        let space = maps::mounted(medium, session)?;
        let tree = maps::told(Tree::open(&space, "t"))?;
        let collection = Collection::of(&space, vec![tree.marking()]);
        Ok(Self { space, tree, collection })
    }
}

impl<const I: usize, const L: usize> Subject for FastFair<I, L> {
    type Open = OpenTree<I, L>;
    type Op = MapOp;
    type Answer = Option<u64>;
    type Model = BTreeMap<u64, u64>;

    fn create(&self, medium: Sim) -> Result<Self::Open, Finding> {
        maps::told(Space::format(&medium))?;
        OpenTree::over(medium, 1)
    }

    fn open(&self, medium: Sim, session: u64) -> Result<Self::Open, Finding> {
        OpenTree::over(medium, session)
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

    fn is_structural(&self, step: &str) -> bool {
        ["split.", "merge.", "post.", "root."].iter().any(|part| step.starts_with(part))
    }

    fn difference(&self, found: &Self::Model, expected: &[Self::Model]) -> String {
        first_wrong_key(found, expected)
    }

    fn is_volatile(&self, at: u64, line: &[u64; 8]) -> bool {
        line[4] >> 32 == 0xFA57_FA18 && [0, 5, 6].contains(&(at / 8 % 8))
    }
}
