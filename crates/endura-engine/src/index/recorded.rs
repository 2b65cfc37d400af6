//! Trees of numbers with records, in a pool: for keys that are words with values of any length.

use std::cell::RefCell;
use std::sync::Arc;

use super::bytes::ByteTree;
use super::form::Entries;
use super::sizes::NodeLayout;
use super::structure::Structure;
use super::tree::Tree;
use crate::Result;
use crate::kind::Kind;
use crate::media::Media;
use crate::space::{Guard, Inventory, LeakWalk, MapState, Space};
use crate::tree::TreeCheck;
use crate::tree::numbers::{NumberTree, Values};
use crate::tree::record_tree::{RecordTree, check_record};
use crate::types::Types;

/// A structure of words whose values can be the offsets of records.
pub(super) trait Numbers<M: Media>: Structure<M> {
    type Tree: NumberTree<Medium = M>;

    /// The variant for this tree.
    fn with_records(&self, tree: RecordTree<Self::Tree>) -> ByteTree<M>;

    /// Does what [`check`](Structure::check) does, and passes each entry to `entry`.
    fn check_entries(
        &self,
        guard: &Guard<'_, M>,
        map: &MapState,
        visit: &mut dyn FnMut(u64, u64),
        entry: &mut dyn FnMut((u64, u64)) -> Result<()>,
    ) -> Result<TreeCheck>;

    /// A walk over the chunks of a map that was dropped.
    fn inventory_of(&self, values: Values) -> Box<Inventory<M>>;

    /// The walks that find all nodes for a leak recovery.
    fn node_walks(&self, tree: &Self::Tree) -> Vec<Box<dyn LeakWalk<M>>>;
}

/// The structure `S` with records.
pub(super) struct Recorded<S>(pub(super) S);

impl<M: Media, S: Numbers<M>> Structure<M> for Recorded<S> {
    fn kind(&self) -> Kind {
        self.0.kind()
    }

    fn parameters(&self) -> u64 {
        Values::Records.parameters(self.0.parameters())
    }

    fn layout(&self) -> Option<NodeLayout> {
        self.0.layout()
    }

    fn entries(&self) -> Entries {
        Entries::WordKeys
    }

    fn find_or_create(
        &self,
        space: &Arc<Space<M>>,
        name: &str,
        types: &Types,
    ) -> Result<Arc<MapState>> {
        RecordTree::<S::Tree>::find_or_create(space, name, types)
    }

    fn open(&self, space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Tree<M>> {
        let tree = RecordTree::over(space, map)?;
        Ok(Tree::Bytes(self.0.with_records(tree)))
    }

    fn check(
        &self,
        guard: &Guard<'_, M>,
        map: &MapState,
        visit: &mut dyn FnMut(u64, u64),
    ) -> Result<TreeCheck> {
        // Nodes and records are met in turn.
        let visit = RefCell::new(visit);
        let mut note = |at, bytes| visit.borrow_mut()(at, bytes);
        self.0.check_entries(guard, map, &mut note, &mut |entry| {
            check_record(guard.media(), entry, &mut |at, bytes| visit.borrow_mut()(at, bytes))
        })
    }

    fn void_locks(&self, guard: &Guard<'_, M>, map: &MapState) -> Result<()> {
        self.0.void_locks(guard, map)
    }

    fn inventory(&self) -> Box<Inventory<M>> {
        self.0.inventory_of(Values::Records)
    }

    fn walks(
        &self,
        space: &Arc<Space<M>>,
        map: Arc<MapState>,
    ) -> Result<Vec<Box<dyn LeakWalk<M>>>> {
        let tree = RecordTree::over(space, map)?;
        let mut walks = self.0.node_walks(&tree.tree);
        walks.push(tree.marking());
        Ok(walks)
    }
}
