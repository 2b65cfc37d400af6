//! REPLACE: one or two new nodes for an old one, with prefixes of their own. Every change of the tree's shape that FAST
//! does not make is this one: a full node becomes two, two sparse nodes become one, a node gets another prefix.
//!
//! R0 the lock of the old node L is held (for a merge, that of its right neighbour N as well, whose separator is out of the
//! parent); R1 the new node A, or A and B, are written, locked, the last of them with the right sibling of what they
//! replace, and are made durable; R2 one store commits: `L.sib = A|REPLACED`; when it is durable, N and L become obsolete,
//! with A as the node where readers go on, then A and B are unlocked. L has become a *signpost*.
//!
//! What still leads to L, its parent and its left sibling, is [settled](crate::tree::fast_fair_bytes::write::settle)
//! afterwards; L is retired then. A new entry is written to A or B in R1, so that R2 commits it as well.

use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::tree::fast_fair::nodes::lock_word::Primitive;
use crate::tree::fast_fair::nodes::locked::Locked;
use crate::tree::fast_fair_bytes::nodes::leaf::record_at;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, Link};
use crate::tree::fast_fair_bytes::path::trail::{Separator, Signpost};
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::fast_fair_bytes::write::build::NewNode;
use crate::tree::key_word::{KeyWord, shortest_between};
use crate::tree::records::fresh::Fresh;
use crate::{Error, Result};

/// What a node has left to do after it was replaced.
pub(crate) struct Replaced {
    pub(crate) signpost: Signpost,
    /// The separator of the second new node.
    pub(crate) separator: Option<Separator>,
}

/// New nodes that nothing leads to yet, and their chunks.
pub(crate) struct Prepared<'g, M: Media, const W: usize> {
    first: ByteNode<'g, M, W>,
    second: Option<ByteNode<'g, M, W>>,
    fresh: Fresh<'g, M>,
}

/// The number of entries that the first of two new nodes gets, of `count` entries of which the one at `slot` comes in.
/// Ascending and descending loads produce full nodes.
pub(crate) fn split_point(count: usize, slot: usize) -> usize {
    match slot {
        slot if slot + 1 == count => count - 1,
        0 => 1,
        _ => count / 2,
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// R1: writes one new node with these references, or, with `split_at`, two. They begin where `old` begins, and go on to
    /// the node at `sibling`, or to the end.
    pub(crate) fn prepare<'g, const W: usize>(
        &self,
        guard: &'g Guard<'g, M>,
        old: &ByteNode<'g, M, W>,
        references: &[u64],
        split_at: Option<usize>,
        sibling: u64,
    ) -> Result<Prepared<'g, M, W>> {
        let (level, low) = (old.level(), old.low_key()?);
        let high = match sibling {
            0 => None,
            at => Some(ByteNode::<M, W>::enter(guard.media(), at, level)?.low_key()?),
        };
        let mut fresh = Fresh::new(guard);
        let all = NewNode { references, low: &low, high: high.as_deref(), sibling, level };
        let (first, second) = match split_at {
            None => (self.build(guard, &mut fresh, all)?, None),
            Some(middle) => {
                let separator = self.separator(guard, references, middle, level)?;
                let (left, right) = references.split_at(middle);
                let right = NewNode { references: right, low: &separator, ..all };
                let second: ByteNode<'g, M, W> = self.build(guard, &mut fresh, right)?;
                let (high, sibling) = (Some(&separator[..]), second.at());
                let left = NewNode { references: left, high, sibling, ..all };
                (self.build(guard, &mut fresh, left)?, Some(second))
            }
        };
        guard.media().mark(Mark::Step("replace.R1"));
        // Before R2: what a durable link leads to must be durable.
        guard.media().fence();
        Ok(Prepared { first, second, fresh })
    }

    /// The key at which the second of two new nodes begins: for leaves the shortest one that lies between the two.
    fn separator(
        &self,
        guard: &Guard<'_, M>,
        references: &[u64],
        middle: usize,
        level: u64,
    ) -> Result<Vec<u8>> {
        let at = self.key_at(guard, level, references[middle])?;
        if level > 0 {
            return Ok(at);
        }
        let before = self.key_at(guard, level, references[middle - 1])?;
        if before >= at {
            let offset = record_at(references[middle]);
            return Err(Error::Corrupt { offset, what: "keys out of order" });
        }
        Ok(shortest_between(&before, &at).to_vec())
    }

    /// R2: the new nodes take the place of `old`, and of its right neighbour `absorbed`, if there is one.
    pub(crate) fn replace<'g, const W: usize>(
        &self,
        guard: &'g Guard<'g, M>,
        mut old: Locked<'g, M, W>,
        absorbed: Option<Locked<'g, M, W>>,
        prepared: Prepared<'g, M, W>,
    ) -> Result<Replaced> {
        let Prepared { first, second, mut fresh } = prepared;
        let (node, media, new) = (ByteNode::of(old.node()), guard.media(), first.at());
        let level = node.level();
        let locks =
            [Some(first), second].map(|new| new.map(|new| Locked::adopt(guard, new.plain())));
        old.begin(Primitive::Header);
        node.set_link(Link::Replaced(new));
        media.mark(Mark::Step("replace.R2"));
        fresh.linked();
        node.flush_header();
        // The drain is before the new nodes are unlocked: otherwise a writer that reached them could acknowledge a write
        // in a node that a crash can unlink. It also makes a new entry durable.
        media.drain();
        media.mark(Mark::Step("replace.R2.durable"));
        // The old nodes become obsolete before the new ones change.
        let gone = absorbed.map(|absorbed| {
            let node = ByteNode::of(absorbed.node());
            absorbed.retire_into(new);
            node
        });
        old.retire_into(new);
        drop(locks);
        if let Some(gone) = gone {
            self.open.map().note_retired();
            gone.retire(guard)?;
        }
        let separator = second.map(|second| Separator { child: second.at(), level: level + 1 });
        Ok(Replaced { signpost: Signpost { old: node.at(), new, level }, separator })
    }
}
