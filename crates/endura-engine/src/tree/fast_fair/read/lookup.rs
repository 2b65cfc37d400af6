//! Lock-free reads of a leaf: R1 to R6 of the protocol in `docs/trees.md`.

use crate::Result;
use crate::media::{Mark, Media};
use crate::space::Guard;

use crate::tree::fast_fair::nodes::header::Fences;
use crate::tree::fast_fair::nodes::lock_word::{Direction, LockWord};
use crate::tree::fast_fair::nodes::locked::onward;
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::{Search, last};
use crate::tree::fast_fair::path::descend::right_of;
use crate::tree::fast_fair::path::trail::Trail;
use crate::tree::fast_fair::tree::Tree;

/// The value of a key in a leaf, if the key is there, and the slot on which this result rests.
struct Answer {
    value: Option<u64>,
    slot: usize,
}

/// A leaf, and the result found in it.
pub(crate) struct LeafLookup<'g, M, const W: usize, T> {
    pub(crate) node: Node<'g, M, W>,
    pub(crate) version: LockWord,
    pub(crate) fences: Fences,
    pub(crate) found: T,
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// The value of `key`.
    #[inline]
    pub(crate) fn lookup(&self, key: u64) -> Result<Option<u64>> {
        match self.lookup_in_pin(key) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.open.space().noted(error)),
        }
    }

    #[inline(always)]
    fn lookup_in_pin(&self, key: u64) -> Result<Option<u64>> {
        let guard = self.open.pin()?;
        guard.media().mark(Mark::Begin);
        let value = self.lookup_within(&guard, key)?;
        guard.media().mark(Mark::Acknowledged);
        Ok(value)
    }

    /// The value of `key`, inside the pin of the caller.
    #[inline(always)]
    pub(crate) fn lookup_within(&self, guard: &Guard<'_, M>, key: u64) -> Result<Option<u64>> {
        let mut trail = Trail::default();
        let at = self.descend_to_leaf(guard, &mut trail, key)?;
        self.get_at(guard, &mut trail, at, key)
    }

    /// The value of `key`, from the leaf at `at` or one to its right.
    #[inline(always)]
    pub(crate) fn get_at(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        at: u64,
        key: u64,
    ) -> Result<Option<u64>> {
        let node = Node::<M, LEAF>::enter(guard.media(), at, 0)?;
        let version = node.version();
        let fences = node.peek_fences();
        if version.is_plain() && fences.low <= key && fences.is_below_high(key) {
            let answer = settled::<M, LEAF, S>(&node, fences, key);
            guard.media().mark(Mark::Step("read.leaf"));
            if node.confirms(version) {
                return Ok(answer.value);
            }
        }
        self.get_with_care(guard, trail, at, key)
    }

    /// As [`get_at`](Self::get_at), if a writer is at work on the leaf, or another leaf covers the key.
    #[cold]
    fn get_with_care(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        at: u64,
        key: u64,
    ) -> Result<Option<u64>> {
        let seen = self.read_leaf(guard, trail, at, key, |node, fences, moving| match moving {
            None => settled::<M, LEAF, S>(node, fences, key),
            Some(Direction::Right) => ascending(node, fences, key),
            Some(Direction::Left) => descending(node, fences, key),
        })?;
        // R6
        if seen.version.in_flight() && guard.media().needs_flush() {
            seen.node.help_flush_around(seen.found.slot);
        }
        Ok(seen.found.value)
    }

    /// Finds the leaf that covers `key`, from the one at `at` on, and calls `read` on it. Repeats this until no
    /// primitive ran meanwhile except the one that was announced when `read` was called.
    #[inline]
    pub(crate) fn read_leaf<'g, T>(
        &self,
        guard: &'g Guard<'_, M>,
        trail: &mut Trail,
        mut at: u64,
        key: u64,
        mut read: impl FnMut(&Node<'g, M, LEAF>, Fences, Option<Direction>) -> T,
    ) -> Result<LeafLookup<'g, M, LEAF, T>> {
        let generation = guard.space().generation();
        loop {
            let node = Node::<M, LEAF>::enter(guard.media(), at, 0)?;
            // R1
            let version = node.version();
            guard.media().mark(Mark::Step("read.leaf"));
            // R2
            if version.is_obsolete(generation) {
                trail.leave_obsolete(at)?;
                at = self.onward(guard, trail, onward(guard, &node)?, key)?;
                continue;
            }
            // R3
            let fences = node.fences();
            if !fences.is_below_high(key) {
                if let Some(right) = right_of(&node, version, fences.high)? {
                    at = right.at;
                }
                continue;
            }
            if key < fences.low {
                return Err(node.corrupt("a search for a smaller key arrived here"));
            }
            // R4
            let found = read(&node, fences, version.moving(generation));
            // R5: if a split has moved the key to the right sibling, the result must come from there, whether `read`
            // found the key or not.
            if node.high() == fences.high && node.confirms(version) {
                return Ok(LeafLookup { node, version, fences, found });
            }
        }
    }

    /// The leaf at which a search continues after an obsolete one: `fwd`, or, if that is 0, the result of a new
    /// descent.
    #[cold]
    pub(crate) fn onward(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        fwd: u64,
        key: u64,
    ) -> Result<u64> {
        if fwd != 0 {
            return Ok(fwd);
        }
        self.descend_to_leaf(guard, trail, key)
    }

    /// The leaf that covered `key` a moment ago.
    #[inline]
    pub(crate) fn descend_to_leaf(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        key: u64,
    ) -> Result<u64> {
        self.descend(guard, trail, key, 0)?.ok_or_else(|| self.no_leaf())
    }
}

