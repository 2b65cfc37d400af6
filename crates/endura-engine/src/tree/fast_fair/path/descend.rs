//! The descent from the root to the node that covers a key.

use crate::Result;
use crate::media::{LINE, Mark, Media};
use crate::space::Guard;

use crate::tree::fast_fair::nodes::header::{Fences, Tag, route_key};
use crate::tree::fast_fair::nodes::lock_word::{Direction, LockWord};
use crate::tree::fast_fair::nodes::locked::onward;
use crate::tree::fast_fair::nodes::node::{Header, Node};
use crate::tree::fast_fair::nodes::search::{Search, last, rank};
use crate::tree::fast_fair::path::root::Root;
use crate::tree::fast_fair::path::trail::Separator;
use crate::tree::fast_fair::path::trail::{Descent, Right, Trail};
use crate::tree::fast_fair::tree::Tree;

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// Finds the node of `level` that covered `key` a moment ago, without locking it. `None` if the tree has no such
    /// level.
    #[inline(always)]
    pub(crate) fn descend(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        key: u64,
        level: u64,
    ) -> Result<Option<u64>> {
        let media = guard.media();
        let mut at = self.root(guard)?;
        while at.level > level {
            let node = Node::<M, INNER>::enter(media, at.at, at.level)?;
            match self.route(guard, node, at.level, key)? {
                Descent::Down(child) => at = Root { at: child, level: at.level - 1 },
                Descent::Right(right) => at.at = self.note_right(guard, trail, right, at.level)?,
                Descent::Onward(next) => {
                    trail.leave_obsolete(at.at)?;
                    at = if next == 0 { self.root(guard)? } else { Root { at: next, ..at } };
                }
            }
        }
        Ok((at.level == level).then_some(at.at))
    }

    /// One step of a search, in an inner node: R1 to R5 of the protocol in `docs/trees.md`.
    #[inline(always)]
    pub(crate) fn route(
        &self,
        guard: &Guard<'_, M>,
        node: Node<'_, M, INNER>,
        level: u64,
        key: u64,
    ) -> Result<Descent> {
        let version = node.version();
        guard.media().mark(Mark::Step("read.inner"));
        let fences = node.peek_fences();
        if version.is_plain() && fences.is_below_high(key) {
            // The first key of the node is `low`. If `key` is smaller, the search in the child notices that the child
            // does not cover `key`.
            let child = last::<S, _, _>(&node, fences, route_key(key)).value(&node);
            self.fetch(guard, child, level - 1);
            if node.confirms(version) {
                return Ok(Descent::Down(child));
            }
        }
        self.route_with_care(guard, node, level, key)
    }

    /// Prefetches all lines of a node at once, before its parent is confirmed: the child is probably the right one. The
    /// few nodes of the upper levels are in the cache.
    #[inline(always)]
    fn fetch(&self, guard: &Guard<'_, M>, at: u64, level: u64) {
        // The offset is rounded down to a line, so that the compiler knows the number of lines. Every node starts at a
        // line, so that this changes no valid offset.
        let line = at & !(LINE - 1);
        match level {
            0 => guard.media().prefetch(line, 8 * LEAF as u64),
            1 => guard.media().prefetch(line, 8 * INNER as u64),
            _ => {}
        }
    }

    /// As [`route`](Self::route), for a node that is being changed.
    #[cold]
    fn route_with_care(
        &self,
        guard: &Guard<'_, M>,
        node: Node<'_, M, INNER>,
        level: u64,
        key: u64,
    ) -> Result<Descent> {
        let generation = guard.space().generation();
        loop {
            let version = node.version();
            if version.is_obsolete(generation) {
                return onward(guard, &node).map(Descent::Onward);
            }
            let fences = node.fences();
            if !fences.is_below_high(key) {
                match right_of(&node, version, fences.high)? {
                    Some(right) => return Ok(Descent::Right(right)),
                    None => continue,
                }
            }
            let child = child_of::<M, INNER, S>(&node, fences, version.moving(generation), key);
            if node.high() != fences.high || !node.confirms(version) {
                continue;
            }
            return match child {
                Some(child) => {
                    self.fetch(guard, child, level - 1);
                    Ok(Descent::Down(child))
                }
                None => Err(node.corrupt("an inner node without a child for its own keys")),
            };
        }
    }

    /// Moves to the right sibling, and remembers the sibling's separator if the parent may lack it.
    pub(crate) fn note_right(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        right: Right,
        level: u64,
    ) -> Result<u64> {
        if let Some(high) = right.settled
            && self.header(guard, right.at, level)?.low() == high
        {
            trail.missing = Some(Separator { key: high, child: right.at, level: level + 1 });
        }
        Ok(right.at)
    }

    /// The header of a node, which may be a leaf or an inner node.
    pub(crate) fn header<'g>(
        &self,
        guard: &'g Guard<'_, M>,
        at: u64,
        level: u64,
    ) -> Result<Header<'g, M>> {
        let media = guard.media();
        // The check covers the whole node, although the result is only its header.
        match level {
            0 => Node::<M, LEAF>::enter(media, at, level)?.at(),
            _ => Node::<M, INNER>::enter(media, at, level)?.at(),
        };
        Header::fresh(media, at)
    }
}

