//! Scans: leaf by leaf, in either direction.
//!
//! A leaf is not sorted. A scan that enters one notes the slots in the order of their keys, and reads
//! each entry in its slot when its turn comes: what is returned was there at that moment. The order
//! counts as long as the leaf's control word is the same, for then no slot was claimed and nothing
//! was frozen, and until the second epoch after, for up to there the leaf is still this leaf: a slot has
//! the key that it had, or none. A claimed slot that may yet become an entry which the order lacks makes it
//! good for one call only.
//!
//! Between two calls nothing is pinned, and while the order counts an entry costs no pin either
//! ([`read_seat`](Tree::read_seat)). The leaf that comes next is asked for ahead.

use std::marker::PhantomData;

use crate::Result;
use crate::media::Media;
use crate::pool::Guard;

use super::Tree;
use super::block::Block;
use super::control::Control;
use super::design::Design;
use super::key::{Local, PARTITIONS, join, split};
use super::order::Order;
use super::read::Place;

/// A place in a scan in one direction.
#[derive(Debug, Default)]
pub struct Cursor {
    seat: Option<Seat>,
    /// Of the leaf, in the direction of the scan.
    order: Order,
    /// How many of them are behind.
    passed: usize,
}

/// The leaf whose order a cursor knows.
#[derive(Debug, Clone, Copy)]
struct Seat {
    partition: usize,
    leaf: u32,
    block: u64,
    control: Control,
    /// Of the pin in which the leaf was reached.
    epoch: u64,
}

/// Where a scan goes on.
enum Step {
    Entry(u64, u64),
    /// The leaf has no more; the next one covers this key.
    Beyond(Option<u64>),
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// The entry that is next in the cursor's order, if that counts and nobody writes to it. Without a
    /// pin: what was read counts only if the leaf is found unchanged afterwards, in an epoch in which
    /// its memory cannot have been used again. (In a forked child the epoch stands still; the next pin
    /// turns it away.)
    #[inline(always)]
    pub(super) fn read_seat(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        let seat = cursor.seat.as_ref()?;
        let slot = cursor.order.get(cursor.passed)?;
        let leaf = self.meta.leaves.get_made(seat.leaf)?;
        let media = self.space.media();
        let block = Block::<M, W>::within(media, seat.block)?;
        let (word, value) = (block.word(slot), block.value(slot));
        let key = word.live_key()?;
        // After the words: their loads are Acquire.
        let counts = !(media.needs_flush() && leaf.is_in_flight())
            && leaf.control() == seat.control
            && self.space.epoch() <= seat.epoch + 1
            && !self.space.is_elsewhere();
        if !counts {
            return None;
        }
        cursor.passed += 1;
        Some((join(seat.partition, key), value))
    }

    /// The entry nearest to `key` in the direction of the scan, `key` included.
    #[inline(never)]
    pub(super) fn scan<const UP: bool>(
        &self,
        cursor: &mut Cursor,
        key: u64,
    ) -> Result<Option<(u64, u64)>> {
        let mut next = Some(key);
        while let Some(key) = next {
            // One leaf a pin: a scan over much that was removed must not hold up the epoch.
            let guard = self.pin()?;
            match self.scan_leaf::<UP>(&guard, cursor, key)? {
                Step::Entry(key, value) => return Ok(Some((key, value))),
                Step::Beyond(beyond) => next = beyond,
            }
        }
        Ok(None)
    }

    fn scan_leaf<const UP: bool>(
        &self,
        guard: &Guard<'_, M>,
        cursor: &mut Cursor,
        key: u64,
    ) -> Result<Step> {
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
            // The answer rests on every entry that was passed over as well.
            place.block.help_flush();
        }
        Ok(match answer {
            Some((key, value)) => Step::Entry(join(partition, key), value),
            None => {
                cursor.seat = None;
                Step::Beyond(beyond::<UP>(partition, place.leaf.low(), place.leaf.high()))
            }
        })
    }

    /// The leaf of the cursor's order, if that still counts and covers `key`.
    fn seated<'g>(
        &'g self,
        guard: &'g Guard<'_, M>,
        cursor: &mut Cursor,
        partition: usize,
        key: Local,
    ) -> Result<Option<Place<'g, 'g, M, W, D>>> {
        let Some(seat) = cursor.seat else { return Ok(None) };
        let leaf = self.meta.leaves.get(seat.leaf);
        let counts = seat.partition == partition
            && guard.space().epoch() <= seat.epoch + 1
            && leaf.control() == seat.control
            && leaf.successor() == 0
            && (leaf.low()..leaf.high()).contains(&key);
        if !counts {
            return Ok(None);
        }
        let block = Block::at(guard.media(), seat.block)?;
        Ok(Some(Place { number: seat.leaf, leaf, block, design: PhantomData }))
    }

    /// Finds the leaf that covers `key`, and the order of its keys.
    fn sit_down<'g, const UP: bool>(
        &'g self,
        guard: &'g Guard<'_, M>,
        cursor: &mut Cursor,
        partition: usize,
        key: Local,
    ) -> Result<Place<'g, 'g, M, W, D>> {
        let top = self.top(guard, partition)?;
        let (way, next) = self.meta.descend_ahead::<UP>(top, key);
        Block::<M, W>::prefetch(guard.media(), way.1);
        let place = self.enter(guard, way)?;
        // Before the words: a slot that is claimed later changes it.
        let control = place.leaf.control();
        cursor.order = place.block.order(place.leaf.low(), place.leaf.high());
        cursor.passed = 0;
        if !UP {
            cursor.order.reverse();
        }
        let seat = Seat {
            partition,
            leaf: place.number,
            block: place.leaf.block(),
            control,
            epoch: guard.epoch(),
        };
        cursor.seat = place.is_decided(control, &cursor.order).then_some(seat);
        if let (Some(at), Some(_)) = (next, cursor.seat) {
            // Behind the lines of this one, for which there is no room to spare.
            Block::<M, W>::prefetch(guard.media(), at);
        }
        Ok(place)
    }
}

/// The key at which a scan goes on behind a leaf.
fn beyond<const UP: bool>(partition: usize, low: Local, high: Local) -> Option<u64> {
    match UP {
        true if high < Local::END => Some(join(partition, high)),
        true => (partition + 1 < PARTITIONS).then(|| join(partition + 1, Local(0))),
        false => join(partition, low).checked_sub(1),
    }
}
