//! References to children: the offset of a child, and in bits 48.. the [continuation] of its separator, two bytes more than
//! the word has. They are stored together, so that the two always belong to the same child.

use std::ops::Range;

use crate::media::Media;
use crate::tree::fast_fair::nodes::node::OFFSET;
use crate::tree::fast_fair_bytes::nodes::node::ByteNode;
use crate::tree::key_word::{KeyWord, continuation};

/// The offset of the child to which a reference leads.
#[inline(always)]
pub(crate) fn child_at(reference: u64) -> u64 {
    reference & OFFSET
}

/// The reference to the child at `at`, under a prefix of `prefix` bytes. Its separator is `low`, with this word.
pub(crate) fn reference_to_child<K: KeyWord>(at: u64, prefix: usize, word: u64, low: &[u8]) -> u64 {
    match K::USES_UPPER_BITS {
        true => at | continuation::<K>(prefix, word, low) << 48,
        false => at,
    }
}

/// The reference to another child that begins where that of `reference` does.
pub(crate) fn reference_to_same(reference: u64, at: u64) -> u64 {
    reference & !OFFSET | at
}

impl<M: Media, const W: usize> ByteNode<'_, M, W> {
    /// Of the slots `ties` of a quiet inner node, whose word is that of `key`, those with the continuation of `key` too: the
    /// children before them begin before the key, and those behind them begin after it.
    pub(crate) fn closest<K: KeyWord>(
        &self,
        ties: Range<usize>,
        word: u64,
        key: &[u8],
    ) -> Range<usize> {
        if !K::USES_UPPER_BITS {
            return ties;
        }
        let wanted = continuation::<K>(self.prefix_len(), word, key);
        let its = |slot: usize| self.peek_reference(slot) >> 48;
        let Range { mut start, mut end } = ties;
        let behind = end;
        while start < end {
            let middle = start + (end - start) / 2;
            match its(middle) < wanted {
                true => start = middle + 1,
                false => end = middle,
            }
        }
        // Few children share a continuation.
        while end < behind && its(end) == wanted {
            end += 1;
        }
        start..end
    }
}