/// Searches a leaf in which no entry is being moved, so that the loads may have any order.
#[inline(always)]
fn settled<M: Media, const W: usize, S: Search>(
    node: &Node<'_, M, W>,
    fences: Fences,
    key: u64,
) -> Answer {
    let last = last::<S, _, _>(node, fences, key);
    let value = (last.key(node) == key).then(|| last.value(node));
    Answer { value, slot: last.slot() }
}

/// Searches a leaf in which entries may be moving right. The search moves right as well, so that it meets each entry at
/// its old or its new place.
#[cold]
fn ascending<M: Media, const W: usize>(node: &Node<'_, M, W>, fences: Fences, key: u64) -> Answer {
    let width = key.wrapping_sub(fences.low);
    for slot in 0..Node::<M, W>::CAP {
        let found = node.key(slot);
        if found == key {
            let value = node.value(slot);
            // The value may already be that of the left neighbour, but then the entry is also in the next slot.
            let moved = node.key_or_dead(slot + 1, fences.dead()) == key;
            let slot = slot + usize::from(moved);
            return Answer { value: Some(if moved { node.value(slot) } else { value }), slot };
        }
        if found.wrapping_sub(fences.low) > width {
            return Answer { value: None, slot };
        }
    }
    Answer { value: None, slot: Node::<M, W>::CAP - 1 }
}

/// Searches a leaf in which entries may be moving left. The search moves left as well, so that it meets each entry at
/// its old or its new place.
#[cold]
fn descending<M: Media, const W: usize>(node: &Node<'_, M, W>, fences: Fences, key: u64) -> Answer {
    let width = key.wrapping_sub(fences.low);
    for slot in (0..Node::<M, W>::CAP).rev() {
        let found = node.key(slot);
        if found == key {
            let value = node.value(slot);
            // If the key is unchanged, the value belongs to it. If it changed, the entry is now one slot to the left.
            if node.key(slot) == key {
                return Answer { value: Some(value), slot };
            }
        } else if found.wrapping_sub(fences.low) < width {
            return Answer { value: None, slot };
        }
    }
    Answer { value: None, slot: 0 }
}
