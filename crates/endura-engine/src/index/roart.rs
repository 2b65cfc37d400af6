//! ROART in a pool.

use std::sync::Arc;

use super::bytes::ByteTree;
use super::form::Entries;
use super::structure::Structure;
use super::tree::Tree;
use crate::Result;
use crate::kind::Kind;
use crate::media::Media;
use crate::space::{Guard, Inventory, LeakWalk, MapState, Space};
use crate::tree::{TreeCheck, roart};
use crate::types::Types;

/// Radix trees. Their nodes, arrays and records have only one format.
pub(super) struct Radix;

impl<M: Media> Structure<M> for Radix {
    fn kind(&self) -> Kind {
        Kind::Roart
    }

    fn parameters(&self) -> u64 {
        roart::PARAMETERS
    }

    fn entries(&self) -> Entries {
        Entries::Bytes
    }

    fn find_or_create(
        &self,
        space: &Arc<Space<M>>,
        name: &str,
        types: &Types,
    ) -> Result<Arc<MapState>> {
        roart::Tree::<M>::find_or_create(space, name, types)
    }

    fn open(&self, space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Tree<M>> {
        roart::Tree::over(space, map).map(|tree| Tree::Bytes(ByteTree::Roart(tree)))
    }

    fn check(
        &self,
        guard: &Guard<'_, M>,
        map: &MapState,
        visit: &mut dyn FnMut(u64, u64),
    ) -> Result<TreeCheck> {
        let found = roart::check_tree(guard, map.root(), visit)?;
        Ok(TreeCheck { nodes: found.nodes + found.arrays, ..found })
    }

    fn void_locks(&self, guard: &Guard<'_, M>, map: &MapState) -> Result<()> {
        roart::void_locks(guard, map.root())
    }

    fn inventory(&self) -> Box<Inventory<M>> {
        let mut inventory = roart::Inventory::default();
        Box::new(move |media, map, note, bite| inventory.step(media, map, note, bite))
    }

    fn walks(
        &self,
        space: &Arc<Space<M>>,
        map: Arc<MapState>,
    ) -> Result<Vec<Box<dyn LeakWalk<M>>>> {
        Ok(vec![roart::Tree::<M>::over(space, map)?.marking()])
    }
}
