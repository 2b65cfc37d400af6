//! A sparse node and a neighbour become one (section 4.2 of the paper, without its redistribution). L is the left node of
//! the two, and N the right node:
//!
//! M1 lock L, then N, and write the node A that takes their place; flag N as leaving; M2 take N's separator out of their
//! parent, durably; then A [replaces](crate::tree::fast_fair_bytes::write::replace) L, and N with it.
//!
//! Locks are taken by level from the leaves up, and from left to right within a level.

use std::cmp::Ordering;

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;
use crate::tree::fast_fair::path::root::Root;
use crate::tree::fast_fair_bytes::nodes::child::child_at;
use crate::tree::fast_fair_bytes::nodes::contents::references;
use crate::tree::fast_fair_bytes::nodes::node::{ByteNode, Link};
use crate::tree::fast_fair_bytes::nodes::search::used;
use crate::tree::fast_fair_bytes::nodes::shift::{Place, fast_delete};
use crate::tree::fast_fair_bytes::path::aim::Aim;
use crate::tree::fast_fair_bytes::path::right::check_ahead;
use crate::tree::fast_fair_bytes::path::trail::{Signpost, Trail};
use crate::tree::fast_fair_bytes::tree::Tree;
use crate::tree::key_word::KeyWord;

/// The result of an attempt to merge.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Merge {
    /// One node was removed, and `left_in_parent` entries are left in the parent. The two nodes met at the key `seam`.
    Done { left_in_parent: usize, seam: Vec<u8> },
    /// The node has no neighbour under its parent with which it may merge.
    OnlyChild,
    /// The entries of the two nodes do not fit into one, or the nodes are no longer neighbours.
    Refused,
    /// A crash has left this signpost to the right node, and the left node leads to it.
    Apart(Signpost),
}

/// Two neighbours under one parent.
#[derive(Clone, Copy)]
struct Neighbours {
    left: u64,
    right: u64,
}

/// The number of entries below which a node is merged with a neighbour if possible.
pub(crate) const fn sparse<M: Media, const W: usize>() -> usize {
    ByteNode::<M, W>::CAP.div_ceil(4)
}

impl<M: Media, const INNER: usize, const LEAF: usize, K: KeyWord> Tree<M, INNER, LEAF, K> {
    /// Merges the sparse node of `level` that covers `key` with a neighbour, and then its ancestors if they become
    /// sparse. Returns whether a node was removed.
    ///
    /// The loop ends because every further round follows the removal of a node.
    pub(crate) fn merge_from(&self, guard: &Guard<'_, M>, key: &[u8], level: u64) -> Result<bool> {
        let (mut any, mut parent_is_sparse) = (false, false);
        loop {
            match self.try_merge(guard, key, level)? {
                Merge::Done { left_in_parent, seam } => {
                    any = true;
                    if level > 0 {
                        // The children on both sides of the seam are only now neighbours.
                        self.try_merge(guard, &seam, level - 1)?;
                    }
                    // The bound is generous, because children are seldom removed: a sparse neighbour of the parent may
                    // have had to wait for this removal.
                    parent_is_sparse |= left_in_parent <= ByteNode::<M, INNER>::CAP / 2 + 1;
                    continue;
                }
                Merge::OnlyChild => parent_is_sparse = true,
                Merge::Refused | Merge::Apart(_) => {}
            }
            if !parent_is_sparse {
                return Ok(any);
            }
            let changed_above = match self.root(guard)?.level.cmp(&(level + 1)) {
                Ordering::Less => false,
                Ordering::Equal => self.shrink_root(guard)?,
                Ordering::Greater => self.merge_from(guard, key, level + 1)?,
            };
            if !changed_above {
                return Ok(any);
            }
            // The node may now have a neighbour that it did not have before.
            (any, parent_is_sparse) = (true, false);
        }
    }

    fn try_merge(&self, guard: &Guard<'_, M>, key: &[u8], level: u64) -> Result<Merge> {
        let mut outcome = Merge::OnlyChild;
        for pair in self.neighbours(guard, key, level)?.into_iter().flatten() {
            outcome = self.merge_pair(guard, pair, level)?;
            if let Merge::Apart(signpost) = outcome {
                self.settle(guard, signpost)?;
                outcome = self.merge_pair(guard, pair, level)?;
            }
            if !matches!(outcome, Merge::Refused | Merge::Apart(_)) {
                break;
            }
        }
        Ok(outcome)
    }

    fn merge_pair(&self, guard: &Guard<'_, M>, pair: Neighbours, level: u64) -> Result<Merge> {
        match level {
            0 => self.merge::<LEAF>(guard, pair, level),
            _ => self.merge::<INNER>(guard, pair, level),
        }
    }

    /// The node of `level` that covers `key`, paired with its left and with its right neighbour under the same parent.
    /// `merge` checks again under the locks.
    fn neighbours(
        &self,
        guard: &Guard<'_, M>,
        key: &[u8],
        level: u64,
    ) -> Result<[Option<Neighbours>; 2]> {
        let (mut trail, aim) = (Trail::default(), Aim::At(key));
        let Some(at) = self.descend(guard, &mut trail, aim, level + 1)? else {
            return Ok([None, None]);
        };
        let Some(parent) = self.lock_covering::<INNER>(guard, &mut trail, at, level + 1, aim)?
        else {
            return Ok([None, None]);
        };
        let node = ByteNode::of(parent.node());
        let child = self.child_for(guard, &node, aim, node.word_of::<K>(key)?)?;
        let children: Vec<u64> = references(&node)?.into_iter().map(child_at).collect();
        let Some(slot) = children.iter().position(|&its| its == child) else {
            return Err(node.corrupt("children out of order"));
        };
        let pair = |left: Option<usize>, right: usize| {
            Some(Neighbours { left: *children.get(left?)?, right: *children.get(right)? })
        };
        Ok([pair(slot.checked_sub(1), slot), pair(Some(slot), slot + 1)])
    }

