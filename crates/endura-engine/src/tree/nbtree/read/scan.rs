//! Scans: leaf by leaf, in either direction.
//!
//! A leaf is not sorted. A scan that enters a leaf notes the slots in the order of their keys, and reads each entry
//! from its slot when the entry is due, so that the entry exists at that moment. The order is valid while the control
//! word of the leaf is the same, because then no slot was claimed and nothing was frozen. The order also expires with
//! the second epoch after it was made. Until then the memory still holds this leaf, so that a slot has the key that it
//! had when the order was made, or none. If a claimed slot may still become an entry that the order lacks, the order
//! serves one call only. Otherwise the leaf also keeps the order for the next scan
//! ([`key_order`](crate::tree::nbtree::metadata::key_order)).
//!
//! Between two calls nothing is pinned, and while the order is valid an entry needs no pin either
//! ([`read_seat`](Tree::read_seat)). The next leaf is prefetched. Mostly it is a child of the same body as the current
//! leaf, and then the scan continues in it without a descent.

use std::marker::PhantomData;

use crate::cpu::prefetch::prefetch;
use crate::cpu::small_sort::MOST;
use crate::media::Media;
use crate::space::{Guard, Seat, Space};
use crate::tree::index::OUT_OF_ORDER;
use crate::{Error, Result};

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::keys::form::{Extent, KeyForm};
use crate::tree::nbtree::keys::key::{Local, PARTITIONS, join, split};
use crate::tree::nbtree::keys::numbers::NumberKeys;
use crate::tree::nbtree::metadata::control::Control;
use crate::tree::nbtree::metadata::descend::Turn;
use crate::tree::nbtree::metadata::leaf::Leaf;
use crate::tree::nbtree::read::lookup::CurrentLeaf;
use crate::tree::nbtree::read::order::Order;
use crate::tree::nbtree::tree::Tree;

/// A position in a scan in one direction.
#[derive(Debug, Default)]
pub struct Cursor {
    seat: Seat<Row>,
    /// The last step of the path to the leaf.
    turn: Seat<Turn>,
    /// The order of the leaf, in the direction of the scan.
    order: Order,
    /// The number of slots already returned.
    passed: usize,
}

impl Cursor {
    /// The error for an entry that is not where its key should be.
    #[cold]
    pub(crate) fn out_of_order<M: Media>(&self, space: &Space<M>) -> Error {
        let offset = self.seat.look(space, |row| Some(row.block)).unwrap_or_default();
        Error::Corrupt { offset, what: OUT_OF_ORDER }
    }
}

/// The leaf whose order a cursor has.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    partition: usize,
    leaf: u32,
    block: u64,
    control: Control,
}

