//! FAST & FAIR of byte strings in a pool.

use std::sync::Arc;

use super::bytes::ByteTree;
use super::form::Entries;
use super::sizes::{BYTE_NODES, FairBytes};
use super::structure::Structure;
use super::tree::Tree;
use crate::Result;
use crate::kind::Kind;
use crate::media::Media;
use crate::space::{Guard, Inventory, LeakWalk, MapState, Space};
use crate::tree::key_word::Seven;
use crate::tree::{TreeCheck, fast_fair, fast_fair_bytes};
use crate::types::Types;

/// Trees with nodes of [`BYTE_NODES`].
pub(super) struct ByteNodes;

/// Checks a tree; passes each node and record to `visit`, and each node to `node`.
fn check<M: Media>(
    guard: &Guard<'_, M>,
    map: &MapState,
    visit: &mut dyn FnMut(u64, u64),
    node: &mut dyn FnMut(u64),
) -> Result<TreeCheck> {
    const INNER: usize = BYTE_NODES.0;
    const LEAF: usize = BYTE_NODES.1;
    let mut each = |at, bytes, is_node| {
        visit(at, bytes);
        if is_node {
            node(at);
        }
    };
    fast_fair_bytes::check_tree::<M, INNER, LEAF, Seven>(guard, map.root(), &mut each)
}

impl<M: Media> Structure<M> for ByteNodes {
    fn kind(&self) -> Kind {
        Kind::FastFair
    }

    fn parameters(&self) -> u64 {
        FairBytes::<M>::PARAMETERS
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
        FairBytes::<M>::find_or_create(space, name, types)
    }

    fn open(&self, space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Tree<M>> {
        FairBytes::over(space, map).map(|tree| Tree::Bytes(ByteTree::FairBytes(tree)))
    }

    fn check(
        &self,
        guard: &Guard<'_, M>,
        map: &MapState,
        visit: &mut dyn FnMut(u64, u64),
    ) -> Result<TreeCheck> {
        let mut nodes = Vec::new();
        let found = check(guard, map, visit, &mut |at| nodes.push(at))?;
        nodes.into_iter().try_for_each(|at| fast_fair::check_lock(guard, at))?;
        Ok(found)
    }

    fn void_locks(&self, guard: &Guard<'_, M>, map: &MapState) -> Result<()> {
        let mut nodes = Vec::new();
        check(guard, map, &mut |_, _| {}, &mut |at| nodes.push(at))?;
        nodes.into_iter().try_for_each(|at| fast_fair::void_lock(guard, at))
    }

    fn inventory(&self) -> Box<Inventory<M>> {
        let mut inventory = fast_fair_bytes::Inventory::default();
        Box::new(move |media, map, note, bite| {
            inventory.step::<M, { BYTE_NODES.0 }, { BYTE_NODES.1 }, Seven>(media, map, note, bite)
        })
    }

    fn walks(
        &self,
        space: &Arc<Space<M>>,
        map: Arc<MapState>,
    ) -> Result<Vec<Box<dyn LeakWalk<M>>>> {
        Ok(FairBytes::<M>::over(space, map)?.marking())
    }
}
