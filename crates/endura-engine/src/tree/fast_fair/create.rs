//! Opening a tree by name, and creating an empty one.

use std::sync::Arc;

use crate::Result;
use crate::media::Media;
use crate::space::{Guard, MapState, Space};
use crate::tree::numbers::Values;
use crate::types::Types;

use crate::tree::fast_fair::nodes::header::{Fences, Init, MIDDLE};
use crate::tree::fast_fair::nodes::lock_word::LockWord;
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::Search;
use crate::tree::fast_fair::path::root::Root;
use crate::tree::fast_fair::tree::{KIND, Tree};

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Opens the map `name` of a pool; creates it if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`](crate::Error::WrongKind) if the map of that name is of another kind,
    /// [`Error::OtherNodes`](crate::Error::OtherNodes) if its nodes have other sizes,
    /// [`Error::UnknownNodes`](crate::Error::UnknownNodes) if this build does not know its kind, and those of
    /// [`Space::open_map`].
    pub fn open(space: &Arc<Space<M>>, name: &str) -> Result<Self> {
        let types = Types::numbers();
        Self::over(space, Self::find_or_create(space, name, &types, Values::Numbers)?)
    }

    /// Finds the map `name`, of any kind. If there is none, creates it, with nodes of this tree's sizes and with these
    /// `types` and values.
    pub(crate) fn find_or_create(
        space: &Arc<Space<M>>,
        name: &str,
        types: &Types,
        values: Values,
    ) -> Result<Arc<MapState>> {
        let create = |guard: &Guard<'_, M>, _| Self::create(guard);
        space.open_typed_map(name, KIND, values.parameters(Self::PARAMETERS), types, create)
    }

    /// Writes an empty tree and returns its root word. Nothing leads to the tree yet. The tree is durable after the
    /// caller's next fence. If the call fails, no chunk stays allocated.
    pub(crate) fn create(guard: &Guard<'_, M>) -> Result<u64> {
        let sizes = [Node::<M, LEAF>::BYTES, Node::<M, LEAF>::BYTES, Node::<M, INNER>::BYTES];
        let mut taken = [0; 3];
        for i in 0..3 {
            match guard.alloc(sizes[i]) {
                Ok(at) => taken[i] = at,
                Err(error) => {
                    (0..i).for_each(|i| guard.discard(taken[i], sizes[i]));
                    return Err(error);
                }
            }
        }
        Self::write_empty(guard, taken)
    }

    /// Writes two leaves, on either side of the middle of the key space, and a root over them.
    fn write_empty(guard: &Guard<'_, M>, [low, high, at]: [u64; 3]) -> Result<u64> {
        let media = guard.media();
        let leaves = [(0, low, MIDDLE, high), (MIDDLE, high, 0, 0)];
        for (low, at, high, sibling) in leaves {
            let leaf = Node::<M, LEAF>::fresh(media, at)?;
            let fences = Fences { low, high };
            let lock = LockWord::created(guard, at);
            leaf.initialise(Init { lock, fences, sibling, level: 0 }, 0);
            leaf.flush();
        }
        let root = Node::<M, INNER>::fresh(media, at)?;
        let fences = Fences { low: 0, high: 0 };
        let lock = LockWord::created(guard, at);
        root.initialise(Init { lock, fences, sibling: 0, level: 1 }, 2);
        for (slot, (low, leaf, ..)) in leaves.into_iter().enumerate() {
            root.write_record(slot, (low, leaf));
        }
        // The caller fences before it stores the root word.
        root.flush();
        Ok(Root { at, level: 1 }.word())
    }
}
