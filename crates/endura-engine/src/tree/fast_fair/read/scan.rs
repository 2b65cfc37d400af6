//! Scans, in both directions, leaf by leaf.
//!
//! A scan takes a seat in a quiet leaf: it remembers the leaf, its version, and the next slot. It reads the first entry
//! under the pin that found the leaf, and every later entry from its slot, without a pin. Such an entry counts if the
//! leaf is unchanged. If the leaf has changed, the scan takes a new seat, at the last key. So every entry was in the
//! map at some moment of the call that returned it, no key is returned twice, and no key that stayed in the map is
//! skipped. Between two calls nothing is pinned. In a leaf where a writer is at work, every entry needs a search of its
//! own. So does every entry inside a long pin of the caller's, where a seat may be void as soon as it is taken. Each
//! descent returns an entry or passes a leaf, so that no scan loops for ever.
//!
//! A scan also detects damage in what it passes: an entry out of order in a quiet leaf, a dead slot with a key that no
//! writer leaves there, and a leaf that does not begin where the one before it ends. Each of these would hide entries.
//!
//! A scan continues by key, never by a remembered link. The list of children in the parent names the leaves that
//! probably come next. The scan prefetches them, and tries them before it descends again.

use crate::media::Media;
use crate::space::{Guard, Seat, Space};
use crate::tree::index::OUT_OF_ORDER;
use crate::{Error, Result};

use crate::tree::fast_fair::nodes::header::{Fences, route_key};
use crate::tree::fast_fair::nodes::lock_word::{Direction, LockWord};
use crate::tree::fast_fair::nodes::node::Node;
use crate::tree::fast_fair::nodes::search::{STRIDE, Search, rank};
use crate::tree::fast_fair::path::trail::Trail;
use crate::tree::fast_fair::tree::Tree;

/// The most following leaves that a cursor notes at a time.
const AHEAD: usize = 8;

/// A leaf, and the version at which the scan knows the order of its entries.
#[derive(Debug, Clone, Copy, Default)]
struct LeafVersion {
    at: u64,
    version: LockWord,
}

/// A position in a scan in one direction. A new cursor starts at the key of its first call.
#[derive(Default)]
pub struct Cursor {
    seat: Seat<LeafVersion>,
    /// The fences of the leaf of the seat, if there is one.
    fences: Option<Fences>,
    /// The next slot, and the slot after the last, in the direction of the scan. Each is the distance in words of its
    /// key from the first key. Only `next` changes from entry to entry.
    next: usize,
    end: usize,
    /// The children of the parent that follow this leaf, nearest first. There are `noted` of them, of which the scan
    /// has passed `passed`.
    ahead: Seat<[u64; AHEAD]>,
    noted: usize,
    passed: usize,
}

impl Cursor {
    /// The following leaves, if the note is still valid.
    fn ahead<M: Media>(&self, guard: &Guard<'_, M>) -> Option<&[u64]> {
        self.ahead.within(guard).map(|ahead| &ahead[self.passed..self.noted])
    }

    /// The error for an entry that is not where its key should be.
    #[cold]
    pub(crate) fn out_of_order<M: Media>(&self, space: &Space<M>) -> Error {
        let offset = self.seat.look(space, |place| Some(place.at)).unwrap_or_default();
        Error::Corrupt { offset, what: OUT_OF_ORDER }
    }

    fn stand_up(&mut self) {
        (self.fences, self.end) = (None, self.next);
    }

    /// Whether the seat has entries left.
    #[inline(always)]
    fn is_seated(&self) -> bool {
        self.next != self.end
    }

    /// The words of the slots that the seat has left.
    #[inline(always)]
    fn left<const UP: bool>(&self) -> usize {
        if UP { self.end.wrapping_sub(self.next) } else { self.next.wrapping_sub(self.end) }
    }

    #[inline(always)]
    fn pass_slot<const UP: bool>(&mut self) {
        self.next = beside::<UP>(self.next, 1);
    }
}

/// The slot that is `slots` slots after the one at `words`, in the direction of the scan; both as distances in words.
#[inline(always)]
fn beside<const UP: bool>(words: usize, slots: usize) -> usize {
    let ahead = STRIDE * slots;
    if UP { words.wrapping_add(ahead) } else { words.wrapping_sub(ahead) }
}

/// The key at which the next leaf starts.
pub(crate) fn beyond<const UP: bool>(fences: Fences) -> Option<u64> {
    if UP { (fences.high != 0).then_some(fences.high) } else { fences.low.checked_sub(1) }
}

