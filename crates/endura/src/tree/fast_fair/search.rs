//! Search within a node, one of three ways chosen at compile time.
//!
//! All count the slots whose key is at most `key`. Live keys come first and ascend (an entry on
//! the move stands twice, side by side), dead ones follow; seen from `low` with wrap-around every
//! dead key is larger than every key of the node: at least `high`, or `low - 1`. So
//! `slot_key - low <= key - low` is true for a prefix of the slots, and for no dead one.

use std::hint::select_unpredictable;

use crate::media::Media;

use super::node::{Node, PER_LINE};

/// How a node is searched.
pub trait Search: Send + Sync + 'static {
    /// How many leading slots have a key in `low..=key`. The node must be quiet.
    #[doc(hidden)]
    fn rank<M: Media, const W: usize>(node: &NodeKeys<'_, '_, M, W>, low: u64, key: u64) -> usize;
}

/// The keys of a node, as a [`Search`] sees them.
pub struct NodeKeys<'n, 'm, M, const W: usize>(&'n Node<'m, M, W>);

impl<'n, 'm, M: Media, const W: usize> NodeKeys<'n, 'm, M, W> {
    #[inline(always)]
    pub(super) fn new(node: &'n Node<'m, M, W>) -> Self {
        Self(node)
    }

    const CAP: usize = Node::<'m, M, W>::CAP;

    /// Whether the key of `slot` lies in `low..=low + width`.
    #[inline(always)]
    fn is_within(&self, slot: usize, low: u64, width: u64) -> bool {
        self.0.peek_key(slot).wrapping_sub(low) <= width
    }
}

/// From the left, one key after the other, up to the first that is too large: the paper's way. It
/// waits for no more lines than it needs, and for as many misses in a row as that is lines.
#[derive(Debug, Clone, Copy, Default)]
pub struct Linear;

impl Search for Linear {
    #[inline(always)]
    fn rank<M: Media, const W: usize>(keys: &NodeKeys<'_, '_, M, W>, low: u64, key: u64) -> usize {
        let width = key.wrapping_sub(low);
        let cap = NodeKeys::<M, W>::CAP;
        (0..cap).find(|&slot| !keys.is_within(slot, low, width)).unwrap_or(cap)
    }
}

/// Halving over all keys.
#[derive(Debug, Clone, Copy, Default)]
pub struct Binary;

impl Search for Binary {
    #[inline(always)]
    fn rank<M: Media, const W: usize>(keys: &NodeKeys<'_, '_, M, W>, low: u64, key: u64) -> usize {
        let width = key.wrapping_sub(low);
        let (mut base, mut size) = (0, NodeKeys::<M, W>::CAP);
        while size > 0 {
            let half = size.div_ceil(2);
            let is_right = keys.is_within(base + half - 1, low, width);
            base = select_unpredictable(is_right, base + half, base);
            size -= half;
        }
        base
    }
}

/// Halving over the first key of each line, then the four keys of one line.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineBinary;

impl Search for LineBinary {
    #[inline(always)]
    fn rank<M: Media, const W: usize>(keys: &NodeKeys<'_, '_, M, W>, low: u64, key: u64) -> usize {
        let width = key.wrapping_sub(low);
        let cap = NodeKeys::<M, W>::CAP;
        let (mut first, mut lines) = (0, cap.div_ceil(PER_LINE));
        // The bounds are constants, so this unrolls. No step is a branch: a wrong guess would throw
        // away what the processor has begun of the next lookup.
        while lines > 1 {
            let half = lines / 2;
            let middle = first + half * PER_LINE;
            first = select_unpredictable(keys.is_within(middle, low, width), middle, first);
            lines -= half;
        }
        let mut rank = first;
        for slot in first..(first + PER_LINE).min(cap) {
            rank += usize::from(keys.is_within(slot, low, width));
        }
        rank
    }
}