/// Where a scan continues.
enum ScanStep {
    Entry(u64, u64),
    /// The leaf has no more entries; the next leaf covers this key.
    Beyond(Option<u64>),
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design<Keys = NumberKeys>>
    Tree<M, W, FANOUT, D>
{
    /// The next entry in the cursor's order, if the order is valid and no writer is in flight in the leaf. Needs no
    /// pin.
    #[inline(always)]
    pub(crate) fn read_seat(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        let slot = cursor.order.get(cursor.passed)?;
        let seen = cursor.seat.look(self.open.space(), |row| {
            let leaf = self.meta.leaves.get_made(row.leaf)?;
            let media = self.open.space().media();
            let block = Block::<M, W, D::Keys>::within(media, row.block)?;
            let (word, value) = (block.word(slot), block.value(slot));
            let key = word.live_key()?;
            // The two words of the leaf are read after the words of the slot, and before the epoch: all these loads are
            // Acquire.
            let counts =
                !(media.needs_flush() && leaf.is_in_flight()) && leaf.control() == row.control;
            counts.then(|| (join(row.partition, key), value))
        })?;
        cursor.passed += 1;
        Some(seen)
    }

    /// Does what [`read_seat`](Self::read_seat) does, for as many entries as `entries` has space for and the order has in a
    /// row. Returns how many.
    #[inline(always)]
    pub(crate) fn read_seats(&self, cursor: &mut Cursor, entries: &mut [(u64, u64)]) -> usize {
        let (order, passed) = (&cursor.order, cursor.passed);
        let seen = cursor.seat.look(self.open.space(), |row| {
            let leaf = self.meta.leaves.get_made(row.leaf)?;
            let media = self.open.space().media();
            let block = Block::<M, W, D::Keys>::within(media, row.block)?;
            let mut read = 0;
            for entry in entries.iter_mut() {
                let Some(slot) = order.get(passed + read) else { break };
                let (word, value) = (block.word(slot), block.value(slot));
                let Some(key) = word.live_key() else { break };
                *entry = (join(row.partition, key), value);
                read += 1;
            }
            // As in `read_seat`: the words of the leaf are read after those of all slots.
            let counts =
                !(media.needs_flush() && leaf.is_in_flight()) && leaf.control() == row.control;
            counts.then_some(read)
        });
        let read = seen.unwrap_or(0);
        cursor.passed += read;
        read
    }

    /// The value that is `entries` entries after the next one of the cursor's order. It may be any word by now.
    #[inline(always)]
    pub(crate) fn value_ahead(&self, cursor: &Cursor, entries: usize) -> Option<u64> {
        let at = cursor.passed + entries;
        let slot = if at < MOST { cursor.order.get(at)? } else { return None };
        cursor.seat.look(self.open.space(), |row| {
            Block::<M, W, D::Keys>::within(self.open.space().media(), row.block)
                .map(|block| block.value(slot))
        })
    }

    /// The entry nearest to `key` in the direction of the scan, `key` included.
    #[inline(never)]
    pub(crate) fn scan<const UP: bool>(
        &self,
        cursor: &mut Cursor,
        key: u64,
    ) -> Result<Option<(u64, u64)>> {
        let mut next = Some(key);
        while let Some(key) = next {
            self.prepare(split(key).0)?;
            // One pin per leaf: a scan over many removed entries must not hold up the epoch.
            let guard = self.open.pin()?;
            match self.scan_leaf::<UP>(&guard, cursor, key)? {
                ScanStep::Entry(key, value) => return Ok(Some((key, value))),
                ScanStep::Beyond(beyond) => next = beyond,
            }
        }
        Ok(None)
    }

    fn scan_leaf<const UP: bool>(
        &self,
        guard: &Guard<'_, M>,
        cursor: &mut Cursor,
        key: u64,
    ) -> Result<ScanStep> {
        let (partition, local) = split(key);
        let place = match self.seated(guard, cursor, partition, local)? {
            Some(place) => place,
            None => self.sit_down::<UP>(guard, cursor, partition, local)?,
        };
        let mut answer = None;
        while let Some(slot) = cursor.order.get(cursor.passed) {
            cursor.passed += 1;
            let is_due = |key| if UP { key >= local } else { key <= local };
            if let Some(key) = place.block.word(slot).live_key()
                && is_due(key)
            {
                answer = Some((key, place.block.value(slot)));
                break;
            }
        }
        if guard.media().needs_flush() && place.leaf.is_in_flight() {
            // The result rests also on every slot that was skipped.
            place.block.help_flush();
        }
        Ok(match answer {
            Some((key, value)) => ScanStep::Entry(join(partition, key), value),
            None => {
                cursor.seat.leave();
                ScanStep::Beyond(beyond::<UP>(partition, place.leaf.extent()))
            }
        })
    }

    /// The leaf of the cursor's order, if the order is still valid and the leaf covers `key`.
    fn seated<'g>(
        &'g self,
        guard: &'g Guard<'_, M>,
        cursor: &mut Cursor,
        partition: usize,
        key: Local,
    ) -> Result<Option<CurrentLeaf<'g, 'g, M, W, D>>> {
        // The caller has a pin, but the weaker rule of a look without a pin is enough. The epoch, read after the words
        // of the leaf, shows that the memory still held this leaf when they were read. The control word shows that the
        // removal of the leaf had not begun. A thread that removes a leaf first closes it, then unlinks it, and then
        // reads the tag with which it retires the leaf. So the load of the control word preceded the unlink, and from
        // then on this pin protects the leaf and its block, as if the scan had descended to them.
        let row = cursor.seat.look(self.open.space(), |row| {
            let leaf = self.meta.leaves.get_made(row.leaf)?;
            let counts = row.partition == partition
                && leaf.control() == row.control
                && leaf.successor() == 0
                && covers(leaf, key);
            counts.then_some(*row)
        });
        let Some(row) = row else { return Ok(None) };
        let leaf = self.meta.leaves.get(row.leaf);
        let block = Block::at(guard.media(), row.block)?;
        Ok(Some(CurrentLeaf { number: row.leaf, leaf, block, design: PhantomData }))
    }

