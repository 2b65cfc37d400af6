//! Scans: leaf by leaf, in either direction.
//!
//! A leaf is not sorted. A scan that enters one notes the keys and their slots in order, and reads
//! each entry in its slot when its turn comes: what is returned was there at that moment. The list
//! counts as long as the leaf's control word is the same, for then no slot was claimed and nothing
//! was frozen, and until the second epoch after, for up to there the leaf is still this leaf. An
//! insert that had claimed its slot before and was not decided makes the list good for one call only.
//!
//! Between two calls nothing is pinned, and while the list counts an entry costs no pin either
//! ([`read_seat`](Tree::read_seat)). The leaves that come next are asked for ahead.

use std::marker::PhantomData;

use crate::Result;
use crate::media::Media;
use crate::pool::Guard;

use super::Tree;
use super::block::{Block, State, Word};
use super::control::Control;
use super::design::Design;
use super::key::{Local, PARTITIONS, join, split};
use super::leaf::slots;
use super::order::sort;
use super::read::Place;

/// A place in a scan in one direction.
#[derive(Debug, Default)]
pub struct Cursor {
    seat: Option<Seat>,
    /// Keys and slots of the leaf, in the order of the scan.
    list: Vec<(Local, u8)>,
    /// How many of the list are behind.
    passed: usize,
}

/// The leaf whose keys a cursor lists.
#[derive(Debug, Clone, Copy)]
struct Seat {
    partition: usize,
    leaf: u32,
    block: u64,
    control: Control,
    epoch: u64,
}

/// Where a scan goes on.
enum Step {
    Entry(u64, u64),
    /// The leaf has no more; the next one covers this key.
    Beyond(Option<u64>),
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// The entry that is next in the cursor's list, if that counts and nobody writes to it. Without a
    /// pin: what was read counts only if the leaf is found unchanged afterwards, in an epoch in which
    /// its memory cannot have been used again. (In a forked child the epoch stands still; the next pin
    /// turns it away.)
    #[inline(always)]
    pub(super) fn read_seat(&self, cursor: &mut Cursor) -> Option<(u64, u64)> {
        let seat = cursor.seat.as_ref()?;
        let &(key, slot) = cursor.list.get(cursor.passed)?;
        let leaf = self.meta.leaves.get(seat.leaf);
        let media = self.space.media();
        let block = Block::<M, W>::at(media, seat.block).ok()?;
        let (word, value) = (block.word(slot.into()), block.value(slot.into()));
        // After the words: their loads are Acquire.
        let counts = word == Word::live(key)
            && !(media.needs_flush() && leaf.is_in_flight())
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
        while let Some(&(key, slot)) = cursor.list.get(cursor.passed) {
            cursor.passed += 1;
            let is_due = if UP { key >= local } else { key <= local };
            if is_due && place.block.word(slot.into()).thawed() == Word::live(key) {
                answer = Some((key, place.block.value(slot.into())));
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

    /// The leaf of the cursor's list, if that still counts and covers `key`.
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

    /// Finds the leaf that covers `key` and lists its keys.
    fn sit_down<'g, const UP: bool>(
        &'g self,
        guard: &'g Guard<'_, M>,
        cursor: &mut Cursor,
        partition: usize,
        key: Local,
    ) -> Result<Place<'g, 'g, M, W, D>> {
        // Before the leaf is reached.
        let epoch = guard.space().epoch();
        let top = self.top(guard, partition)?;
        let (number, ahead) = self.meta.descend_ahead::<UP>(top, key);
        let place = self.current(guard, number, key)?;
        place.block.prefetch();
        // Before the words: a slot that is claimed later changes it.
        let control = place.leaf.control();
        if let Ok(next) = Block::<M, W>::at(guard.media(), self.meta.leaves.get(ahead[0]).block()) {
            // Where it was when it was noted; it does not matter what is there now.
            next.prefetch();
        }
        cursor.list.clear();
        // Twice: `sort` writes the order behind the list before that moves to the front.
        cursor.list.reserve(2 * Block::<M, W>::SLOTS);
        cursor.passed = 0;
        let mut undecided = false;
        for slot in slots(place.listed(control)) {
            let word = place.block.word(slot);
            match word.live_key() {
                Some(key) => cursor.list.push((key, slot as u8)),
                None => undecided |= matches!(word.state(), State::Empty | State::Pending(_)),
            }
        }
        sort(&mut cursor.list);
        let covers = |key: Local| (place.leaf.low()..place.leaf.high()).contains(&key);
        if let (Some(first), Some(last)) = (cursor.list.first(), cursor.list.last())
            && !(covers(first.0) && covers(last.0))
        {
            // A damaged word. Lookups do not find it either; a scan that gave it would not end.
            cursor.list.retain(|&(key, _)| covers(key));
        }
        if !UP {
            cursor.list.reverse();
        }
        // A leaf that is closing may have a successor already, which then has later entries.
        let block = place.leaf.block();
        let seat = Seat { partition, leaf: place.number, block, control, epoch };
        cursor.seat = (!undecided && control.is_open()).then_some(seat);
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