/// Whether a scan enters the leaf with these fences at `key`.
#[inline(always)]
fn begins_at<const UP: bool>(fences: Fences, key: u64) -> bool {
    if UP { fences.low == key } else { fences.high.wrapping_sub(1) == key }
}

/// Whether `entry` is still ahead of a scan that has reached `key`.
#[inline(always)]
fn is_due<const UP: bool>(entry: u64, key: u64) -> bool {
    if UP { entry >= key } else { entry <= key }
}

/// The result of a scan in a leaf.
enum LeafScan {
    /// The nearest entry.
    Entry(u64, u64),
    /// No entry; the key at which the next leaf starts.
    Nothing(Option<u64>),
}

/// The start of a scan in a quiet leaf.
pub(crate) struct Start {
    /// The next slot, and the number of slots from it on.
    slot: usize,
    left: usize,
    /// The entry of that slot, if there is one.
    pub(crate) entry: Option<(u64, u64)>,
    /// Whether the slot after the last live one has a key that no writer leaves in a dead slot.
    has_strange_end: bool,
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// The number of leaves prefetched ahead of a scan: about 1 KiB. The scan takes longer to read that many leaves
    /// than the next leaves take to arrive. More prefetches would be useless, and would cost bandwidth.
    const FETCH_AHEAD: usize = 1024usize.div_ceil(8 * LEAF);

    /// Reads the next slot of the seat and advances. If the leaf has changed, gives up the seat and returns `None`.
    #[inline(always)]
    pub(crate) fn read_seat<const UP: bool>(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        if !cursor.is_seated() {
            return None;
        }
        let next = cursor.next;
        let seen = cursor.seat.look(self.open.space(), |place| {
            let node = Node::<M, LEAF>::again(self.open.space().media(), place.at)?;
            let entry = node.peek_entry(next)?;
            node.is_still(place.version).then_some(entry)
        });
        match seen {
            Some(_) => cursor.pass_slot::<UP>(),
            None => cursor.stand_up(),
        }
        seen
    }

    /// Reads the next slots of the seat, as many as `entries` has space for and the leaf has left, and advances. Returns
    /// how many. If the leaf has changed, gives up the seat and returns 0.
    #[inline(always)]
    pub(crate) fn read_seats<const UP: bool>(
        &self,
        cursor: &mut Cursor,
        entries: &mut [(u64, u64)],
    ) -> usize {
        let next = cursor.next;
        let count = entries.len().min(cursor.left::<UP>() / STRIDE);
        if count == 0 {
            return 0;
        }
        let seen = cursor.seat.look(self.open.space(), |place| {
            let node = Node::<M, LEAF>::again(self.open.space().media(), place.at)?;
            for (i, entry) in entries[..count].iter_mut().enumerate() {
                *entry = node.peek_entry(beside::<UP>(next, i))?;
            }
            node.is_still(place.version).then_some(())
        });
        if seen.is_none() {
            cursor.stand_up();
            return 0;
        }
        cursor.next = beside::<UP>(next, count);
        count
    }

    /// The value that is `entries` slots after the next one of the seat. It may be any word by now.
    #[inline(always)]
    pub(crate) fn value_ahead<const UP: bool>(
        &self,
        cursor: &Cursor,
        entries: usize,
    ) -> Option<u64> {
        let next = cursor.next;
        if cursor.left::<UP>() <= STRIDE * entries {
            return None;
        }
        cursor.seat.look(self.open.space(), |place| {
            let node = Node::<M, LEAF>::again(self.open.space().media(), place.at)?;
            node.peek_entry(beside::<UP>(next, entries)).map(|(_, value)| value)
        })
    }

    /// The entry nearest to `key` in the direction of the scan, `key` itself included.
    #[inline(never)]
    pub(crate) fn scan<const UP: bool>(
        &self,
        cursor: &mut Cursor,
        mut key: u64,
    ) -> Result<Option<(u64, u64)>> {
        loop {
            while cursor.is_seated() {
                match self.read_seat::<UP>(cursor) {
                    Some(entry) if is_due::<UP>(entry.0, key) => return Ok(Some(entry)),
                    Some(_) => return Err(cursor.out_of_order(self.open.space())),
                    None => {}
                }
            }
            if let Some(fences) = cursor.fences {
                match beyond::<UP>(fences) {
                    Some(beyond) => key = beyond,
                    None => return Ok(None),
                }
            }
            match self.take_seat::<UP>(cursor, key)? {
                LeafScan::Entry(key, value) => return Ok(Some((key, value))),
                LeafScan::Nothing(Some(beyond)) => key = beyond,
                LeafScan::Nothing(None) => return Ok(None),
            }
        }
    }

