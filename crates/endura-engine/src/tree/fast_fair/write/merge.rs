//! A sparse node is absorbed by its left neighbour, or absorbs its right neighbour (section 4.2 of the paper, without
//! its redistribution; the published source has merging switched off). L is the left node of the two, and N the right
//! node:
//!
//! M1 lock L, then N, and flag N as merging; M2 take N's separator out of their parent, durably;
//! M3 write N's entries after L's, where they are still dead, and kill the rest of L's tail;
//! M4 three stores to one line of L take the range over: `sib = N|MERGING`, `high = N.high`,
//! `sib = N.sib|NORMAL`; M5 N becomes obsolete, points to L, and is retired.
//!
//! Locks are taken by level from the leaves up, and from left to right within a level.

use std::cmp::Ordering;

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::tree::fast_fair::nodes::header::{Fences, MIDDLE, Sibling, Tag, route_key};
use crate::tree::fast_fair::nodes::lock_word::Primitive;
use crate::tree::fast_fair::nodes::locked::{Locked, Refusal};
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::{Search, rank};
use crate::tree::fast_fair::nodes::shift::fast_delete;
use crate::tree::fast_fair::path::root::Root;
use crate::tree::fast_fair::path::trail::Trail;
use crate::tree::fast_fair::tree::Tree;
use crate::tree::lock_word::IMPOSSIBLE;

/// The result of an attempt to merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Merge {
    /// One node was removed, and `left_in_parent` entries are left in the parent. The two nodes met at the key `seam`.
    Done { left_in_parent: usize, seam: u64 },
    /// The node has no neighbour under its parent with which it may merge.
    OnlyChild,
    /// The entries of the two nodes do not fit into one, or the nodes are no longer neighbours.
    Refused,
}

/// Two neighbours under one parent.
struct Neighbours {
    left: u64,
    right: u64,
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Merges the sparse node of `level` that covers `key` with a neighbour, and then its ancestors if they become
    /// sparse. Returns whether a node was removed.
    ///
    /// The loop ends because every further round follows the removal of a node.
    pub(crate) fn fair_merge(&self, guard: &Guard<'_, M>, key: u64, level: u64) -> Result<bool> {
        let (mut any, mut parent_is_sparse) = (false, false);
        loop {
            match self.try_merge(guard, key, level)? {
                Merge::Done { left_in_parent, seam } => {
                    any = true;
                    if level > 0 {
                        // The children on both sides of the seam are only now neighbours.
                        self.try_merge(guard, seam, level - 1)?;
                    }
                    // The bound is generous, because children are seldom removed: a sparse neighbour of the parent may
                    // have had to wait for this removal.
                    parent_is_sparse |= left_in_parent <= Node::<M, INNER>::CAP / 2 + 1;
                    continue;
                }
                Merge::OnlyChild => parent_is_sparse = true,
                Merge::Refused => {}
            }
            if !parent_is_sparse {
                return Ok(any);
            }
            let changed_above = match self.root(guard)?.level.cmp(&(level + 1)) {
                Ordering::Less => false,
                Ordering::Equal => self.shrink_root(guard)?,
                Ordering::Greater => self.fair_merge(guard, key, level + 1)?,
            };
            if !changed_above {
                return Ok(any);
            }
            // The node may now have a neighbour that it did not have before.
            (any, parent_is_sparse) = (true, false);
        }
    }

    fn try_merge(&self, guard: &Guard<'_, M>, key: u64, level: u64) -> Result<Merge> {
        let mut outcome = Merge::OnlyChild;
        for pair in self.neighbours(guard, key, level)?.into_iter().flatten() {
            outcome = match level {
                0 => self.merge::<LEAF>(guard, pair, level)?,
                _ => self.merge::<INNER>(guard, pair, level)?,
            };
            if outcome != Merge::Refused {
                break;
            }
        }
        Ok(outcome)
    }

