//! Searches in a leaf. A hit is certified by the key of the record, whichever slot has led to it.

use std::cmp::Ordering as Order;
use std::ops::Range;

use crate::Result;
use crate::media::Media;
use crate::tree::fast_fair::nodes::lock_word::Direction;
use crate::tree::fast_fair::nodes::node::OFFSET;
use crate::tree::fast_fair_bytes::nodes::node::ByteNode;
use crate::tree::fast_fair_bytes::nodes::search::{rank, ties, used};
use crate::tree::key_word::KeyWord;
use crate::tree::records::fingerprint::Sought;
use crate::tree::records::record::Record;

/// The reference to a record: its offset, and the fingerprint of its key in bits 48...
#[inline(always)]
pub(crate) fn reference_to<K: KeyWord>(key: &Sought<'_>, at: u64) -> u64 {
    if K::USES_UPPER_BITS { u64::from(key.fingerprint.0) << 48 | at } else { at }
}

/// The offset of the record to which a reference leads.
#[inline(always)]
pub(crate) fn record_at(reference: u64) -> u64 {
    reference & OFFSET
}

/// The record to which a reference leads, if it is that of the key.
#[inline(always)]
fn certified<'m, K: KeyWord, M: Media>(
    media: &'m M,
    reference: u64,
    key: &Sought<'_>,
) -> Result<Option<Record<'m, M>>> {
    let may_be = !K::USES_UPPER_BITS || reference >> 48 == u64::from(key.fingerprint.0);
    match may_be && reference != 0 {
        true => Record::find(media, record_at(reference), key.bytes),
        false => Ok(None),
    }
}

/// Searches a leaf in which no entry is being moved, so that the loads may have any order. `word`, that of the key, is
/// below `high`. The result counts, an error too, if the version of the leaf is confirmed afterwards.
#[inline(always)]
pub(crate) fn settled<'m, K: KeyWord, M: Media, const W: usize>(
    node: &ByteNode<'m, M, W>,
    word: u64,
    key: &Sought<'_>,
) -> Result<Option<Record<'m, M>>> {
    let mut slot = rank(node, word);
    while slot > 0 && node.peek_word(slot - 1) == word {
        slot -= 1;
        if let Some(record) = certified::<K, M>(node.media(), node.peek_reference(slot), key)? {
            return Ok(Some(record));
        }
    }
    Ok(None)
}

/// Searches a leaf in which entries may be moving, in the direction in which they move: so each entry is met at its old
/// or its new place. The word is loaded before the reference: a reference that was left behind the used slots is never
/// followed, for its word is not below `high` until it is emptied. (`word`, that of the key, is below `high`.)
#[cold]
pub(crate) fn moving<'m, K: KeyWord, M: Media, const W: usize>(
    node: &ByteNode<'m, M, W>,
    word: u64,
    key: &Sought<'_>,
    direction: Direction,
) -> Result<Option<Record<'m, M>>> {
    let look = |slot: usize| match node.word(slot) == word {
        true => certified::<K, M>(node.media(), node.reference(slot), key).transpose(),
        false => None,
    };
    let mut slots = 0..ByteNode::<M, W>::CAP;
    match direction {
        Direction::Right => slots.find_map(look),
        Direction::Left => slots.rev().find_map(look),
    }
    .transpose()
}

/// The slot of a key in a locked leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeySlot {
    /// The slot, and the offset of the record.
    Found(usize, u64),
    /// The slot at which the key would be inserted.
    Absent(usize),
}

impl KeySlot {
    /// The offset of the record.
    pub(crate) fn record(self) -> Option<u64> {
        match self {
            Self::Found(_, at) => Some(at),
            Self::Absent(_) => None,
        }
    }
}

/// The used slot of a locked leaf with this word that leads to the record at `at`.
pub(crate) fn slot_of<M: Media, const W: usize>(
    node: &ByteNode<'_, M, W>,
    word: u64,
    at: u64,
) -> Option<KeySlot> {
    let leads_there = |slot: &usize| record_at(node.peek_reference(*slot)) == at;
    let slot = ties(node, word).rev().find(leads_there)?;
    // Only after damage may a slot with such a word lie behind the used ones.
    (slot < used(node)).then_some(KeySlot::Found(slot, at))
}

/// Finds a key in a locked leaf that covers it, by its word. Of slots with that word the records decide, by halving.
pub(crate) fn find<K: KeyWord, M: Media, const W: usize>(
    node: &ByteNode<'_, M, W>,
    word: u64,
    key: &Sought<'_>,
) -> Result<KeySlot> {
    let Range { mut start, mut end } = ties(node, word);
    if end > used(node) {
        return Err(node.corrupt("keys out of order"));
    }
    let from = node.shared_by_ties::<K>(word).min(key.bytes.len());
    while start < end {
        let middle = start + (end - start) / 2;
        let reference = node.peek_reference(middle);
        if reference == 0 {
            return Err(node.corrupt("an empty slot among used ones"));
        }
        let record = Record::enter(node.media(), record_at(reference))?;
        match record.compare(key.bytes, from) {
            Order::Equal => return Ok(KeySlot::Found(middle, record.at())),
            Order::Less => start = middle + 1,
            Order::Greater => end = middle,
        }
    }
    Ok(KeySlot::Absent(start))
}
