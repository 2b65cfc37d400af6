//! The maps of a pool that were dropped and still have chunks.

use std::sync::Arc;

use crate::Result;
use crate::runtime::epoch::RetireTag;
use crate::space::directory::chunk_set::ChunkSet;
use crate::space::directory::map_state::MapState;

/// A walk that lists the chunks of a map. The last argument is roughly the number of chunks that one call should list.
/// The call returns whether the walk has ended.
pub type Inventory<M> =
    dyn FnMut(&M, &MapState, &mut dyn FnMut(u64, u64) -> bool, usize) -> Result<bool> + Send;

/// A dropped map whose chunks still have to be freed.
pub(crate) struct Dropped<M> {
    pub(crate) tag: RetireTag,
    pub(crate) map: Arc<MapState>,
    pub(crate) inventory: Box<Inventory<M>>,
    /// The chunks that are to be freed.
    pub(crate) chunks: ChunkSet,
    pub(crate) is_noted: bool,
}

/// The dropped maps of a pool.
pub(crate) struct Drops<M> {
    pub(crate) waiting: Vec<Dropped<M>>,
    /// The directory entries of the maps that a thread is freeing.
    pub(crate) under_way: Vec<u64>,
}

impl<M> Default for Drops<M> {
    fn default() -> Self {
        Self { waiting: Vec::new(), under_way: Vec::new() }
    }
}
