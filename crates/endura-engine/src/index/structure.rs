//! The interface of an index whose kind is known only at run time.

use std::sync::Arc;

use super::form::Entries;
use super::sizes::NodeLayout;
use super::tree::Tree;
use crate::Result;
use crate::kind::Kind;
use crate::media::Media;
use crate::space::{Guard, Inventory, LeakWalk, MapState, Space};
use crate::tree::TreeCheck;
use crate::types::Types;

/// One kind of index with nodes of one size. It does all work on whole maps; operations on entries do not go through
/// it.
pub(crate) trait Structure<M: Media>: Sync {
    /// The kind of the index.
    fn kind(&self) -> Kind;

    /// The sizes of its nodes, as the directory records them.
    fn parameters(&self) -> u64;

    /// The sizes of its nodes as users know them, if users can choose them.
    fn layout(&self) -> Option<NodeLayout> {
        None
    }

    /// The form in which the index holds entries.
    fn entries(&self) -> Entries;

    /// Finds the map `name`, of any kind. If there is none, creates it with these types.
    fn find_or_create(
        &self,
        space: &Arc<Space<M>>,
        name: &str,
        types: &Types,
    ) -> Result<Arc<MapState>>;

    /// The index of an open map that has this structure.
    fn open(&self, space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Tree<M>>;

    /// Checks the index, and passes the offset and the size in bytes of every node to `visit`.
    fn check(
        &self,
        guard: &Guard<'_, M>,
        map: &MapState,
        visit: &mut dyn FnMut(u64, u64),
    ) -> Result<TreeCheck>;

    /// Voids all lock words, as a crash would. The caller issues the fence.
    fn void_locks(&self, guard: &Guard<'_, M>, map: &MapState) -> Result<()>;

    /// A walk over the chunks of a map that was dropped.
    fn inventory(&self) -> Box<Inventory<M>>;

    /// The walks that find all nodes for a leak recovery. They can run in parallel.
    fn walks(&self, space: &Arc<Space<M>>, map: Arc<MapState>)
    -> Result<Vec<Box<dyn LeakWalk<M>>>>;
}
