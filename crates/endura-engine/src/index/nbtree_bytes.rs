//! NBTree of byte strings in a pool.

use std::sync::Arc;

use super::bytes::ByteTree;
use super::form::Entries;
use super::sizes::{BLOCK, NbBytes};
use super::structure::Structure;
use super::tree::Tree;
use crate::Result;
use crate::kind::Kind;
use crate::media::Media;
use crate::space::{Guard, Inventory, LeakWalk, MapState, Space};
use crate::tree::key_word::Seven;
use crate::tree::nbtree::ByteKeys;
use crate::tree::numbers::Values;
use crate::tree::{TreeCheck, nbtree};
use crate::types::Types;

/// Trees with blocks of [`BLOCK`] words.
pub(super) struct ByteBlocks;

impl<M: Media> Structure<M> for ByteBlocks {
    fn kind(&self) -> Kind {
        Kind::NbTree
    }

    fn parameters(&self) -> u64 {
        NbBytes::<M>::PARAMETERS
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
        NbBytes::<M>::find_or_create_strings(space, name, types)
    }

    fn open(&self, space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Tree<M>> {
        NbBytes::over_strings(space, map).map(|tree| Tree::Bytes(ByteTree::NbBytes(tree)))
    }

    fn check(
        &self,
        guard: &Guard<'_, M>,
        map: &MapState,
        visit: &mut dyn FnMut(u64, u64),
    ) -> Result<TreeCheck> {
        nbtree::check_strings::<M, BLOCK, Seven>(guard, map, visit)
    }

    /// An NBTree has no locks.
    fn void_locks(&self, _: &Guard<'_, M>, _: &MapState) -> Result<()> {
        Ok(())
    }

    fn inventory(&self) -> Box<Inventory<M>> {
        let mut inventory = nbtree::Inventory::default();
        Box::new(move |media, map, note, bite| {
            let values = Values::Records;
            inventory.step::<M, BLOCK, ByteKeys<Seven>>(media, map, values, note, bite)
        })
    }

    fn walks(
        &self,
        space: &Arc<Space<M>>,
        map: Arc<MapState>,
    ) -> Result<Vec<Box<dyn LeakWalk<M>>>> {
        Ok(NbBytes::over_strings(space, map)?.marking_strings())
    }
}
