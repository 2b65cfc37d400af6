//! The slots of a node whose lock is held.

use crate::Result;
use crate::media::Media;

use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::{Search, rank};
use crate::tree::fast_fair::nodes::shift::Place;
use crate::tree::fast_fair::tree::Tree;

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Searches for `key` in a node whose lock is held.
    #[inline]
    pub(crate) fn place<const W: usize>(&self, node: &Node<'_, M, W>, key: u64) -> Result<Place> {
        let fences = node.fences();
        let rank = rank::<S, _, _>(node, fences, key);
        let present = rank > 0 && node.key(rank - 1) == key;
        let slot = rank - usize::from(present);
        let count = self.live(node);
        if rank > count {
            return Err(node.corrupt("keys out of order"));
        }
        Ok(Place { count, slot, value: present.then(|| node.value(slot)) })
    }

    /// The number of live slots of a locked node. A correct hint saves the search.
    #[inline]
    pub(crate) fn live<const W: usize>(&self, node: &Node<'_, M, W>) -> usize {
        let (fences, hint) = (node.fences(), node.hint());
        let width = fences.last().wrapping_sub(fences.low);
        let is_live = |slot: usize| node.key(slot).wrapping_sub(fences.low) <= width;
        let cap = Node::<M, W>::CAP;
        let fits =
            hint <= cap && (hint == 0 || is_live(hint - 1)) && (hint == cap || !is_live(hint));
        if fits { hint } else { rank::<S, _, _>(node, fences, fences.last()) }
    }
}
