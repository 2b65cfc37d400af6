//! The way from the root to the node that covers a key.

use crate::media::{Mark, Media, Ordering, Region};
use crate::pool::Guard;
use crate::{Error, Result};

use super::node::{Fences, Header, MAX_LEVEL, Node, Tag, route_key};
use super::search::{Search, last, rank};
use super::version::{Direction, IMPOSSIBLE, Locked, Refusal, Version, onward};
use super::{Separator, Tree};

/// Where a search goes next.
pub(super) enum Step {
    /// To a child, one level below.
    Down(u64),
    /// To the right sibling.
    Right(Right),
    /// To the node that absorbed this one (0: to the root).
    Onward(u64),
}

/// A move to the right sibling.
pub(super) struct Right {
    pub(super) at: u64,
    /// The fence that was passed, if the link was a settled one.
    settled: Option<u64>,
}

/// What one operation learns on its way.
#[derive(Default)]
pub(super) struct Trail {
    /// A separator that was seen to be missing.
    pub(super) missing: Option<Separator>,
    /// How many obsolete nodes were met, and one of them.
    obsolete: u64,
    landmark: u64,
}

impl Trail {
    /// Leaves the obsolete node at `at`.
    ///
    /// A search ends, or others get on: a move down leads to a lower level, one to the right to a node that begins
    /// further right ([`check_ahead`]), and one out of an obsolete node follows a merge of this session. Before
    /// that made the node obsolete it took every link to it away, and a search goes by links as they are when it
    /// comes by: it meets no obsolete node twice in one pin, in however many merges. In a damaged pool another
    /// link may be left, and a search may go round in a circle; some obsolete node is in it. One of those that are
    /// met is remembered, later and later ones (Brent's way to find a circle).
    #[cold]
    #[inline(never)]
    pub(super) fn leave_obsolete(&mut self, at: u64) -> Result<()> {
        if at == self.landmark {
            return Err(Error::Corrupt { offset: at, what: "a link to a node that was absorbed" });
        }
        self.obsolete += 1;
        if self.obsolete.is_power_of_two() {
            self.landmark = at;
        }
        Ok(())
    }
}

/// The root word: the offset of the root, and its level, so that the node's kind is known before
/// the node is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Root {
    pub(super) at: u64,
    pub(super) level: u64,
}

impl Root {
    pub(super) fn word(self) -> u64 {
        self.at | self.level << 48
    }

    /// The root that the word at `offset` names.
    #[inline]
    pub(super) fn read<M: Media>(media: &M, offset: u64) -> Result<Self> {
        let root = Self::of(Region::new(media, offset, 1)?.load(0, Ordering::Acquire));
        if (1..=MAX_LEVEL).contains(&root.level) {
            Ok(root)
        } else {
            Err(Error::Corrupt { offset, what: "a root of an impossible level" })
        }
    }

