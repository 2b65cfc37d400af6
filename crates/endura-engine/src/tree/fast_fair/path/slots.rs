//! The slots of a node whose lock is held.

use crate::Result;
use crate::media::Media;

use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::{Search, rank};
use crate::tree::fast_fair::nodes::shift::KeySlot;
use crate::tree::fast_fair::tree::Tree;

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// The slot of `key` in a node whose lock is held, or the slot where it would be inserted; and the value of `key`,
    /// if it is present.
    #[inline(always)]
    pub(crate) fn find<const W: usize>(
        &self,
        node: &Node<'_, M, W>,
        key: u64,
    ) -> (usize, Option<u64>) {
        let rank = rank::<S, _, _>(node, node.peek_fences(), key);
        match rank.checked_sub(1) {
            Some(slot) if node.peek_key(slot) == key => (slot, Some(node.peek_value(slot))),
            _ => (rank, None),
        }
    }

    /// The result of [`find`](Self::find), with the number of live slots: for changes that move entries.
    pub(crate) fn place<const W: usize>(
        &self,
        node: &Node<'_, M, W>,
        (slot, value): (usize, Option<u64>),
    ) -> Result<KeySlot> {
        let count = self.live(node);
        if slot + usize::from(value.is_some()) > count {
            return Err(node.corrupt("keys out of order"));
        }
        Ok(KeySlot { count, slot, value })
    }

    /// The number of live slots of a locked node. If the hint is correct, no search is needed.
    #[inline]
    pub(crate) fn live<const W: usize>(&self, node: &Node<'_, M, W>) -> usize {
        let (fences, hint) = (node.peek_fences(), node.hint());
        let width = fences.last().wrapping_sub(fences.low);
        let is_live = |slot: usize| node.peek_key(slot).wrapping_sub(fences.low) <= width;
        let cap = Node::<M, W>::CAP;
        let fits =
            hint <= cap && (hint == 0 || is_live(hint - 1)) && (hint == cap || !is_live(hint));
        if fits { hint } else { rank::<S, _, _>(node, fences, fences.last()) }
    }
}