    fn merge<const W: usize>(
        &self,
        guard: &Guard<'_, M>,
        pair: Neighbours,
        level: u64,
    ) -> Result<Merge> {
        // M1
        let Some(left) = self.lock_known::<W>(guard, pair.left, level)? else {
            return Ok(Merge::Refused);
        };
        let l = ByteNode::of(left.node());
        let Link::Right(ahead) = l.link()? else {
            return Ok(Merge::Refused);
        };
        if ahead != pair.right {
            drop(left);
            let low = self.low_at(guard, pair.right, level)?;
            let between = self.signpost_at::<W>(guard, ahead, level, &low)?;
            return Ok(between.map_or(Merge::Refused, Merge::Apart));
        }
        // The order of the two nodes is checked before the second lock is taken, because the locks of a level are taken
        // in the order of `low`, which never changes. If siblings formed a circle, two threads would wait for each
        // other, or one for itself.
        check_ahead(&l, pair.right)?;
        let Some(mut right) = self.lock_known::<W>(guard, pair.right, level)? else {
            return Ok(Merge::Refused);
        };
        let r = ByteNode::of(right.node());
        if !fit::<M, W>(used(&l), used(&r), level) {
            return Ok(Merge::Refused);
        }
        let mut all = references(&l)?;
        all.extend(references(&r)?);
        let prepared = self.prepare(guard, &l, &all, None, r.link()?.at())?;
        // Release: a thread that sees the mark in the lock word sees what the last writer did.
        right.set_merging(true);
        guard.media().mark(Mark::Step("merge.M1"));
        // M2
        let Some(left_in_parent) = self.take_separator(guard, &l, &r, level + 1)? else {
            return Ok(Merge::Refused);
        };
        guard.media().mark(Mark::Step("merge.M2"));
        let seam = r.low_key()?;
        let replaced = self.replace(guard, left, Some(right), prepared)?;
        self.settle(guard, replaced.signpost)?;
        Ok(Merge::Done { left_in_parent, seam })
    }

    /// M2: durably removes the separator of `right` from the parent of both. Returns the number of entries left in the
    /// parent; `None`, with nothing changed, if the two are not neighbours there.
    fn take_separator<const W: usize>(
        &self,
        guard: &Guard<'_, M>,
        left: &ByteNode<'_, M, W>,
        right: &ByteNode<'_, M, W>,
        level: u64,
    ) -> Result<Option<usize>> {
        let (mut trail, low) = (Trail::default(), right.low_key()?);
        let aim = Aim::At(&low);
        let Some(at) = self.descend(guard, &mut trail, aim, level)? else {
            return Ok(None);
        };
        let Some(mut parent) = self.lock_covering::<INNER>(guard, &mut trail, at, level, aim)?
        else {
            return Ok(None);
        };
        let node = ByteNode::of(parent.node());
        let count = used(&node);
        let child = |slot: usize| child_at(node.peek_reference(slot));
        let Some(slot) = (1..count).find(|&slot| child(slot) == right.at()) else {
            return Ok(None);
        };
        if child(slot - 1) != left.at() {
            return Ok(None);
        }
        fast_delete(guard, &mut parent, Place { count, slot });
        Ok(Some(count - 1))
    }

    /// Removes the root as long as it has only one child. Returns whether it removed one.
    fn shrink_root(&self, guard: &Guard<'_, M>) -> Result<bool> {
        let mut any = false;
        loop {
            let root = self.root(guard)?;
            let Some(old) = self.lock_known::<INNER>(guard, root.at, root.level)? else {
                return Ok(any);
            };
            let node = ByteNode::of(old.node());
            if root.level < 2 || used(&node) != 1 || node.link()? != Link::Right(0) {
                return Ok(any);
            }
            let child = Root { at: child_at(node.peek_reference(0)), level: root.level - 1 };
            // A child that has a right sibling, or a successor, would leave it without a parent.
            let only = ByteNode::<M, INNER>::enter(guard.media(), child.at, child.level)?;
            if only.link()? != Link::Right(0) {
                return Ok(any);
            }
            {
                let _only_one = self.open.map().root_lock().lock();
                if self.root(guard)? != root {
                    return Ok(any);
                }
                guard.media().mark(Mark::Step("root.shrink"));
                self.set_root(guard, child)?;
            }
            any = true;
            // A search that is still in the old root starts again from the new one.
            old.retire_into(0);
            node.retire(guard)?;
        }
    }
}

/// Whether the entries of two neighbours fit into one node, with free slots left unless one of the two is empty.
fn fit<M: Media, const W: usize>(in_left: usize, in_right: usize, level: u64) -> bool {
    let (together, cap) = (in_left + in_right, ByteNode::<M, W>::CAP);
    // An inner node with one child counts as empty: otherwise the child could never merge.
    let empty = usize::from(level > 0);
    together <= cap && (together <= cap * 3 / 4 || in_left.min(in_right) <= empty)
}