    /// The node of `level` that covers `key`, paired with its left and with its right neighbour under the same parent.
    /// `merge` checks again under the locks.
    fn neighbours(
        &self,
        guard: &Guard<'_, M>,
        key: u64,
        level: u64,
    ) -> Result<[Option<Neighbours>; 2]> {
        let mut trail = Trail::default();
        let Some(at) = self.descend(guard, &mut trail, key, level + 1)? else {
            return Ok([None, None]);
        };
        let Some(parent) = self.lock_covering::<INNER>(guard, &mut trail, at, level + 1, key)?
        else {
            return Ok([None, None]);
        };
        let node = parent.node();
        let (rank, count) = (rank::<S, _, _>(node, node.fences(), route_key(key)), self.live(node));
        // `left` is the slot of the left node of a pair. Leaves on both sides of the middle are not a pair.
        let pair = |left: usize| {
            let is_pair = left + 1 < count && (level > 0 || node.key(left + 1) != MIDDLE);
            is_pair.then(|| Neighbours { left: node.value(left), right: node.value(left + 1) })
        };
        Ok([rank.checked_sub(2).and_then(pair), rank.checked_sub(1).and_then(pair)])
    }

    fn merge<const W: usize>(
        &self,
        guard: &Guard<'_, M>,
        pair: Neighbours,
        level: u64,
    ) -> Result<Merge> {
        // M1
        let Some(mut left) = self.lock_for_merge::<W>(guard, pair.left, level)? else {
            return Ok(Merge::Refused);
        };
        if left.node().sibling()? != Sibling::normal(pair.right) {
            return Ok(Merge::Refused);
        }
        // The order of the two nodes is checked before the second lock is taken, because the locks of a level are taken
        // in the order of `low`, which never changes. If siblings formed a circle, two threads would wait for each
        // other, or one for itself.
        let fences = left.node().fences();
        if fences.high <= fences.low
            || Node::<M, W>::enter(guard.media(), pair.right, level)?.low() != fences.high
        {
            return Ok(Merge::Refused);
        }
        let Some(mut right) = self.lock_for_merge::<W>(guard, pair.right, level)? else {
            return Ok(Merge::Refused);
        };
        let (l, r) = (*left.node(), *right.node());
        let counts = (self.live(&l), self.live(&r));
        if !fit::<M, W>(&l, &r, counts, level) || r.sibling()?.tag != Tag::Normal {
            return Ok(Merge::Refused);
        }
        // equivalent mutant, relaxed: not seen here: a reader that sees the mark must see what the last writer did. (Two
        // threads are enough in the tree of byte strings, whose campaign notices it.)
        right.set_merging(true);
        guard.media().mark(Mark::Step("merge.M1"));
        // M2
        let Some(left_in_parent) = self.take_separator(guard, &l, &r, level + 1)? else {
            return Ok(Merge::Refused);
        };
        guard.media().mark(Mark::Step("merge.M2"));
        absorb(guard, &mut left, &r, counts)?;
        // M5: N is marked as obsolete before L is unlocked, so that no reader still trusts N once L changes.
        right.retire_into(l.at());
        guard.media().mark(Mark::Step("merge.M5"));
        drop(left);
        self.open.map().note_retired();
        guard.retire(r.at(), Node::<M, W>::BYTES);
        Ok(Merge::Done { left_in_parent, seam: r.low() })
    }

    /// Locks a node for a merge; `None` if it is obsolete. Repairs an interrupted primitive.
    fn lock_for_merge<'g, const W: usize>(
        &self,
        guard: &'g Guard<'g, M>,
        at: u64,
        level: u64,
    ) -> Result<Option<Locked<'g, M, W>>> {
        let node = Node::<M, W>::enter(guard.media(), at, level)?;
        let mut locked = match Locked::acquire(guard, node) {
            Ok(locked) => locked,
            Err(Refusal::Absorbed(_)) => return Ok(None),
            Err(Refusal::Damaged) => return Err(node.corrupt(IMPOSSIBLE)),
        };
        if locked.is_first_of_session() {
            // A separator found missing here is posted by the next writer that moves right.
            self.repair(guard, &mut Trail::default(), &mut locked)?;
        }
        Ok(Some(locked))
    }

    /// M2: durably removes the separator of `right` from the parent of both. Returns the number of entries left in the
    /// parent; `None`, with nothing changed, if the two are not neighbours there.
    fn take_separator<const W: usize>(
        &self,
        guard: &Guard<'_, M>,
        left: &Node<'_, M, W>,
        right: &Node<'_, M, W>,
        level: u64,
    ) -> Result<Option<usize>> {
        let (mut trail, key) = (Trail::default(), right.low());
        let Some(at) = self.descend(guard, &mut trail, key, level)? else {
            return Ok(None);
        };
        let Some(mut parent) = self.lock_covering::<INNER>(guard, &mut trail, at, level, key)?
        else {
            return Ok(None);
        };
        let place = self.place(parent.node(), self.find(parent.node(), key))?;
        let neighbours = place.slot >= 1
            && place.value == Some(right.at())
            && parent.node().value(place.slot - 1) == left.at();
        if neighbours {
            fast_delete(guard, &mut parent, &place);
        }
        Ok(neighbours.then(|| place.count - 1))
    }

    /// Removes the root as long as it has only one child. Returns whether it removed one.
    fn shrink_root(&self, guard: &Guard<'_, M>) -> Result<bool> {
        let mut any = false;
        loop {
            let root = self.root(guard)?;
            let Some(old) = self.lock_for_merge::<INNER>(guard, root.at, root.level)? else {
                return Ok(any);
            };
            let node = *old.node();
            if root.level < 2 || self.live(&node) != 1 || node.sibling()?.at != 0 {
                return Ok(any);
            }
            let child = Root { at: node.value(0), level: root.level - 1 };
            if self.header(guard, child.at, child.level)?.high() != 0 {
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
            guard.retire(node.at(), Node::<M, INNER>::BYTES);
        }
    }
}

