//! Lock-free reads of a leaf: R1 to R6 of the protocol in `docs/trees.md`.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::tree::fast_fair::nodes::lock_word::{Direction, LockWord};
use crate::tree::fast_fair::nodes::locked::onward;
use crate::tree::fast_fair_bytes::nodes::leaf::{moving, settled};
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, Link};
use crate::tree::fast_fair_bytes::path::aim::Aim;
use crate::tree::fast_fair_bytes::path::right::right_of;
use crate::tree::fast_fair_bytes::path::trail::{Signpost, Trail};
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::KeyWord;
use crate::tree::records::fingerprint::Sought;
use crate::tree::records::record::Record;

/// A leaf, and the result found in it.
pub(crate) struct LeafLookup<'g, M, const W: usize, T> {
    pub(crate) node: ByteNode<'g, M, W>,
    pub(crate) version: LockWord,
    /// The node behind the leaf, or 0, which belongs to what was found.
    pub(crate) right: u64,
    pub(crate) found: T,
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// The record of a key, if it is present.
    #[inline(always)]
    pub(crate) fn lookup<'g>(
        &self,
        guard: &'g Guard<'_, M>,
        key: &Sought<'_>,
    ) -> Result<Option<Record<'g, M>>> {
        let mut trail = Trail::default();
        let at = self.descend_to_leaf(guard, &mut trail, key.bytes)?;
        self.get_at(guard, &mut trail, at, key, &mut None)
    }

    /// The record of a key, from the leaf at `at` or one to its right. If the search ends in the former, it sets
    /// `word_there` to the word of the key in it.
    #[inline(always)]
    pub(crate) fn get_at<'g>(
        &self,
        guard: &'g Guard<'_, M>,
        trail: &mut Trail,
        at: u64,
        key: &Sought<'_>,
        word_there: &mut Option<u64>,
    ) -> Result<Option<Record<'g, M>>> {
        let node = ByteNode::<M, LEAF>::enter(guard.media(), at, 0)?;
        let version = node.version();
        if version.is_plain() && !node.peek_is_replaced() {
            let word = node.word_of::<K>(key.bytes)?;
            if word < node.peek_high() {
                // An error counts, like any other result, if the version is confirmed.
                let found = settled::<K, M, LEAF>(&node, word, key);
                guard.media().mark(Mark::Step("read.leaf"));
                if node.confirms(version) {
                    let found = found?;
                    // A search that came to the wrong leaf would take a key for absent.
                    if found.is_some() || Aim::At(key.bytes).reaches_with(&node, word)? {
                        *word_there = Some(word);
                        return Ok(found);
                    }
                }
            }
        }
        self.get_with_care(guard, trail, at, key)
    }

    /// As [`get_at`](Self::get_at), if a writer is at work on the leaf, or another leaf covers the key.
    #[cold]
    fn get_with_care<'g>(
        &self,
        guard: &'g Guard<'_, M>,
        trail: &mut Trail,
        at: u64,
        key: &Sought<'_>,
    ) -> Result<Option<Record<'g, M>>> {
        let read = |node: &ByteNode<'g, M, LEAF>, _, direction: Option<Direction>| {
            let word = node.word_of::<K>(key.bytes)?;
            match direction {
                None => settled::<K, M, LEAF>(node, word, key),
                Some(direction) => moving::<K, M, LEAF>(node, word, key, direction),
            }
        };
        let seen = self.read_leaf(guard, trail, at, Aim::At(key.bytes), read)?;
        // R6: all slots with the word of the key may have had a part in the result.
        if seen.version.in_flight() && guard.media().needs_flush() {
            seen.node.help_flush();
        }
        seen.found
    }

    /// Finds the leaf at which the search aims, from the one at `at` on, and calls `read` on it, with its upper fence.
    /// Repeats this until no primitive ran meanwhile except the one that was announced when `read` was called.
    pub(crate) fn read_leaf<'g, T>(
        &self,
        guard: &'g Guard<'_, M>,
        trail: &mut Trail,
        mut at: u64,
        aim: Aim<'_>,
        mut read: impl FnMut(&ByteNode<'g, M, LEAF>, u64, Option<Direction>) -> T,
    ) -> Result<LeafLookup<'g, M, LEAF, T>> {
        let generation = guard.space().generation();
        loop {
            let node = ByteNode::<M, LEAF>::enter(guard.media(), at, 0)?;
            // R1
            let version = node.version();
            guard.media().mark(Mark::Step("read.leaf"));
            // R2
            if version.is_obsolete(generation) {
                trail.leave_obsolete(at)?;
                at = match onward(guard, &node)? {
                    0 => self.descend(guard, trail, aim, 0)?.ok_or_else(|| self.no_leaf())?,
                    next => next,
                };
                continue;
            }
            // R3
            let link = node.link()?;
            if let Link::Replaced(new) = link {
                node.help_replace();
                trail.pass(Signpost { old: at, new, level: 0 })?;
                at = new;
                continue;
            }
            let (word, extent) = (aim.word::<K, M, LEAF>(&node)?, node.extent::<K>(link)?);
            if !aim.reaches_with(&node, word)? {
                return Err(node.corrupt("a search for a smaller key arrived here"));
            }
            if aim.is_beyond(&node, word, extent)? {
                if let Some(right) = right_of(&node, version, extent)? {
                    at = right.at;
                }
                continue;
            }
            // R4
            let found = read(&node, extent.high, version.moving(generation));
            // R5: if a split has moved the key to the right sibling, or the leaf was replaced, the result must come from
            // there, whether `read` found the key or not.
            if node.is_still_to(extent) && node.confirms(version) {
                return Ok(LeafLookup { node, version, right: extent.right, found });
            }
        }
    }
}
