//! One step of a search in an inner node.
//!
//! A step may end too far left, for the level below is a chain, and never too far right. So a child counts only if its word
//! is below that of the key, in a node that is quiet, or if the child itself says that it begins at or below the key.

use std::ops::Range;

use crate::Result;
use crate::media::{LINE, Mark, Media};
use crate::space::Guard;
use crate::tree::fast_fair::nodes::locked::onward;
use crate::tree::fast_fair_bytes::nodes::child::child_at;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, Link};
use crate::tree::fast_fair_bytes::nodes::search::{rank, ties_before};
use crate::tree::fast_fair_bytes::path::aim::Aim;
use crate::tree::fast_fair_bytes::path::right::{Right, right_of};
use crate::tree::fast_fair_bytes::path::trail::Signpost;
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::KeyWord;

/// The next step of a search.
pub(crate) enum Descent {
    /// To a child, one level below.
    Down(u64),
    /// To the right sibling.
    Right(Right),
    /// From an obsolete node to the one that has its keys (0: to the root).
    Onward(u64),
    /// From a node that an earlier session has replaced.
    Replaced(Signpost),
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// One step of a search for a key.
    #[inline(always)]
    pub(crate) fn route(
        &self,
        guard: &Guard<'_, M>,
        node: ByteNode<'_, M, INNER>,
        level: u64,
        key: &[u8],
    ) -> Result<Descent> {
        let version = node.version();
        guard.media().mark(Mark::Step("read.inner"));
        if version.is_plain() && !node.peek_is_replaced() {
            let (word, high) = (node.word_of::<K>(key)?, node.peek_high());
            if word <= high {
                let mut before = rank(&node, word);
                if before > 1 && node.peek_word(before - 1) == word {
                    before = self.rank_of_tie(guard, &node, Aim::At(key), (word, before))?;
                }
                let slot = before.saturating_sub(1);
                let reference = node.peek_reference(slot);
                // After a crash, a slot may be a copy whose reference is that of the entry to its right. Only such a slot
                // can have the word of another child.
                let next = slot + 1;
                let is_copy =
                    next < ByteNode::<M, INNER>::CAP && node.peek_reference(next) == reference;
                let child = child_at(reference);
                if child != 0 && !is_copy {
                    self.fetch(guard, child, level - 1);
                    if node.confirms(version) {
                        return Ok(Descent::Down(child));
                    }
                }
            }
        }
        self.route_with_care(guard, node, level, Aim::At(key))
    }

    /// Prefetches all lines of a node at once, before its parent is confirmed: the child is probably the right one.
    #[inline(always)]
    fn fetch(&self, guard: &Guard<'_, M>, at: u64, level: u64) {
        // As in the tree of numbers: the compiler then knows the number of lines.
        let line = at & !(LINE - 1);
        match level {
            0 => guard.media().prefetch(line, 8 * LEAF as u64),
            1 => guard.media().prefetch(line, 8 * INNER as u64),
            _ => {}
        }
    }

    /// As [`route`](Self::route), for any aim, and for a node that is being changed.
    #[inline(never)]
    pub(crate) fn route_with_care(
        &self,
        guard: &Guard<'_, M>,
        node: ByteNode<'_, M, INNER>,
        level: u64,
        aim: Aim<'_>,
    ) -> Result<Descent> {
        loop {
            let version = node.version();
            if version.is_obsolete(guard.space().generation()) {
                return onward(guard, &node).map(Descent::Onward);
            }
            let link = node.link()?;
            if let Link::Replaced(new) = link {
                // That it was replaced need not be durable yet: nothing but separators, which are hints, goes on to the new
                // node alone. A thread that settles this node makes it durable, and so does the lock of this node, which
                // comes before any other change of this level: a node below is retired only when its parent was locked.
                return Ok(Descent::Replaced(Signpost { old: node.at(), new, level }));
            }
            let (word, extent) = (aim.word::<K, M, INNER>(&node)?, node.extent::<K>(link)?);
            if aim.is_beyond(&node, word, extent)? {
                match right_of(&node, version, extent)? {
                    Some(right) => return Ok(Descent::Right(right)),
                    None => continue,
                }
            }
            let child = self.child_for(guard, &node, aim, word)?;
            self.fetch(guard, child, level - 1);
            return Ok(Descent::Down(child));
        }
    }

    /// The last child that begins at or before the aim, or one before it if entries are moving. `word` is the word of the
    /// aim.
    ///
    /// Every reference in a used slot leads to a node of the level below, of now or of an earlier moment of this pin,
    /// whatever word a move has given to the slot. The word is loaded before the reference, as in a leaf.
    pub(crate) fn child_for(
        &self,
        guard: &Guard<'_, M>,
        node: &ByteNode<'_, M, INNER>,
        aim: Aim<'_>,
        word: u64,
    ) -> Result<u64> {
        let begins = |slot: usize| -> Result<Option<u64>> {
            let child = child_at(node.reference(slot));
            let is_it = child != 0 && self.begins_before(guard, child, node.level() - 1, aim, 0)?;
            Ok(is_it.then_some(child))
        };
        let mut from = ByteNode::<M, INNER>::CAP;
        if node.version().is_plain() {
            from = self.rank_of_tie(guard, node, aim, (word, rank(node, word)))?;
            // Entries may have moved since, so the child that was found is compared whole.
            if let Some(child) = from.checked_sub(1).map(begins).transpose()?.flatten() {
                return Ok(child);
            }
        }
        for slot in (0..from.max(1)).rev() {
            if node.word(slot) > word {
                continue;
            }
            if let Some(child) = begins(slot)? {
                return Ok(child);
            }
        }
        Err(node.corrupt("an inner node without a child for its own keys"))
    }

    /// The number of slots of a quiet node whose children begin at or before the aim, which has the word `word`. (`end` is
    /// its [rank].) Of slots with this word, continuations decide, and where these are equal the children, by halving. The
    /// bytes that the word stands for are not compared.
    fn rank_of_tie(
        &self,
        guard: &Guard<'_, M>,
        node: &ByteNode<'_, M, INNER>,
        aim: Aim<'_>,
        (word, end): (u64, usize),
    ) -> Result<usize> {
        let mut ties = ties_before(node, word, end);
        if let Some(key) = aim.key().filter(|_| !ties.is_empty()) {
            ties = node.closest::<K>(ties, word, key);
        }
        let Range { mut start, mut end } = ties;
        let from = node.shared_by_ties::<K>(word);
        while start < end {
            let middle = start + (end - start) / 2;
            let child = child_at(node.reference(middle));
            if child == 0 || !self.begins_before(guard, child, node.level() - 1, aim, from)? {
                end = middle;
            } else {
                start = middle + 1;
            }
        }
        Ok(start)
    }

    /// Whether a node, which may be a leaf or an inner node, begins at or before the aim, with which its `low` agrees in its
    /// first `from` bytes.
    fn begins_before(
        &self,
        guard: &Guard<'_, M>,
        at: u64,
        level: u64,
        aim: Aim<'_>,
        from: usize,
    ) -> Result<bool> {
        let media = guard.media();
        match level {
            0 => aim.reaches_from(&ByteNode::<M, LEAF>::enter(media, at, level)?, from),
            _ => aim.reaches_from(&ByteNode::<M, INNER>::enter(media, at, level)?, from),
        }
    }
}