    /// The last step of the path to the next leaf, if this leaf covers `key` and is a child of the same body as the
    /// cursor's leaf.
    #[inline(always)]
    fn next_turn<const UP: bool>(
        &self,
        guard: &Guard<'_, M>,
        cursor: &mut Cursor,
        partition: usize,
        key: Local,
    ) -> Option<Turn> {
        // A body never changes, but it may have been replaced. That shows in the leaf: it has a successor before the
        // inner nodes stop leading to it. So a leaf without a successor is as good as one to which the scan has just
        // descended. (Without `within` the body might belong to another partition by now, and lead to a leaf that
        // covers an equal local key. This would require a reuse of exactly this body number, which no test causes.)
        let last = cursor.turn.within(guard).filter(|last| last.partition == partition)?;
        let turn = self.meta.turn_beside::<UP>(*last)?;
        let leaf = self.meta.leaves.get(self.meta.leaf_at(turn).0);
        let is_it = leaf.successor() == 0 && covers(leaf, key);
        cursor.turn = cursor.turn.onward(turn);
        is_it.then_some(turn)
    }

    /// Finds the leaf that covers `key`, and the order of its entries.
    fn sit_down<'g, const UP: bool>(
        &'g self,
        guard: &'g Guard<'_, M>,
        cursor: &mut Cursor,
        partition: usize,
        key: Local,
    ) -> Result<CurrentLeaf<'g, 'g, M, W, D>> {
        let turn = match self.next_turn::<UP>(guard, cursor, partition, key) {
            Some(turn) => turn,
            None => {
                let top = self.top(partition)?;
                let turn = self.meta.descend_to_turn(guard.media(), partition, top, key);
                cursor.turn = Seat::take(guard, turn);
                turn
            }
        };
        let way = self.meta.leaf_at(turn);
        prefetch::<Leaf>(self.meta.leaves.get(way.0));
        Block::<M, W, D::Keys>::prefetch(guard.media(), way.1);
        let next = self.meta.turn_beside::<UP>(turn).map(|next| self.meta.leaf_at(next));
        if let Some((next, _)) = next {
            prefetch::<Leaf>(self.meta.leaves.get(next));
        }
        let place = self.enter(guard, way)?;
        // The control word is read before the words of the slots: a later claim changes the control word.
        let control = place.leaf.control();
        let is_decided = place.read_order(control, &mut cursor.order)?;
        cursor.passed = 0;
        if !UP {
            cursor.order.reverse();
        }
        let row = Row { partition, leaf: place.number, block: place.leaf.block(), control };
        cursor.seat = if is_decided { Seat::take(guard, row) } else { Seat::default() };
        if let Some((_, at)) = next
            && is_decided
        {
            // The next block is prefetched after the lines of this one, because the number of outstanding misses is
            // limited.
            Block::<M, W, D::Keys>::prefetch(guard.media(), at);
        }
        Ok(place)
    }
}

/// Whether a leaf covers a key.
#[inline(always)]
fn covers(leaf: &Leaf, key: Local) -> bool {
    NumberKeys::images(leaf.extent()).contains(&key)
}

/// The key at which a scan continues after a leaf.
fn beyond<const UP: bool>(partition: usize, extent: Extent) -> Option<u64> {
    let (low, high) = (extent.low(), extent.high());
    match UP {
        true if high < Local::END => Some(join(partition, high)),
        true => (partition + 1 < PARTITIONS).then(|| join(partition + 1, Local(0))),
        false => join(partition, low).checked_sub(1),
    }
}
