//! Scans, in both directions, leaf by leaf.
//!
//! A scan copies a leaf in one consistent look and hands its entries out one by one. Before each
//! it asks whether the leaf is still as it was; if not, it looks again from the last key on. So
//! every entry was in the map at some moment of the call that returned it, no key comes twice, and
//! none that stayed in the map is passed over. Between two calls nothing is pinned.
//!
//! A scan goes on by key, never by a remembered link. The parent's list of children says which
//! leaves come next: they are fetched ahead, and tried before a new descent.

use crate::Result;
use crate::media::Media;
use crate::pool::Guard;

use super::Tree;
use super::node::{Fences, Node};
use super::route::Trail;
use super::search::{NodeKeys, Search};
use super::version::{Direction, Version};
use crate::tree::Way;

/// A place in a scan: the copy of a leaf, and what comes after it.
pub struct Cursor {
    way: Way,
    /// Entries in the order of the scan.
    entries: Vec<(u64, u64)>,
    next: usize,
    leaf: Option<Copied>,
    /// Children of the parent that come after the leaf, nearest first.
    ahead: Vec<u64>,
    passed: usize,
    /// When `ahead` was read.
    ahead_epoch: u64,
}

/// Which leaf was copied, and when.
struct Copied {
    at: u64,
    version: Version,
    fences: Fences,
    epoch: u64,
}

impl Cursor {
    pub(super) fn new(way: Way) -> Self {
        Self {
            way,
            entries: Vec::new(),
            next: 0,
            leaf: None,
            ahead: Vec::new(),
            passed: 0,
            ahead_epoch: 0,
        }
    }
}

impl<M: Media, const INNER: usize, const LEAF: usize, S: Search> Tree<M, INNER, LEAF, S> {
    /// How many leaves are fetched ahead of a scan: about 3 KiB of them (measured).
    const FETCH_AHEAD: usize = 3072 / (8 * LEAF) + (3072 % (8 * LEAF) != 0) as usize;

    /// The entry nearest to `key` in the cursor's direction, `key` itself included.
    #[inline]
    pub(super) fn scan_entry(
        &self,
        cursor: &mut Cursor,
        mut key: u64,
    ) -> Result<Option<(u64, u64)>> {
        loop {
            if !cursor.leaf.as_ref().is_some_and(|leaf| self.is_unchanged(leaf)) {
                self.refill(cursor, key)?;
            }
            while let Some(&entry) = cursor.entries.get(cursor.next) {
                cursor.next += 1;
                let is_due = match cursor.way {
                    Way::Up => entry.0 >= key,
                    Way::Down => entry.0 <= key,
                };
                if is_due {
                    return Ok(Some(entry));
                }
            }
            let fences = cursor.leaf.take().map(|leaf| leaf.fences);
            let beyond = fences.and_then(|fences| match cursor.way {
                Way::Up => (fences.high != 0).then_some(fences.high),
                Way::Down => fences.low.checked_sub(1),
            });
            match beyond {
                Some(beyond) => key = beyond,
                None => return Ok(None),
            }
        }
    }

    /// Whether the leaf is still what it was when it was copied, entry by entry.
    #[inline]
    fn is_unchanged(&self, leaf: &Copied) -> bool {
        let Ok(node) = Node::<M, LEAF>::enter(self.space().media(), leaf.at, 0) else {
            return false;
        };
        !leaf.version.in_flight()
            && leaf.version == node.version().unlocked()
            // Nothing that was reachable in one epoch is used again before the second after it.
            && self.space().epoch() <= leaf.epoch + 1
    }

    /// Copies the leaf that covers `key`.
    fn refill(&self, cursor: &mut Cursor, key: u64) -> Result<()> {
        let guard = self.pin()?;
        let mut trail = Trail::default();
        let epoch = self.space().epoch();
        let at = match self.expected(&guard, cursor, key, epoch) {
            Some(at) => at,
            None => self.descend_for_scan(&guard, &mut trail, cursor, key, epoch)?,
        };
        let way = cursor.way;
        let entries = &mut cursor.entries;
        let seen = self.read_leaf(&guard, &mut trail, at, key, |node, fences, moving| {
            entries.clear();
            match (way, moving) {
                (Way::Up, None) => copy_up::<M, LEAF, S>(node, fences, key, entries),
                (Way::Down, None) => copy_down::<M, LEAF, S>(node, fences, key, entries),
                (_, Some(moving)) => copy_moving(node, fences, (way, key), moving, entries),
            }
        })?;
        if seen.version.in_flight() && guard.media().needs_flush() {
            seen.node.help_flush();
        }
        cursor.leaf = Some(Copied {
            at: seen.node.at(),
            version: seen.version.unlocked(),
            fences: seen.fences,
            epoch,
        });
        cursor.next = 0;
        Ok(())
    }