    /// Finds the leaf that covers `key` and the entry nearest to it. Takes a seat for the entries that follow, unless a
    /// writer is at work there.
    fn take_seat<const UP: bool>(&self, cursor: &mut Cursor, key: u64) -> Result<LeafScan> {
        let is_border = cursor.fences.is_some();
        cursor.stand_up();
        let guard = self.open.pin()?;
        let mut trail = Trail::default();
        let generation = self.open.space().generation();
        let expected = self.expected::<UP>(&guard, cursor, key);
        let at = match expected {
            Some(at) => at,
            None => self.descend_for_scan::<UP>(&guard, &mut trail, cursor, key)?,
        };
        let seen = self.read_leaf(&guard, &mut trail, at, key, |node, fences, moving| {
            let count = self.live(node);
            match moving {
                None if !has_copies(node, count, generation) => {
                    Ok(first_slot::<UP, M, LEAF, S>(node, fences, count, key))
                }
                moving => {
                    let moving = moving.unwrap_or(Direction::Right);
                    Err(nearest_while_moving::<UP, M, LEAF>(node, fences, key, moving))
                }
            }
        })?;
        if seen.version.in_flight() && guard.media().needs_flush() {
            seen.node.help_flush();
        }
        if expected.is_none() && is_border && !begins_at::<UP>(seen.fences, key) {
            self.check_border(cursor, &seen.node)?;
        }
        let entry = match seen.found {
            Ok(Start { has_strange_end: true, .. }) => {
                return Err(seen
                    .node
                    .corrupt("a dead slot with a key that no writer leaves there"));
            }
            Ok(Start { slot, left, entry, .. }) => {
                let place = LeafVersion { at: seen.node.at(), version: seen.version.unlocked() };
                (cursor.seat, cursor.fences) = (Seat::take(&guard, place), Some(seen.fences));
                let next = slot.wrapping_mul(STRIDE);
                (cursor.next, cursor.end) = (next, beside::<UP>(next, left));
                if entry.is_some() {
                    cursor.pass_slot::<UP>();
                }
                entry
            }
            Err(nearest) => nearest,
        };
        Ok(match entry {
            Some((key, value)) => LeafScan::Entry(key, value),
            None => LeafScan::Nothing(beyond::<UP>(seen.fences)),
        })
    }

    /// Called if a scan continued from the leaf of its seat to the leaf that covers the next key, and that leaf does
    /// not begin at this key. If the leaf of the seat is still unchanged, both leaves own the keys in between, which
    /// merges and splits avoid.
    ///
    /// The leaf of the seat may be in the middle of a merge into its left neighbour: when the upper fence of the
    /// neighbour moves (M4), nothing has changed in the leaf itself except for MERGING. MERGING was set before the
    /// fence moved (M1), and the fence was read with Acquire. So the check below sees MERGING, or a later state of the
    /// lock word.
    #[cold]
    fn check_border(&self, cursor: &Cursor, next: &Node<'_, M, LEAF>) -> Result<()> {
        let unchanged = cursor.seat.look(self.open.space(), |place| {
            let node = Node::<M, LEAF>::again(self.open.space().media(), place.at)?;
            let is_leaving = node.version().is_leaving(self.open.space().generation());
            (place.at != next.at() && !is_leaving && node.is_still(place.version)).then_some(())
        });
        match unchanged {
            Some(()) => Err(next.corrupt("a leaf that does not begin where its neighbour ends")),
            None => Ok(()),
        }
    }

    /// The next leaf in the parent's list, if it begins at `key`.
    fn expected<const UP: bool>(
        &self,
        guard: &Guard<'_, M>,
        cursor: &mut Cursor,
        key: u64,
    ) -> Option<u64> {
        let &at = cursor.ahead(guard)?.first()?;
        let node = Node::<M, LEAF>::enter(guard.media(), at, 0).ok()?;
        if !begins_at::<UP>(node.fences(), key) {
            return None;
        }
        cursor.passed += 1;
        if let Some(&later) = cursor.ahead(guard)?.get(Self::FETCH_AHEAD - 1) {
            guard.media().prefetch(later, 8 * LEAF as u64);
        }
        Some(at)
    }

    /// Descends to the leaf of `key`, and notes the leaves that follow it under the same parent.
    fn descend_for_scan<const UP: bool>(
        &self,
        guard: &Guard<'_, M>,
        trail: &mut Trail,
        cursor: &mut Cursor,
        key: u64,
    ) -> Result<u64> {
        (cursor.noted, cursor.passed) = (0, 0);
        let Some(parent) = self.descend(guard, trail, key, 1)? else {
            return Err(self.no_leaf());
        };
        match self.note_children::<UP>(guard, cursor, parent, key)? {
            Some(leaf) => Ok(leaf),
            None => self.descend_to_leaf(guard, trail, key),
        }
    }

