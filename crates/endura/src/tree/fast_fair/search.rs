//! Search within a node, one of three ways chosen at compile time.
//!
//! All count the slots whose key is at most `key`. Live keys come first and ascend (an entry on
//! the move stands twice, side by side), dead ones follow; seen from `low` with wrap-around every
//! dead key is larger than every key of the node: at least `high`, or `low - 1`. So
//! `slot_key - low <= key - low` is true for a prefix of the slots, and for no dead one.

use std::hint::select_unpredictable;

use crate::media::Media;

use super::node::{Fences, Node, PER_LINE};

/// How a node is searched.
pub trait Search: Send + Sync + 'static {
    /// How many leading slots have a key in `low..=key`. The node must be quiet.
    #[doc(hidden)]
    fn rank<M: Media, const W: usize>(keys: Keys<'_, '_, M, W>, low: u64, key: u64) -> usize;
}

/// How many slots of a quiet node have a key at most `key`, which lies between its `fences`.
#[inline(always)]
pub(super) fn rank<S: Search, M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    fences: Fences,
    key: u64,
) -> usize {
    S::rank(Keys(node), fences.low, key)
}

/// The keys of a node, as a [`Search`] sees them.
pub struct Keys<'n, 'm, M, const W: usize>(&'n Node<'m, M, W>);

impl<'m, M: Media, const W: usize> Keys<'_, 'm, M, W> {
    const CAP: usize = Node::<'m, M, W>::CAP;
    /// From one record to the next, in words.
    const STRIDE: usize = 2;

    /// Whether the key `words` words behind the first one is at most `low + width`.
    #[inline(always)]
    fn is_within(&self, words: usize, low: u64, width: u64) -> bool {
        self.0.peek_record(words).wrapping_sub(low) <= width
    }
}

/// From the left, one key after the other, up to the first that is too large: the paper's way. It
/// waits for no more lines than it needs, and for as many misses in a row as that is lines.
#[derive(Debug, Clone, Copy, Default)]
pub struct Linear;

impl Search for Linear {
    #[inline(always)]
    fn rank<M: Media, const W: usize>(keys: Keys<'_, '_, M, W>, low: u64, key: u64) -> usize {
        let (width, cap) = (key.wrapping_sub(low), Keys::<M, W>::CAP);
        let is_beyond = |&slot: &usize| !keys.is_within(slot * Keys::<M, W>::STRIDE, low, width);
        (0..cap).find(is_beyond).unwrap_or(cap)
    }
}

/// Halving over all keys.
#[derive(Debug, Clone, Copy, Default)]
pub struct Binary;

impl Search for Binary {
    #[inline(always)]
    fn rank<M: Media, const W: usize>(keys: Keys<'_, '_, M, W>, low: u64, key: u64) -> usize {
        let width = key.wrapping_sub(low);
        let (mut rank, mut size) = (0, Keys::<M, W>::CAP);
        while size > 0 {
            let half = size.div_ceil(2);
            let last = (rank + half - 1) * Keys::<M, W>::STRIDE;
            rank = select_unpredictable(keys.is_within(last, low, width), rank + half, rank);
            size -= half;
        }
        rank
    }
}

/// Halving over the first key of each line, then the four keys of one line.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineBinary;

impl Search for LineBinary {
    #[inline(always)]
    fn rank<M: Media, const W: usize>(keys: Keys<'_, '_, M, W>, low: u64, key: u64) -> usize {
        let (width, cap) = (key.wrapping_sub(low), Keys::<M, W>::CAP);
        let (stride, line) = (Keys::<M, W>::STRIDE, Keys::<M, W>::STRIDE * PER_LINE);
        let (mut first, mut lines) = (0, cap.div_ceil(PER_LINE));
        // The bounds are constants, so this unrolls. No step is a branch: a wrong guess would throw
        // away what the processor has begun of the next lookup.
        while lines > 1 {
            let half = lines / 2;
            let middle = first + half * line;
            first = select_unpredictable(keys.is_within(middle, low, width), middle, first);
            lines -= half;
        }
        let mut rank = first / stride;
        for words in (first..(first + line).min(cap * stride)).step_by(stride) {
            rank += usize::from(keys.is_within(words, low, width));
        }
        rank
    }
}
