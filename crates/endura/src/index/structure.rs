//! The interface of an index whose kind is known only at run time.

use std::sync::Arc;

use super::sizes::NodeLayout;
use super::tree::Tree;
use crate::Result;
use crate::kind::Kind;
use crate::media::Media;
use crate::space::{Guard, Inventory, LeakWalk, MapState, Space};
use crate::tree::TreeCheck;
use crate::types::Types;

/// One kind of index with nodes of one size: all work on a whole map. Operations on entries do not go through it.
pub(crate) trait Structure<M: Media>: Sync {
    /// The kind.
    fn kind(&self) -> Kind;

    /// The sizes of its nodes, as the directory records them.
    fn parameters(&self) -> u64;

    /// The same sizes for users, if they can choose them.
    fn layout(&self) -> Option<NodeLayout> {
        None
    }

    /// Whether it holds words, and nothing else.
    fn is_of_words(&self) -> bool;

    /// Finds the map `name`, of any kind. If there is none, creates it with these types.
    fn find_or_create(
        &self,
        space: &Arc<Space<M>>,
        name: &str,
        types: &Types,
    ) -> Result<Arc<MapState>>;

    /// The index of an open map that has this structure.
    fn open(&self, space: &Arc<Space<M>>, map: Arc<MapState>) -> Result<Tree<M>>;

    /// Checks the index, and passes the offset and the bytes of every node to `visit`.
    fn check(
        &self,
        guard: &Guard<'_, M>,
        map: &MapState,
        visit: &mut dyn FnMut(u64, u64),
    ) -> Result<TreeCheck>;

    /// Voids all lock words, as a crash does; the caller fences.
    fn void_locks(&self, guard: &Guard<'_, M>, map: &MapState) -> Result<()>;

    /// A walk over the chunks of a map that was dropped.
    fn inventory(&self) -> Box<Inventory<M>>;

    /// The walks by which a leak recovery finds all nodes. They can run in parallel.
    fn walks(&self, space: &Arc<Space<M>>, map: Arc<MapState>)
    -> Result<Vec<Box<dyn LeakWalk<M>>>>;
}
