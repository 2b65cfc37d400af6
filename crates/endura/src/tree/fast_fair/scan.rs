//! Scans, in both directions, leaf by leaf.
//!
//! A scan takes a seat in a quiet leaf: it remembers the leaf, its version, and the slot that comes
//! next. Each entry is read from its slot, and counts if the leaf is still what it was; if not, the
//! scan takes a new seat at the last key. So every entry was in the map at some moment of the call
//! that returned it, no key comes twice, and none that stayed in the map is passed over. Between
//! two calls nothing is pinned. In a leaf where a writer is at work every entry takes a look of its
//! own.
//!
//! A scan goes on by key, never by a remembered link. The parent's list of children says which
//! leaves come next: they are fetched ahead, and tried before a new descent.

use crate::Result;
use crate::media::Media;
use crate::pool::Guard;
use crate::tree::Way;

use super::Tree;
use super::node::{Fences, Node, route_key};
use super::route::Trail;
use super::search::{NodeKeys, Search};
use super::version::{Direction, Version};

/// How many coming leaves are noted at a time.
const AHEAD: usize = 8;

/// A place in a scan.
pub struct Cursor {
    way: Way,
    seat: Option<Seat>,
    /// Children of the parent that come after the leaf, nearest first; `passed` of `noted` are done.
    ahead: [u64; AHEAD],
    noted: usize,
    passed: usize,
    /// When they were noted.
    epoch: u64,
}

/// A place in a leaf that was quiet.
struct Seat {
    at: u64,
    version: Version,
    epoch: u64,
    fences: Fences,
    /// The next slot, and how many there are from it on in the direction of the scan.
    slot: usize,
    left: usize,
}

/// What a look at the next slot of a seat showed.
enum Look {
    Entry(u64, u64),
    /// The leaf has no more.
    End,
    /// The leaf has changed since the seat was taken.
    Changed,
}

impl Cursor {
    pub(super) fn new(way: Way) -> Self {
        Self { way, seat: None, ahead: [0; AHEAD], noted: 0, passed: 0, epoch: 0 }
    }

    fn ahead(&self) -> &[u64] {
        &self.ahead[self.passed..self.noted]
    }

    /// The key at which the next leaf begins.
    fn beyond(&self, fences: Fences) -> Option<u64> {
        match self.way {
            Way::Up => (fences.high != 0).then_some(fences.high),
            Way::Down => fences.low.checked_sub(1),
        }
    }
}

