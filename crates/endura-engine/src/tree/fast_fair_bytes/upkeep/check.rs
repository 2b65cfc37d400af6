//! A walk over the whole tree that checks all invariants of its structure, and all records.

use crate::media::Media;
use crate::space::Guard;
use crate::tree::TreeCheck;
use crate::tree::fast_fair::path::root::Root;
use crate::tree::fast_fair_bytes::nodes::child::{child_at, reference_to_child};
use crate::tree::fast_fair_bytes::nodes::leaf::record_at;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, DEAD, Link};
use crate::tree::fast_fair_bytes::nodes::texts::low_of;
use crate::tree::key_word::{KeyWord, word_under};
use crate::tree::records::fingerprint::Fingerprint;
use crate::tree::records::record::Record;
use crate::{Error, Result};

/// The children of one level: the separator and the offset of each, in key order.
type Children = Vec<(Vec<u8>, u64)>;

/// What is told of each chunk: its offset, its bytes, and whether it is a node.
type Visit<'v> = &'v mut dyn FnMut(u64, u64, bool);

/// Checks the tree whose root word is at `root_at`. Passes the offset and the bytes of every node and record to `visit`, and
/// whether it is a node. Exact only while no thread writes. O(n).
///
/// # Errors
///
/// [`Error::Corrupt`] for the first check that fails.
pub(crate) fn check_tree<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord>(
    guard: &Guard<'_, M>,
    root_at: u64,
    visit: Visit<'_>,
) -> Result<TreeCheck> {
    let root = Root::read(guard.media(), root_at)?;
    let mut found = TreeCheck { height: root.level + 1, ..TreeCheck::default() };
    let mut named: Children = vec![(Vec::new(), root.at)];
    for level in (0..=root.level).rev() {
        let walk =
            LevelCheck::<M, INNER, LEAF> { guard, level, named: &named, visit, found: &mut found };
        named = match level {
            0 => walk.along::<LEAF, K>(root)?,
            _ => walk.along::<INNER, K>(root)?,
        };
    }
    Ok(found)
}

/// The walk along one level.
struct LevelCheck<'a, 'g, M: Media, const INNER: usize, const LEAF: usize> {
    guard: &'a Guard<'g, M>,
    level: u64,
    /// The children that the level above lists.
    named: &'a Children,
    visit: Visit<'a>,
    found: &'a mut TreeCheck,
}

impl<M: Media, const INNER: usize, const LEAF: usize> LevelCheck<'_, '_, M, INNER, LEAF> {
    fn along<const W: usize, K: KeyWord>(mut self, root: Root) -> Result<Children> {
        let mut children = Children::new();
        let mut named = self.named.iter().peekable();
        let mut at = self.named.first().map_or(0, |first| first.1);
        let mut low = Vec::new();
        while at != 0 {
            let mut is_named = false;
            // A signpost, and the node to which it leads, begin at the same key. The parent may lead to either.
            let (node, next) = loop {
                let node = self.enter::<W>(at)?;
                if node.low_key()? != low {
                    return Err(node.corrupt("fences that leave a gap or overlap"));
                }
                if let Some((separator, _)) = named.next_if(|(_, child)| *child == at) {
                    is_named = true;
                    if *separator != low {
                        return Err(node.corrupt("a separator that is not its child's lower fence"));
                    }
                }
                match node.link()? {
                    Link::Right(next) => break (node, next),
                    Link::Splitting(new) => break (node, self.behind_split::<W, K>(&node, new)?),
                    Link::Replaced(new) => {
                        self.found.repairs.unsettled_siblings += 1;
                        at = new;
                    }
                }
            };
            self.found.repairs.missing_separators += u64::from(!is_named);
            let high = match next {
                0 => None,
                next => {
                    Some(ByteNode::<M, W>::enter(self.guard.media(), next, self.level)?.low_key()?)
                }
            };
            if high.as_ref().is_some_and(|high| *high <= low) {
                return Err(node.corrupt("fences that leave a gap or overlap"));
            }
            self.entries::<W, K>(&node, (&low, high.as_deref()), &mut children)?;
            (at, low) = (next, high.unwrap_or_default());
        }
        match named.next() {
            Some(&(_, child)) => {
                Err(Error::Corrupt { offset: child, what: "a named child that is no sibling" })
            }
            None if self.level > 0 && children.is_empty() => {
                Err(Error::Corrupt { offset: root.at, what: "an inner level without children" })
            }
            None => Ok(children),
        }
    }

