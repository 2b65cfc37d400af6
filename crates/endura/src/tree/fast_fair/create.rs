//! An empty tree.

use crate::Result;
use crate::media::Media;
use crate::pool::Guard;

use crate::tree::fast_fair::nodes::header::{Fences, Init, MIDDLE};
use crate::tree::fast_fair::nodes::lock_word::LockWord;
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::Search;
use crate::tree::fast_fair::path::root::Root;
use crate::tree::fast_fair::tree::Tree;

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Writes an empty tree and gives its root word. Nothing leads to it yet; it is durable once
    /// the caller's next fence is. Fails with nothing taken.
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

    /// Writes two leaves, either side of the middle of the key space, and a root over them.
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
        // The caller fences before it names the root.
        root.flush();
        Ok(Root { at, level: 1 }.word())
    }
}