/// Whether a scan that has come to `key` still has `entry` before it.
#[inline(always)]
fn is_due(way: Way, entry: u64, key: u64) -> bool {
    if way == Way::Up { entry >= key } else { entry <= key }
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// How many leaves are fetched ahead of a scan: about 3 KiB of them (measured).
    const FETCH_AHEAD: usize = 3072usize.div_ceil(8 * LEAF);

    /// The entry nearest to `key` in the cursor's direction, `key` itself included.
    #[inline]
    pub(super) fn scan_entry(
        &self,
        cursor: &mut Cursor,
        mut key: u64,
    ) -> Result<Option<(u64, u64)>> {
        loop {
            let Some(seat) = &mut cursor.seat else {
                match self.take_seat(cursor, key)? {
                    Some(Ok(entry)) => return Ok(Some(entry)),
                    Some(Err(beyond)) => key = beyond,
                    None if cursor.seat.is_none() => return Ok(None),
                    None => {}
                }
                continue;
            };
            match self.look(seat, cursor.way) {
                Look::Entry(found, value) if is_due(cursor.way, found, key) => {
                    return Ok(Some((found, value)));
                }
                Look::Entry(..) => {}
                Look::Changed => cursor.seat = None,
                Look::End => {
                    let fences = seat.fences;
                    cursor.seat = None;
                    match cursor.beyond(fences) {
                        Some(beyond) => key = beyond,
                        None => return Ok(None),
                    }
                }
            }
        }
    }

    /// Reads the next slot of a seat and moves on.
    #[inline(always)]
    fn look(&self, seat: &mut Seat, way: Way) -> Look {
        loop {
            if seat.left == 0 {
                return Look::End;
            }
            let Ok(node) = Node::<M, LEAF>::fresh(self.space().media(), seat.at) else {
                return Look::Changed;
            };
            let slot = seat.slot;
            let (key, value) = (node.key(slot), node.value(slot));
            seat.left -= 1;
            // Of two copies of an entry the right one counts. (On the way down it came first, and
            // the left one is not due any more.)
            let is_copy = way == Way::Up && seat.left > 0 && node.key(slot + 1) == key;
            seat.slot = if way == Way::Up { slot + 1 } else { slot.wrapping_sub(1) };
            if seat.version != node.version().unlocked() || self.space().epoch() > seat.epoch + 1 {
                // Nothing that was reachable in one epoch is used again before the second after
                // it: up to there an unchanged version means an unchanged leaf.
                return Look::Changed;
            }
            if !is_copy {
                return Look::Entry(key, value);
            }
        }
    }

    /// Finds the leaf that covers `key` and takes a seat in it. If a writer is at work there: the
    /// entry nearest to `key`, or the key at which the next leaf begins, or neither at the end.
    #[inline(never)]
    fn take_seat(
        &self,
        cursor: &mut Cursor,
        key: u64,
    ) -> Result<Option<Result<(u64, u64), u64>>> {
        let guard = self.pin()?;
        let mut trail = Trail::default();
        let epoch = self.space().epoch();
        let at = match self.expected(&guard, cursor, key, epoch) {
            Some(at) => at,
            None => self.descend_for_scan(&guard, &mut trail, cursor, key, epoch)?,
        };
        let way = cursor.way;
        let seen = self.read_leaf(&guard, &mut trail, at, key, |node, fences, moving| {
            match moving {
                None => Ok(self.first_slot(node, fences, way, key)),
                Some(moving) => Err(nearest_while_moving(node, fences, (way, key), moving)),
            }
        })?;
        if seen.version.in_flight() && guard.media().needs_flush() {
            seen.node.help_flush();
        }
        let (fences, version) = (seen.fences, seen.version.unlocked());
        Ok(match seen.found {
            Ok((slot, left)) => {
                cursor.seat = Some(Seat { at: seen.node.at(), version, epoch, fences, slot, left });
                None
            }
            Err(Some(entry)) => Some(Ok(entry)),
            Err(None) => cursor.beyond(fences).map(Err),
        })
    }

    /// Where a scan begins in a quiet leaf, and how many slots there are from there on.
    fn first_slot(
        &self,
        node: &Node<'_, M, LEAF>,
        fences: Fences,
        way: Way,
        key: u64,
    ) -> (usize, usize) {
        let rank = |key| S::rank(&NodeKeys::new(node), fences.low, key);
        match way {
            Way::Up => {
                let before = key.checked_sub(1).filter(|&before| before >= fences.low);
                let slot = before.map_or(0, rank);
                (slot, self.live(node).saturating_sub(slot))
            }
            Way::Down => {
                let count = rank(key);
                (count.wrapping_sub(1), count)
            }
        }
    }

    /// The next leaf by the parent's list, if it is where `key` belongs.
    fn expected(
        &self,
        guard: &Guard<'_, M>,
        cursor: &mut Cursor,
        key: u64,
        epoch: u64,
    ) -> Option<u64> {
        let &at = cursor.ahead().first()?;
        // A move of the epoch that began before this pin may still come: one step is too far.
        if epoch != cursor.epoch {
            return None;
        }
        let node = Node::<M, LEAF>::enter(guard.media(), at, 0).ok()?;
        let fences = node.fences();
        if key < fences.low || !fences.is_below_high(key) {
            return None;
        }
        cursor.passed += 1;
        if let Some(&later) = cursor.ahead().get(Self::FETCH_AHEAD - 1) {
            guard.media().prefetch(later, 8 * LEAF as u64);
        }
        Some(at)
    }

    /// Descends to the leaf of `key` and notes which leaves follow it under the same parent.
    fn descend_for_scan(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        cursor: &mut Cursor,
        key: u64,
        epoch: u64,
    ) -> Result<u64> {
        (cursor.noted, cursor.passed, cursor.epoch) = (0, 0, epoch);
        let Some(parent) = self.descend(guard, trail, key, 1)? else {
            return Err(self.no_leaf());
        };
        match self.note_children(guard, cursor, parent, key)? {
            Some(leaf) => Ok(leaf),
            None => self.descend_to_leaf(guard, trail, key),
        }
    }

    /// Finds the child for `key` and notes those that come after it, and asks for the first of them.
    /// Read while the parent is quiet, they are leaves that this pin protects; `None` if it was not.
    fn note_children(
        &self,
        guard: &Guard<'_, M>,
        cursor: &mut Cursor,
        parent: u64,
        key: u64,
    ) -> Result<Option<u64>> {
        let node = Node::<M, INNER>::enter(guard.media(), parent, 1)?;
        let (version, fences) = (node.version(), node.fences());
        let generation = guard.space().generation();
        let is_quiet = !version.in_flight() && !version.is_obsolete(generation);
        if !is_quiet || !fences.is_below_high(key) || key < fences.low {
            return Ok(None);
        }
        let rank = S::rank(&NodeKeys::new(&node), fences.low, route_key(key));
        if rank == 0 {
            return Ok(None);
        }
        let leaf = node.value(rank - 1);
        guard.media().prefetch(leaf, 8 * LEAF as u64);
        let others = match cursor.way {
            Way::Up => self.live(&node).saturating_sub(rank),
            Way::Down => rank - 1,
        };
        let noted = others.min(AHEAD);
        for (i, ahead) in cursor.ahead[..noted].iter_mut().enumerate() {
            *ahead = node.value(if cursor.way == Way::Up { rank + i } else { rank - 2 - i });
        }
        if !version.is_same(node.version()) {
            return Ok(None);
        }
        cursor.noted = noted;
        for &later in cursor.ahead().iter().take(Self::FETCH_AHEAD) {
            guard.media().prefetch(later, 8 * LEAF as u64);
        }
        Ok(Some(leaf))
    }
}

