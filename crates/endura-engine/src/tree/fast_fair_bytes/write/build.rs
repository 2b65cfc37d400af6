//! New nodes, written before anything leads to them.

use std::iter;

use crate::media::Media;
use crate::space::Guard;
use crate::tree::fast_fair::nodes::lock_word::LockWord;
use crate::tree::fast_fair_bytes::nodes::child::{child_at, reference_to_child};
use crate::tree::fast_fair_bytes::nodes::leaf::record_at;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, DEAD};
use crate::tree::fast_fair_bytes::nodes::texts::{Texts, low_of};
use crate::tree::fast_fair_bytes::nodes::whole::Init;
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::fast_fair_bytes::write::prefix::{prefix_of_inner, prefix_of_leaf};
use crate::tree::key_word::{KeyWord, word, word_outside, word_under};
use crate::tree::records::fresh::Fresh;
use crate::tree::records::record::Record;
use crate::{Error, Result};

/// A word and a reference.
type Slot = (u64, u64);

/// What a new node holds.
#[derive(Clone, Copy)]
pub(crate) struct NewNode<'k> {
    pub(crate) references: &'k [u64],
    /// The lower fence.
    pub(crate) low: &'k [u8],
    /// The upper fence, if there is one.
    pub(crate) high: Option<&'k [u8]>,
    pub(crate) sibling: u64,
    pub(crate) level: u64,
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// The key to which a reference leads in a node of this level: that of a record, or the lower fence of a child.
    pub(crate) fn key_at(
        &self,
        guard: &Guard<'_, M>,
        level: u64,
        reference: u64,
    ) -> Result<Vec<u8>> {
        let media = guard.media();
        match level {
            0 => Ok(Record::enter(media, record_at(reference))?.key().to_vec()),
            _ => low_of::<M, INNER, LEAF>(media, child_at(reference), level - 1),
        }
    }

    /// The lower fence of a node.
    pub(crate) fn low_at(&self, guard: &Guard<'_, M>, at: u64, level: u64) -> Result<Vec<u8>> {
        low_of::<M, INNER, LEAF>(guard.media(), at, level)
    }

    /// The prefix of a new leaf, and its slots.
    fn leaf_slots(&self, guard: &Guard<'_, M>, new: NewNode<'_>) -> Result<(Vec<u8>, Vec<Slot>)> {
        let key = |reference: Option<&u64>| {
            reference.map(|&reference| self.key_at(guard, 0, reference)).transpose()
        };
        let (first, last) = (key(new.references.first())?, key(new.references.last())?);
        let (first, last) = (first.as_deref(), last.as_deref());
        let prefix = prefix_of_leaf::<K>(first, last, new.low, new.high);
        let begins = |key: Option<&[u8]>| key.is_some_and(|key| key.starts_with(&prefix));
        let shared = begins(first) && begins(last);
        let slot = |&reference: &u64| {
            let word = word_of_record::<K, M>(guard.media(), &prefix, shared, reference)?;
            Ok((word, reference))
        };
        let slots = new.references.iter().map(slot).collect::<Result<_>>()?;
        Ok((prefix, slots))
    }

    /// The prefix of a new inner node, and its slots.
    fn inner_slots(&self, guard: &Guard<'_, M>, new: NewNode<'_>) -> Result<(Vec<u8>, Vec<Slot>)> {
        // The first separator of an inner node is its lower fence, and is never compared.
        let Some((&first, others)) = new.references.split_first() else {
            return Ok(Default::default());
        };
        let separators = self.separators(guard, new.level, others)?;
        let prefix = prefix_of_inner::<K>(&separators).to_vec();
        let slots = others.iter().zip(&separators).map(|(&reference, low)| {
            let (at, word) = (child_at(reference), word_under::<K>(&prefix, low));
            (word, reference_to_child::<K>(at, prefix.len(), word, low))
        });
        let slots = iter::once((0, child_at(first))).chain(slots).collect();
        Ok((prefix, slots))
    }

    /// The separators of children of an inner node.
    pub(crate) fn separators(
        &self,
        guard: &Guard<'_, M>,
        level: u64,
        children: &[u64],
    ) -> Result<Vec<Vec<u8>>> {
        children.iter().map(|&child| self.key_at(guard, level, child)).collect()
    }

    /// Writes a new node, locked, and starts its write-back. Nothing leads to it yet. The caller fences.
    pub(crate) fn build<'g, const W: usize>(
        &self,
        guard: &'g Guard<'g, M>,
        fresh: &mut Fresh<'g, M>,
        new: NewNode<'_>,
    ) -> Result<ByteNode<'g, M, W>> {
        let NewNode { references, low, high, sibling, level } = new;
        let (prefix, slots) = match level {
            0 => self.leaf_slots(guard, new)?,
            _ => self.inner_slots(guard, new)?,
        };
        let at = fresh.alloc(ByteNode::<M, W>::BYTES)?;
        let node = ByteNode::<M, W>::fresh(guard.media(), at)?;
        let texts = Texts { prefix: &prefix, low };
        let bounds = match texts.bytes_beside() {
            Some(bytes) => {
                let bounds = fresh.alloc(bytes)?;
                texts.write_beside(guard.media(), bounds)?;
                bounds
            }
            None => 0,
        };
        let init = Init {
            lock: LockWord::created_locked(guard, at),
            high: high.map_or(DEAD, |high| word_under::<K>(&prefix, high)),
            sibling,
            level,
        };
        let limit = if level == 0 { init.high } else { DEAD };
        let is_sorted = slots.is_sorted_by_key(|&(word, _)| word);
        if !is_sorted || slots.last().is_some_and(|&(last, _)| last >= limit) {
            // The new node takes the place of one in which they are so.
            let offset = references.first().map_or(at, |&first| record_at(first));
            return Err(Error::Corrupt { offset, what: "keys out of order" });
        }
        node.initialise(&init, &texts, bounds, slots.into_iter());
        node.flush();
        Ok(node)
    }
}

/// The word of the record to which a reference leads. (`shared`: its key is known to begin with the prefix.)
fn word_of_record<K: KeyWord, M: Media>(
    media: &M,
    prefix: &[u8],
    shared: bool,
    reference: u64,
) -> Result<u64> {
    let at = record_at(reference);
    if !shared {
        let record = Record::enter(media, at)?;
        let same = record.common_with(prefix, 0);
        if same < prefix.len() {
            return Ok(word_outside(record.compare(prefix, same)));
        }
    }
    let (eight, len) = Record::sort_key(media, at, prefix.len())?;
    match len.checked_sub(prefix.len()) {
        Some(left) => Ok(word::<K>(eight, left)),
        None => Err(Error::Corrupt { offset: at, what: "keys out of order" }),
    }
}