    /// The node behind one whose split was interrupted. A new sibling that owns nothing is skipped, after a check.
    fn behind_split<const W: usize, K: KeyWord>(
        &mut self,
        node: &ByteNode<'_, M, W>,
        new: u64,
    ) -> Result<u64> {
        self.found.repairs.unsettled_siblings += 1;
        if node.is_split_at::<K>(new)? {
            return Ok(new);
        }
        let other = self.enter::<W>(new)?;
        self.found.nodes -= 1;
        match other.link()? {
            Link::Right(next) => Ok(next),
            _ => Err(other.corrupt("a sibling that is neither new nor settled")),
        }
    }

    fn enter<'m, const W: usize>(&mut self, at: u64) -> Result<ByteNode<'m, M, W>>
    where
        Self: 'm,
    {
        let node = ByteNode::<M, W>::enter(self.guard.media(), at, self.level)?;
        (self.visit)(at, ByteNode::<M, W>::BYTES, true);
        if let Some(bounds) = node.bounds()? {
            bounds.check_sum()?;
            (self.visit)(bounds.at(), bounds.bytes(), false);
        }
        self.found.nodes += 1;
        if self.found.nodes > self.guard.media().len() / ByteNode::<M, W>::BYTES {
            return Err(node.corrupt("a level that has no end"));
        }
        let generation = self.guard.space().generation();
        self.found.repairs.interrupted += u64::from(node.version().is_interrupted(generation));
        Ok(node)
    }

    /// Checks that the keys ascend, lie between the fences, and have the words that their slots say; that at most one entry
    /// has two copies; and that no used slot follows an empty one.
    fn entries<const W: usize, K: KeyWord>(
        &mut self,
        node: &ByteNode<'_, M, W>,
        (low, high): (&[u8], Option<&[u8]>),
        children: &mut Children,
    ) -> Result<()> {
        let (prefix, cap) = (node.prefix()?, ByteNode::<M, W>::CAP);
        let fence = high.map_or(DEAD, |high| word_under::<K>(&prefix, high));
        if node.peek_high() != fence {
            return Err(node.corrupt("an upper fence that is not where the next node begins"));
        }
        let count = (0..cap).take_while(|&slot| node.is_used(slot)).count();
        if (count..cap).any(|slot| node.is_used(slot)) {
            return Err(node.corrupt("a used slot behind an empty one"));
        }
        let (mut copies, mut before) = (0, None::<Vec<u8>>);
        for slot in 0..count {
            let (word, reference) = (node.word(slot), node.reference(slot));
            if slot + 1 < count && node.reference(slot + 1) == reference {
                copies += 1;
                continue;
            }
            let key = self.key(reference)?;
            let is_first_child = self.level > 0 && slot == copies as usize;
            if is_first_child && key != low {
                return Err(node.corrupt("an inner node without a child for its lowest key"));
            }
            if !is_first_child && word != word_under::<K>(&prefix, &key) {
                return Err(node.corrupt("a word that is not that of its key"));
            }
            let is_in_order = before.as_ref().is_none_or(|before| *before < key);
            if !is_in_order || *key < *low || high.is_some_and(|high| *key >= *high) {
                return Err(node.corrupt("keys out of order"));
            }
            if self.level == 0 {
                let of_key = Fingerprint::of(&key).0;
                if K::USES_UPPER_BITS && reference >> 48 != u64::from(of_key) {
                    return Err(node.corrupt("a fingerprint that is not that of its key"));
                }
                self.found.entries += 1;
            } else {
                if !is_first_child
                    && reference_to_child::<K>(child_at(reference), prefix.len(), word, &key)
                        != reference
                {
                    return Err(
                        node.corrupt("a reference with other bytes than those of its separator")
                    );
                }
                children.push((key.clone(), child_at(reference)));
            }
            before = Some(key);
        }
        if copies > 1 {
            return Err(node.corrupt("more than one entry on the move"));
        }
        if self.level > 0 && count == 0 {
            return Err(node.corrupt("an inner node without a child for its lowest key"));
        }
        self.found.repairs.duplicates += copies;
        Ok(())
    }

    /// The key to which a reference of this level leads. A record is checked whole.
    fn key(&mut self, reference: u64) -> Result<Vec<u8>> {
        let media = self.guard.media();
        if self.level == 0 {
            let record = Record::enter(media, record_at(reference))?;
            record.check_sum()?;
            (self.visit)(record.at(), record.bytes(), false);
            return Ok(record.key().to_vec());
        }
        low_of::<M, INNER, LEAF>(media, child_at(reference), self.level - 1)
    }
}