    /// The next leaf by the parent's list, if it is no later than where `key` belongs.
    fn expected(
        &self,
        guard: &Guard<'_, M>,
        cursor: &mut Cursor,
        key: u64,
        epoch: u64,
    ) -> Option<u64> {
        let &at = cursor.ahead.get(cursor.passed)?;
        // A move of the epoch that began before this pin may still come: one step is too far.
        if epoch != cursor.ahead_epoch {
            return None;
        }
        let node = Node::<M, LEAF>::enter(guard.media(), at, 0).ok()?;
        let fences = node.fences();
        if key < fences.low || !fences.is_below_high(key) {
            return None;
        }
        cursor.passed += 1;
        if let Some(&later) = cursor.ahead.get(cursor.passed + Self::FETCH_AHEAD - 1) {
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
        cursor.ahead.clear();
        cursor.passed = 0;
        cursor.ahead_epoch = epoch;
        if let Some(parent) = self.descend(guard, trail, key, 1)? {
            self.note_children(guard, cursor, parent, key)?;
        }
        self.descend_to_leaf(guard, trail, key)
    }

    /// Reads the children that come after the one for `key`, and asks for the first of them. Read
    /// while the parent is quiet, they are leaves that this pin protects.
    fn note_children(
        &self,
        guard: &Guard<'_, M>,
        cursor: &mut Cursor,
        parent: u64,
        key: u64,
    ) -> Result<()> {
        let node = Node::<M, INNER>::enter(guard.media(), parent, 1)?;
        let (version, fences) = (node.version(), node.fences());
        if version.in_flight() || version.is_obsolete(guard.space().generation()) {
            return Ok(());
        }
        let rank = S::rank(&NodeKeys::new(&node), fences.low, super::node::route_key(key));
        match cursor.way {
            Way::Up => cursor.ahead.extend((rank..self.live(&node)).map(|slot| node.value(slot))),
            Way::Down => {
                let before = 0..rank.saturating_sub(1);
                cursor.ahead.extend(before.rev().map(|slot| node.value(slot)));
            }
        }
        if !version.is_same(node.version()) {
            cursor.ahead.clear();
        }
        for &leaf in cursor.ahead.iter().take(Self::FETCH_AHEAD) {
            guard.media().prefetch(leaf, 8 * LEAF as u64);
        }
        Ok(())
    }
}

/// The entries at or above `key` of a quiet leaf.
fn copy_up<M: Media, const W: usize, S: Search>(
    node: &Node<'_, M, W>,
    fences: Fences,
    key: u64,
    entries: &mut Vec<(u64, u64)>,
) {
    let from = match key.checked_sub(1) {
        Some(before) if before >= fences.low => S::rank(&NodeKeys::new(node), fences.low, before),
        _ => 0,
    };
    let width = fences.last().wrapping_sub(fences.low);
    for slot in from..Node::<M, W>::CAP {
        let found = node.key(slot);
        if found.wrapping_sub(fences.low) > width {
            break;
        }
        push(entries, (found, node.value(slot)));
    }
}

/// The entries at or below `key` of a quiet leaf, largest first.
fn copy_down<M: Media, const W: usize, S: Search>(
    node: &Node<'_, M, W>,
    fences: Fences,
    key: u64,
    entries: &mut Vec<(u64, u64)>,
) {
    let rank = S::rank(&NodeKeys::new(node), fences.low, key);
    for slot in (0..rank).rev() {
        let found = node.key(slot);
        // Of two copies of an entry the right one counts, which came first here.
        if entries.last().is_none_or(|last| last.0 != found) {
            entries.push((found, node.value(slot)));
        }
    }
}

/// The entries of a leaf in which a writer is at work, scanned in the direction of the moves.
#[cold]
fn copy_moving<M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    fences: Fences,
    (way, key): (Way, u64),
    moving: Direction,
    entries: &mut Vec<(u64, u64)>,
) {
    let width = fences.last().wrapping_sub(fences.low);
    let is_live = |k: u64| k.wrapping_sub(fences.low) <= width;
    match moving {
        Direction::Right => {
            for slot in 0..Node::<M, W>::CAP {
                let found = node.key(slot);
                if !is_live(found) {
                    break;
                }
                let value = node.value(slot);
                // Still alone after its value was read: else the copy to the right counts.
                if node.key_or_dead(slot + 1, fences.dead()) != found {
                    push(entries, (found, value));
                }
            }
        }
        Direction::Left => {
            for slot in (0..Node::<M, W>::CAP).rev() {
                let found = node.key(slot);
                let value = node.value(slot);
                let is_new = entries.last().is_none_or(|last| last.0 != found);
                if is_live(found) && is_new && node.key(slot) == found {
                    entries.push((found, value));
                }
            }
            entries.reverse();
        }
    }
    entries.retain(|&(k, _)| if way == Way::Up { k >= key } else { k <= key });
    if way == Way::Down {
        entries.reverse();
    }
}

/// Appends an entry; a second copy of the last one takes its place.
#[inline]
fn push(entries: &mut Vec<(u64, u64)>, entry: (u64, u64)) {
    match entries.last_mut() {
        Some(last) if last.0 == entry.0 => *last = entry,
        _ => entries.push(entry),
    }
}