/// The entry nearest to `key` of a leaf in which a writer is at work, found by scanning in the
/// direction of the moves.
#[cold]
fn nearest_while_moving<M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    fences: Fences,
    (way, key): (Way, u64),
    moving: Direction,
) -> Option<(u64, u64)> {
    let width = fences.last().wrapping_sub(fences.low);
    let is_live = |k: u64| k.wrapping_sub(fences.low) <= width;
    let mut nearest: Option<(u64, u64)> = None;
    let mut offer = |entry: (u64, u64)| {
        let is_nearer = |best: (u64, u64)| entry.0 != best.0 && is_due(way, best.0, entry.0);
        if is_due(way, entry.0, key) && nearest.is_none_or(is_nearer) {
            nearest = Some(entry);
        }
    };
    let cap = Node::<M, W>::CAP;
    match moving {
        // The copy to the right counts: a key that stands there too is taken there.
        Direction::Right => {
            for slot in 0..cap {
                let entry = (node.key(slot), node.value(slot));
                if is_live(entry.0) && node.key_or_dead(slot + 1, fences.dead()) != entry.0 {
                    offer(entry);
                }
            }
        }
        // A key that was overwritten after its value was read stands one to the left by now.
        Direction::Left => {
            for slot in (0..cap).rev() {
                let entry = (node.key(slot), node.value(slot));
                if is_live(entry.0) && node.key(slot) == entry.0 {
                    offer(entry);
                }
            }
        }
    }
    nearest
}