/// The number of entries below which a node is merged with a neighbour if possible.
pub(crate) const fn sparse<M: Media, const W: usize>() -> usize {
    Node::<M, W>::CAP.div_ceil(4)
}

/// Whether the two nodes are neighbours whose entries fit into one node, with free slots left unless one of the two is
/// empty.
fn fit<M: Media, const W: usize>(
    left: &Node<'_, M, W>,
    right: &Node<'_, M, W>,
    (in_left, in_right): (usize, usize),
    level: u64,
) -> bool {
    let together = in_left + in_right;
    // An inner node with one child counts as empty: otherwise the child could never merge.
    let empty = usize::from(level > 0);
    let roomy = together <= Node::<M, W>::CAP * 3 / 4 || in_left.min(in_right) <= empty;
    // Leaves on both sides of `MIDDLE` do not merge, because the key MAX could not be live in a leaf that spans all
    // keys. No caller passes such a pair.
    let apart = level == 0 && right.low() == MIDDLE;
    left.high() == right.low() && roomy && together <= Node::<M, W>::CAP && !apart
}

/// M3 and M4: `left` takes over the entries and the range of `right`.
fn absorb<M: Media, const W: usize>(
    guard: &Guard<'_, M>,
    left: &mut Locked<'_, M, W>,
    right: &Node<'_, M, W>,
    (in_left, in_right): (usize, usize),
) -> Result<()> {
    let (l, media) = (*left.node(), guard.media());
    for slot in 0..in_right {
        // The stores are Relaxed, like those of the dead keys after these slots: no reader takes these slots for live
        // before it sees the `high` of M4, which is stored with Release.
        l.write_record(in_left + slot, (right.key(slot), right.value(slot)));
    }
    // Overwrites the keys in the rest of the tail. Otherwise keys that an earlier split left there would become live at
    // M4.
    l.kill_from(in_left + in_right, Fences { low: l.low(), high: right.high() }.dead());
    media.mark(Mark::Step("merge.M3"));
    l.flush_slots(in_left, Node::<M, W>::CAP);
    // The fence is before M4, which makes these slots live.
    media.fence();

    // equivalent mutant, relaxed: not seen: one function begins all primitives, and the insert after a split
    // needs its order.
    left.begin(Primitive::Header);
    // equivalent mutant, relaxed: not seen: a thread that follows the link must see the node, also one that looks at an
    // older state of what lies before it.
    l.set_sibling(Sibling { at: right.at(), tag: Tag::Merging });
    media.mark(Mark::Step("merge.M4.sib"));
    l.set_high(right.high());
    media.mark(Mark::Step("merge.M4.high"));
    l.set_sibling(right.sibling()?);
    media.mark(Mark::Step("merge.M4.tag"));
    l.flush_header();
    // The drain is before N is retired: an unlink must be durable before the chunk can be used again.
    media.drain();
    // equivalent mutant, without: costs time only: a wrong hint is noticed, and the slots are counted instead.
    l.set_hint(in_left + in_right);
    Ok(())
}