/// The move right out of `node` for a key at or above `high`; `None` if the node changed meanwhile.
///
/// An unchanged lock word does not prove that `high` and `sib` belong together, because the three stores of a header
/// change are one primitive. So `high` and the lock word are both read again (V10).
#[inline(never)]
pub(crate) fn right_of<M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    version: LockWord,
    high: u64,
) -> Result<Option<Right>> {
    let sibling = node.sibling()?;
    if node.high() != high || !node.confirms(version) {
        return Ok(None);
    }
    if version.in_flight() && node.level() == 0 {
        // A result found further right must not vanish with the link that led there (V9).
        node.help_flush_header();
    }
    if sibling.at == 0 {
        return Err(node.corrupt("a node with an upper fence and no right sibling"));
    }
    check_ahead(node, sibling.at)?;
    // A crash can undo a link that is still being written, but not a separator that was posted over it.
    let settled = (sibling.tag == Tag::Normal && !version.in_flight()).then_some(high);
    Ok(Some(Right { at: sibling.at, settled }))
}

/// Checks that the node at `right`, the right sibling of `node`, starts after `node`. A new sibling starts after it
/// too, and so does a sibling that is being absorbed. The `low` of a node never changes. So a search that checks every
/// move right runs in no circle of siblings.
pub(crate) fn check_ahead<M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    right: u64,
) -> Result<()> {
    let ahead = Node::<M, W>::enter(node.words().media(), right, node.level())?;
    if ahead.low() > node.low() {
        Ok(())
    } else {
        Err(ahead.corrupt("a right sibling that does not lie to the right"))
    }
}

/// The child of the last live slot whose key is at most `key`.
#[inline]
fn child_of<M: Media, const W: usize, S: Search>(
    node: &Node<'_, M, W>,
    fences: Fences,
    moving: Option<Direction>,
    key: u64,
) -> Option<u64> {
    let key = route_key(key);
    match moving {
        None => {
            let rank = rank::<S, _, _>(node, fences, key);
            (rank > 0).then(|| node.value(rank - 1))
        }
        Some(direction) => child_while_moving(node, fences, direction, key),
    }
}

#[cold]
fn child_while_moving<M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    fences: Fences,
    direction: Direction,
    key: u64,
) -> Option<u64> {
    let is_within = |k: u64| k.wrapping_sub(fences.low) <= key.wrapping_sub(fences.low);
    let cap = Node::<M, W>::CAP;
    match direction {
        // Entries move right: scan to the right. A child counts only if the next key is still too large after the child
        // was read. Otherwise the slot was overwritten meanwhile.
        Direction::Right => (0..cap).find_map(|slot| {
            let next = || node.key_or_dead(slot + 1, fences.dead());
            if !is_within(node.key(slot)) || is_within(next()) {
                return None;
            }
            let child = node.value(slot);
            (!is_within(next())).then_some(child)
        }),
        // Entries move left: a child counts only if its key is still there after the child was read.
        Direction::Left => (0..cap).rev().find_map(|slot| {
            let found = node.key(slot);
            if !is_within(found) {
                return None;
            }
            let child = node.value(slot);
            (node.key(slot) == found).then_some(child)
        }),
    }
}
