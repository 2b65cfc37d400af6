//! NBTree in a pool.

use std::sync::Arc;

use super::bytes::ByteTree;
use super::form::Entries;
use super::recorded::Numbers;
use super::sizes::{BLOCK, NbTree};
use super::structure::Structure;
use super::tree::Tree;
use super::words::WordTree;
use crate::Result;
use crate::kind::Kind;
use crate::media::Media;
use crate::space::{Guard, Inventory, LeakWalk, MapState, Space};
use crate::tree::nbtree::NumberKeys;
use crate::tree::numbers::Values;
use crate::tree::record_tree::RecordTree;
use crate::tree::{TreeCheck, nbtree};
use crate::types::Types;

/// Trees with blocks of [`BLOCK`] words.
pub(super) struct Blocks;

impl<M: Media> Structure<M> for Blocks {
    fn kind(&self) -> Kind {
        Kind::NbTree
    }

    fn parameters(&self) -> u64 {
        NbTree::<M>::PARAMETERS
    }

    fn entries(&self) -> Entries {
        Entries::Words
    }

    fn find_or_create(
        &self,
        space: &Arc<Space<M>>,
        name: &str,
        types: &Types,
    ) -> Result<Arc<MapState>> {
        NbTree::<M>::find_or_create(space, name, types, Values::Numbers)
    }

    fn open(&self, space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Tree<M>> {
        NbTree::over(space, map).map(|tree| Tree::Words(WordTree::NbTree(tree)))
    }

    fn check(
        &self,
        guard: &Guard<'_, M>,
        map: &MapState,
        visit: &mut dyn FnMut(u64, u64),
    ) -> Result<TreeCheck> {
        nbtree::check_tree::<M, BLOCK>(guard, map, visit, &mut |_| Ok(()))
    }

    /// An NBTree has no locks.
    fn void_locks(&self, _: &Guard<'_, M>, _: &MapState) -> Result<()> {
        Ok(())
    }

    fn inventory(&self) -> Box<Inventory<M>> {
        self.inventory_of(Values::Numbers)
    }

    fn walks(
        &self,
        space: &Arc<Space<M>>,
        map: Arc<MapState>,
    ) -> Result<Vec<Box<dyn LeakWalk<M>>>> {
        Ok(self.node_walks(&NbTree::over(space, map)?))
    }
}

impl<M: Media> Numbers<M> for Blocks {
    type Tree = NbTree<M>;

    fn with_records(&self, tree: RecordTree<NbTree<M>>) -> ByteTree<M> {
        ByteTree::NbTree(tree)
    }

    fn check_entries(
        &self,
        guard: &Guard<'_, M>,
        map: &MapState,
        visit: &mut dyn FnMut(u64, u64),
        entry: &mut dyn FnMut((u64, u64)) -> Result<()>,
    ) -> Result<TreeCheck> {
        nbtree::check_tree::<M, BLOCK>(guard, map, visit, entry)
    }

    fn inventory_of(&self, values: Values) -> Box<Inventory<M>> {
        let mut inventory = nbtree::Inventory::default();
        Box::new(move |media, map, note, bite| {
            inventory.step::<M, BLOCK, NumberKeys>(media, map, values, note, bite)
        })
    }

    fn node_walks(&self, tree: &NbTree<M>) -> Vec<Box<dyn LeakWalk<M>>> {
        tree.marking()
    }
}