    #[inline(always)]
    fn of(word: u64) -> Self {
        Self { at: word & ((1 << 48) - 1), level: word >> 48 }
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// The root at this moment.
    #[inline(always)]
    pub(super) fn root(&self, guard: &Guard<'_, M>) -> Result<Root> {
        match self.map().known_root() {
            0 => self.first_root(guard),
            word => {
                guard.media().mark(Mark::Observed(self.root_at()));
                Ok(Root::of(word))
            }
        }
    }

    #[cold]
    fn first_root(&self, guard: &Guard<'_, M>) -> Result<Root> {
        let root = Root::read(guard.media(), self.root_at())?;
        let known = self.map().first_root(root.word());
        guard.media().mark(Mark::Observed(self.root_at()));
        Ok(Root::of(known))
    }

    /// Makes `root` the root, durably.
    pub(super) fn set_root(&self, guard: &Guard<'_, M>, root: Root) -> Result<()> {
        let word = Region::new(guard.media(), self.root_at(), 1)?;
        // Release: where nothing is flushed, this alone puts the words of a new root before it.
        word.store(0, root.word(), Ordering::Release);
        word.flush(0, 1);
        // Before anyone is told of the root, and before the caller retires an old one.
        guard.media().fence();
        guard.media().mark(Mark::Published(self.root_at()));
        self.map().set_known_root(root.word());
        Ok(())
    }

    /// The node of `level` that covered `key` a moment ago, unlocked. `None` if the tree is lower.
    #[inline(always)]
    pub(super) fn descend(
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
                Step::Down(child) => at = Root { at: child, level: at.level - 1 },
                Step::Right(right) => at.at = self.note_right(guard, trail, right, at.level)?,
                Step::Onward(next) => {
                    trail.leave_obsolete(at.at)?;
                    at = if next == 0 { self.root(guard)? } else { Root { at: next, ..at } };
                }
            }
        }
        Ok((at.level == level).then_some(at.at))
    }

    /// One step of a search in an inner node (R1-R5).
    #[inline(always)]
    pub(super) fn route(
        &self,
        guard: &Guard<'_, M>,
        node: Node<'_, M, INNER>,
        level: u64,
        key: u64,
    ) -> Result<Step> {
        let version = node.version();
        guard.media().mark(Mark::Step("read.inner"));
        let fences = node.peek_fences();
        if version.is_plain() && fences.is_below_high(key) {
            // The first key is `low`; a child found for a smaller one will say that it is not its.
            let child = last::<S, _, _>(&node, fences, route_key(key)).value(&node);
            self.fetch(guard, child, level - 1);
            if node.confirms(version) {
                return Ok(Step::Down(child));
            }
        }
        self.route_with_care(guard, node, level, key)
    }

    /// Asks for all lines of a node at once, before its parent is confirmed: the answer is likely
    /// right. The few nodes of the upper levels are in the cache.
    #[inline(always)]
    fn fetch(&self, guard: &Guard<'_, M>, at: u64, level: u64) {
        match level {
            0 => guard.media().prefetch(at, 8 * LEAF as u64),
            1 => guard.media().prefetch(at, 8 * INNER as u64),
            _ => {}
        }
    }

    /// The same for a node that is full of events.
    #[cold]
    fn route_with_care(
        &self,
        guard: &Guard<'_, M>,
        node: Node<'_, M, INNER>,
        level: u64,
        key: u64,
    ) -> Result<Step> {
        let generation = guard.space().generation();
        loop {
            let version = node.version();
            if version.is_obsolete(generation) {
                return onward(guard, &node).map(Step::Onward);
            }
            let fences = node.fences();
            if !fences.is_below_high(key) {
                match right_of(&node, version, fences.high)? {
                    Some(right) => return Ok(Step::Right(right)),
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
                    Ok(Step::Down(child))
                }
                None => Err(node.corrupt("an inner node without a child for its own keys")),
            };
        }
    }

    /// Goes right, and remembers if the separator of the node reached may be missing above.
    pub(super) fn note_right(
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

    /// Locks the node of `level` that covers `key`, repaired if it was the first lock since the
    /// pool was opened. The search goes on from `at`.
    pub(super) fn lock_covering<'g, const W: usize>(
        &self,
        guard: &'g Guard<'g, M>,
        trail: &mut Trail,
        mut at: u64,
        level: u64,
        key: u64,
    ) -> Result<Option<Locked<'g, M, W>>> {
        loop {
            let node = Node::<M, W>::enter(guard.media(), at, level)?;
            let mut locked = match Locked::acquire(guard, node) {
                Ok(locked) => locked,
                Err(Refusal::Damaged) => return Err(node.corrupt(IMPOSSIBLE)),
                Err(Refusal::Absorbed(next)) => {
                    trail.leave_obsolete(at)?;
                    at = match next {
                        0 => match self.descend(guard, trail, key, level)? {
                            Some(again) => again,
                            None => return Ok(None),
                        },
                        next => next,
                    };
                    continue;
                }
            };
            guard.media().mark(Mark::Step("lock.taken"));
            if locked.is_first_of_session() {
                self.repair(guard, trail, &mut locked)?;
            }
            let fences = node.fences();
            if key < fences.low {
                return Err(node.corrupt("a search for a smaller key arrived here"));
            }
            if fences.is_below_high(key) {
                return Ok(Some(locked));
            }
            let right = Right { at: node.sibling()?.at, settled: Some(fences.high) };
            check_ahead(&node, right.at)?;
            drop(locked);
            at = self.note_right(guard, trail, right, level)?;
        }
    }

    /// The header of a node of either kind.
    pub(super) fn header<'g>(
        &self,
        guard: &'g Guard<'_, M>,
        at: u64,
        level: u64,
    ) -> Result<Header<'g, M>> {
        let media = guard.media();
        // The whole node is checked, the header is what is needed of it.
        match level {
            0 => Node::<M, LEAF>::enter(media, at, level)?.at(),
            _ => Node::<M, INNER>::enter(media, at, level)?.at(),
        };
        Header::fresh(media, at)
    }
}

/// The move out of `node` for a key at or above `high`; `None` if the node changed meanwhile.
///
/// One lock word proves nothing about `high` and `sib` together, for the three stores of a header
/// change are one primitive: both are read again (V10).
#[inline(never)]
pub(super) fn right_of<M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    version: Version,
    high: u64,
) -> Result<Option<Right>> {
    let sibling = node.sibling()?;
    if node.high() != high || !node.confirms(version) {
        return Ok(None);
    }
    if version.in_flight() && node.level() == 0 {
        // What is found further right must not vanish with the link that led there (V9).
        node.help_flush_header();
    }
    if sibling.at == 0 {
        return Err(node.corrupt("a node with an upper fence and no right sibling"));
    }
    check_ahead(node, sibling.at)?;
    // A link that is still being written can be lost, a separator that is posted over it cannot.
    let settled = (sibling.tag == Tag::Normal && !version.in_flight()).then_some(high);
    Ok(Some(Right { at: sibling.at, settled }))
}

/// Whether the node at `right`, a sibling of `node`, begins behind it: also one that is new, or being absorbed.
/// What a node begins with never changes, so that no chain of siblings runs in a circle.
fn check_ahead<M: Media, const W: usize>(node: &Node<'_, M, W>, right: u64) -> Result<()> {
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
        // Entries move right: scan that way. A child counts only if the next key is still too
        // large after it was read, else the slot was overwritten meanwhile.
        Direction::Right => (0..cap).find_map(|slot| {
            let next = || node.key_or_dead(slot + 1, fences.dead());
            if !is_within(node.key(slot)) || is_within(next()) {
                return None;
            }
            let child = node.value(slot);
            (!is_within(next())).then_some(child)
        }),
        // Entries move left: a child counts only if its key is still there after it was read.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Trail;
    use crate::Result;

    #[test]
    fn a_search_is_overtaken_any_number_of_times_and_goes_round_no_circle() -> Result<()> {
        let mut trail = Trail::default();
        (1..3 << 20).try_for_each(|node| trail.leave_obsolete(64 * node))?;
        for (before, len) in [(0, 1), (1, 1), (5, 2), (100, 7), (3, 1000)] {
            let mut trail = Trail::default();
            (1..=before).try_for_each(|node| trail.leave_obsolete(64 * node))?;
            let mut circle = (1..=len).cycle().map(|node| (1 << 30) + 64 * node);
            // Twice once around, from a landmark in it on, and once more before there is one.
            let steps = circle.position(|node| trail.leave_obsolete(node).is_err());
            assert!(steps.is_some_and(|steps| steps as u64 <= 3 * (before + len)));
        }
        Ok(())
    }
}