    /// Finds the child for `key`, notes the children after it, and prefetches the first of them. Children that are read
    /// while the parent is quiet are leaves that this pin protects. `None` if the parent was not quiet, or does not
    /// cover `key`.
    fn note_children<const UP: bool>(
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
        let rank = rank::<S, _, _>(&node, fences, route_key(key));
        if rank == 0 {
            return Ok(None);
        }
        let leaf = node.value(rank - 1);
        guard.media().prefetch(leaf, 8 * LEAF as u64);
        let others = if UP { self.live(&node).saturating_sub(rank) } else { rank - 1 };
        let noted = others.min(AHEAD);
        let mut ahead = [0; AHEAD];
        for (i, ahead) in ahead[..noted].iter_mut().enumerate() {
            *ahead = node.value(if UP { rank + i } else { rank - 2 - i });
        }
        if !node.confirms(version) {
            return Ok(None);
        }
        for &later in ahead[..noted].iter().take(Self::FETCH_AHEAD) {
            guard.media().prefetch(later, 8 * LEAF as u64);
        }
        (cursor.ahead, cursor.noted) = (Seat::take(guard, ahead), noted);
        Ok(Some(leaf))
    }
}

/// The start of a scan in a quiet leaf of `count` entries.
pub(crate) fn first_slot<const UP: bool, M: Media, const W: usize, S: Search>(
    node: &Node<'_, M, W>,
    fences: Fences,
    count: usize,
    key: u64,
) -> Start {
    let rank = |key| rank::<S, _, _>(node, fences, key);
    let (slot, left) = if UP {
        let before = key.checked_sub(1).filter(|&before| before >= fences.low);
        let slot = before.map_or(0, rank);
        (slot, count.saturating_sub(slot))
    } else {
        let count = rank(key);
        (count.wrapping_sub(1), count)
    };
    let entry = if left > 0 { node.peek_entry(slot.wrapping_mul(STRIDE)) } else { None };
    Start { slot, left, entry, has_strange_end: has_strange_end(node, fences, count) }
}

/// Whether the first dead slot of a quiet leaf has a key that no writer leaves in a dead slot: one below `low`, except
/// `low - 1`. Writers leave two kinds of keys there: [`Fences::dead`], which is `low - 1` in the last leaf, and keys at
/// or above `high`, which a split left there.
#[inline(always)]
fn has_strange_end<M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    fences: Fences,
    count: usize,
) -> bool {
    count < Node::<M, W>::CAP && {
        let key = node.peek_key(count);
        key < fences.low && key != fences.low.wrapping_sub(1)
    }
}

/// Whether an interrupted session left two copies of an entry in a quiet leaf. No writer of this session leaves copies.
/// The leaf keeps them until a writer changes its version.
pub(crate) fn has_copies<M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    count: usize,
    generation: u64,
) -> bool {
    !node.version().is_current(generation)
        && (1..count).any(|slot| node.peek_key(slot - 1) == node.peek_key(slot))
}

/// The entry nearest to `key` in a leaf on which a writer is, or was, at work, found by scanning in the direction of
/// the moves.
#[cold]
pub(crate) fn nearest_while_moving<const UP: bool, M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    fences: Fences,
    key: u64,
    moving: Direction,
) -> Option<(u64, u64)> {
    let width = fences.last().wrapping_sub(fences.low);
    let is_live = |k: u64| k.wrapping_sub(fences.low) <= width;
    let mut nearest: Option<(u64, u64)> = None;
    let mut offer = |entry: (u64, u64)| {
        let is_nearer = |best: (u64, u64)| entry.0 != best.0 && is_due::<UP>(best.0, entry.0);
        if is_due::<UP>(entry.0, key) && nearest.is_none_or(is_nearer) {
            nearest = Some(entry);
        }
    };
    let cap = Node::<M, W>::CAP;
    match moving {
        // Of two copies of a key, the one on the right counts: a key that is also in the next slot is read there.
        Direction::Right => {
            for slot in 0..cap {
                let entry = (node.key(slot), node.value(slot));
                if is_live(entry.0) && node.key_or_dead(slot + 1, fences.dead()) != entry.0 {
                    offer(entry);
                }
            }
        }
        // A key that was overwritten after its value was read is now one slot to the left.
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
