//! New nodes, written before anything leads to them.

use crate::media::Media;
use crate::space::Guard;
use crate::tree::fast_fair::nodes::lock_word::LockWord;
use crate::tree::fast_fair_bytes::nodes::leaf::record_at;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, DEAD};
use crate::tree::fast_fair_bytes::nodes::texts::{Texts, low_of};
use crate::tree::fast_fair_bytes::nodes::whole::Init;
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::{KeyWord, common, shortest_prefix, word, word_outside, word_under};
use crate::tree::records::fresh::Fresh;
use crate::tree::records::record::Record;
use crate::{Error, Result};

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
            _ => low_of::<M, INNER, LEAF>(media, reference, level - 1),
        }
    }

    /// The lower fence of a node.
    pub(crate) fn low_at(&self, guard: &Guard<'_, M>, at: u64, level: u64) -> Result<Vec<u8>> {
        low_of::<M, INNER, LEAF>(guard.media(), at, level)
    }

    /// Writes a new node, locked, and starts its write-back. Nothing leads to it yet. The caller fences.
    pub(crate) fn build<'g, const W: usize>(
        &self,
        guard: &'g Guard<'g, M>,
        fresh: &mut Fresh<'g, M>,
        new: NewNode<'_>,
    ) -> Result<ByteNode<'g, M, W>> {
        let NewNode { references, low, high, sibling, level } = new;
        let key = |reference: Option<&u64>| {
            reference.map(|&reference| self.key_at(guard, level, reference)).transpose()
        };
        // The first separator of an inner node is its lower fence, and is never compared.
        let compared = if level == 0 { references } else { references.get(1..).unwrap_or(&[]) };
        let ends = Ends { first: key(compared.first())?, last: key(compared.last())? };
        let prefix = match level {
            0 => ends.prefix_of_leaf::<K>(low, high),
            _ => {
                // What most separators share. Those outside of it have one word on each side.
                let quarter = compared.len() / 4;
                let middle = compared.get(quarter..compared.len() - quarter).unwrap_or(&[]);
                let (first, last) = (key(middle.first())?, key(middle.last())?);
                let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
                let shared = if middle.len() > 1 { common(&first, &last) } else { 0 };
                first[..shared].to_vec()
            }
        };
        let shared = ends.first.as_deref().map_or(0, |first| common(first, &prefix))
            == prefix.len()
            && ends.last.as_deref().is_some_and(|last| last.starts_with(&prefix));
        let mut words = Vec::with_capacity(references.len());
        for (slot, &reference) in references.iter().enumerate() {
            words.push(match level {
                0 => word_of_record::<K, M>(guard.media(), &prefix, shared, reference)?,
                _ if slot == 0 => 0,
                _ => word_under::<K>(&prefix, &self.key_at(guard, level, reference)?),
            });
        }
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
        if !words.is_sorted() || words.last().is_some_and(|&last| last >= limit) {
            // The new node takes the place of one in which they are so.
            let offset = references.first().map_or(at, |&first| record_at(first));
            return Err(Error::Corrupt { offset, what: "keys out of order" });
        }
        node.initialise(&init, &texts, bounds, words.into_iter().zip(references.iter().copied()));
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

/// The first and the last key that are compared in a new node.
struct Ends {
    first: Option<Vec<u8>>,
    last: Option<Vec<u8>>,
}

impl Ends {
    /// The prefix that all keys share with `high`, or that they share if there is no upper fence: but at least as much as
    /// the fence needs to be decided, for a leaf owns exactly the keys below it.
    ///
    /// Behind the last leaf's keys more of the same kind may follow. What they will share is what the leaf shares with its
    /// left neighbour: its lower fence without the last byte.
    fn prefix_of_leaf<K: KeyWord>(&self, low: &[u8], high: Option<&[u8]>) -> Vec<u8> {
        let (first, last) = (self.first.as_deref(), self.last.as_deref());
        match high {
            Some(high) => {
                let shared = first.map_or(0, |first| common(first, high));
                high[..shared.max(shortest_prefix::<K>(high))].to_vec()
            }
            None => {
                let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
                let shared = common(first, last);
                let kept = match low.len() {
                    0 if first == last => 0,
                    0 => shared,
                    len => shared.min(common(low, first)).min(len - 1),
                };
                first[..kept].to_vec()
            }
        }
    }
}
