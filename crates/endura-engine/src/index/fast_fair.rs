//! FAST & FAIR in a pool.

use std::sync::Arc;

use super::bytes::ByteTree;
use super::form::Entries;
use super::recorded::Numbers;
use super::sizes::{NARROW_LEAVES, NarrowLeaves, NodeLayout, WIDE, Wide};
use super::structure::Structure;
use super::tree::Tree;
use super::words::WordTree;
use crate::Result;
use crate::kind::Kind;
use crate::media::Media;
use crate::space::{Guard, Inventory, LeakWalk, MapState, Space};
use crate::tree::TreeCheck;
use crate::tree::fast_fair::{self, LineBinary};
use crate::tree::numbers::Values;
use crate::tree::record_tree::RecordTree;
use crate::types::Types;

/// Trees with inner nodes of `INNER` words and leaves of `LEAF` words.
pub(super) struct Nodes<const INNER: usize, const LEAF: usize>;

/// The nodes of [`NodeLayout::Wide`].
pub(super) type WideNodes = Nodes<{ WIDE.0 }, { WIDE.1 }>;
/// The nodes of [`NodeLayout::NarrowLeaves`].
pub(super) type NarrowNodes = Nodes<{ NARROW_LEAVES.0 }, { NARROW_LEAVES.1 }>;

/// What differs between the two layouts: the name for users, and the variants of [`WordTree`] and [`ByteTree`].
pub(super) trait Layout<M: Media>: Sized {
    type Tree;

    const LAYOUT: NodeLayout;

    fn open(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<WordTree<M>>;

    fn with_records(tree: RecordTree<Self::Tree>) -> ByteTree<M>;
}

impl<M: Media> Layout<M> for WideNodes {
    type Tree = Wide<M>;

    const LAYOUT: NodeLayout = NodeLayout::Wide;

    fn open(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<WordTree<M>> {
        Wide::over(space, map).map(WordTree::Wide)
    }

    fn with_records(tree: RecordTree<Wide<M>>) -> ByteTree<M> {
        ByteTree::Wide(tree)
    }
}

impl<M: Media> Layout<M> for NarrowNodes {
    type Tree = NarrowLeaves<M>;

    const LAYOUT: NodeLayout = NodeLayout::NarrowLeaves;

    fn open(space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<WordTree<M>> {
        NarrowLeaves::over(space, map).map(WordTree::NarrowLeaves)
    }

    fn with_records(tree: RecordTree<NarrowLeaves<M>>) -> ByteTree<M> {
        ByteTree::NarrowLeaves(tree)
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize> Structure<M> for Nodes<INNER, LEAF>
where
    Self: Layout<M, Tree = fast_fair::Tree<M, INNER, LEAF, LineBinary>>,
{
    fn kind(&self) -> Kind {
        Kind::FastFair
    }

    fn parameters(&self) -> u64 {
        fast_fair::Tree::<M, INNER, LEAF, LineBinary>::PARAMETERS
    }

    fn layout(&self) -> Option<NodeLayout> {
        Some(Self::LAYOUT)
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
        let values = Values::Numbers;
        fast_fair::Tree::<M, INNER, LEAF, LineBinary>::find_or_create(space, name, types, values)
    }

    fn open(&self, space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Tree<M>> {
        <Self as Layout<M>>::open(space, map).map(Tree::Words)
    }

    fn check(
        &self,
        guard: &Guard<'_, M>,
        map: &MapState,
        visit: &mut dyn FnMut(u64, u64),
    ) -> Result<TreeCheck> {
        self.check_entries(guard, map, visit, &mut |_| Ok(()))
    }

    fn void_locks(&self, guard: &Guard<'_, M>, map: &MapState) -> Result<()> {
        let mut nodes = Vec::new();
        let mut note = |at, _| nodes.push(at);
        fast_fair::check_tree::<M, INNER, LEAF>(guard, map.root(), &mut note, &mut |_| Ok(()))?;
        nodes.into_iter().try_for_each(|at| fast_fair::void_lock(guard, at))
    }

    fn inventory(&self) -> Box<Inventory<M>> {
        self.inventory_of(Values::Numbers)
    }

    fn walks(
        &self,
        space: &Arc<Space<M>>,
        map: Arc<MapState>,
    ) -> Result<Vec<Box<dyn LeakWalk<M>>>> {
        let tree = fast_fair::Tree::<M, INNER, LEAF, LineBinary>::over(space, map)?;
        Ok(self.node_walks(&tree))
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize> Numbers<M> for Nodes<INNER, LEAF>
where
    Self: Layout<M, Tree = fast_fair::Tree<M, INNER, LEAF, LineBinary>>,
{
    type Tree = fast_fair::Tree<M, INNER, LEAF, LineBinary>;

    fn with_records(&self, tree: RecordTree<Self::Tree>) -> ByteTree<M> {
        <Self as Layout<M>>::with_records(tree)
    }

    fn check_entries(
        &self,
        guard: &Guard<'_, M>,
        map: &MapState,
        visit: &mut dyn FnMut(u64, u64),
        entry: &mut dyn FnMut((u64, u64)) -> Result<()>,
    ) -> Result<TreeCheck> {
        let mut nodes = Vec::new();
        let mut note = |at, bytes| {
            nodes.push(at);
            visit(at, bytes);
        };
        let found = fast_fair::check_tree::<M, INNER, LEAF>(guard, map.root(), &mut note, entry)?;
        nodes.into_iter().try_for_each(|at| fast_fair::check_lock(guard, at))?;
        Ok(found)
    }

    fn inventory_of(&self, values: Values) -> Box<Inventory<M>> {
        let mut inventory = fast_fair::Inventory::default();
        Box::new(move |media, map, note, bite| {
            inventory.step::<M, INNER, LEAF>(media, map, values, note, bite)
        })
    }

    fn node_walks(&self, tree: &Self::Tree) -> Vec<Box<dyn LeakWalk<M>>> {
        vec![tree.marking()]
    }
}
