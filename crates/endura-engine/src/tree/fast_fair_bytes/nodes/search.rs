//! The search for a word among the slots of a node.

use std::hint::select_unpredictable;
use std::ops::Range;

use crate::media::Media;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, PER_LINE, SLOTS, last_below};

/// The number of slots of a quiet node whose word is at most `word`, which is below the limit of the node.
///
/// Words of used slots ascend, and all others are at or above the limit. The search is binary over the first words of the
/// lines, then looks at the whole line. No step is a branch.
#[inline(always)]
pub(crate) fn rank<M: Media, const W: usize>(node: &ByteNode<'_, M, W>, word: u64) -> usize {
    let mut lines = ByteNode::<M, W>::CAP.div_ceil(PER_LINE);
    let mut first = 0;
    while lines > 1 {
        let half = lines / 2;
        let middle = first + half * PER_LINE;
        first = select_unpredictable(node.peek_word(middle) <= word, middle, first);
        lines -= half;
    }
    let in_line = (ByteNode::<M, W>::CAP - first).min(PER_LINE);
    let is_within = |slot: &usize| node.peek_word(*slot) <= word;
    first + (first..first + in_line).filter(is_within).count()
}

/// The slots of a quiet node whose word is `word`, which is below the limit of the node.
pub(crate) fn ties<M: Media, const W: usize>(node: &ByteNode<'_, M, W>, word: u64) -> Range<usize> {
    ties_before(node, word, rank(node, word))
}

/// Does what [`ties`] does, if the [rank] of the word is known.
pub(crate) fn ties_before<M: Media, const W: usize>(
    node: &ByteNode<'_, M, W>,
    word: u64,
    end: usize,
) -> Range<usize> {
    match end > 0 && node.peek_word(end - 1) == word {
        true => word.checked_sub(1).map_or(0, |below| rank(node, below))..end,
        false => end..end,
    }
}

/// The number of used slots of a locked node that was repaired. If the hint is correct, no search is needed.
#[inline]
pub(crate) fn used<M: Media, const W: usize>(node: &ByteNode<'_, M, W>) -> usize {
    let (cap, hint, limit) = (ByteNode::<M, W>::CAP, node.hint(), node.limit());
    let is_used = |slot: usize| node.peek_word(slot) < limit && node.peek_reference(slot) != 0;
    let fits = hint <= cap && (hint == 0 || is_used(hint - 1)) && (hint == cap || !is_used(hint));
    if fits {
        return hint;
    }
    let mut used = rank(node, last_below(limit));
    // A crash can leave a dead slot behind the last used one with a word below the limit.
    while used > 0 && node.peek_reference(used - 1) == 0 {
        used -= 1;
    }
    used
}

const _: () = assert!(SLOTS.is_multiple_of(2 * PER_LINE));
