//! Scans: leaf by leaf, in either direction.
//!
//! A leaf is not sorted. A scan that enters one notes the keys and their slots in order, and reads
//! each entry in its slot when its turn comes: what is returned was there at that moment. The list
//! counts as long as the leaf's control word is the same, for then no slot was claimed and nothing
//! was frozen, and while the epoch is the same, for then the leaf is still this leaf. An insert that
//! had claimed its slot before and was not decided makes the list good for one call only.

use crate::Result;
use crate::media::Media;
use crate::pool::Guard;

use super::Tree;
use super::block::{Block, State, Word};
use super::key::{Local, PARTITIONS, join, split};
use super::leaf::Control;
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
    control: Control,
    epoch: u64,
}

/// Where a scan goes on.
enum Step {
    Entry(u64, u64),
    /// The leaf has no more; the next one covers this key.
    Beyond(Option<u64>),
}

impl<M: Media, const W: usize, const FANOUT: usize> Tree<M, W, FANOUT> {
    /// The entry nearest to `key` in the direction of the scan, `key` included.
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
    ) -> Result<Option<Place<'g, 'g, M, W>>> {
        let Some(seat) = cursor.seat else { return Ok(None) };
        let leaf = self.meta.leaves.get(seat.leaf);
        let counts = seat.partition == partition
            && guard.space().epoch() == seat.epoch
            && leaf.control() == seat.control
            && leaf.successor() == 0
            && (leaf.low()..leaf.high()).contains(&key);
        if !counts {
            return Ok(None);
        }
        let block = Block::at(guard.media(), leaf.block())?;
        Ok(Some(Place { number: seat.leaf, leaf, block }))
    }

    /// Finds the leaf that covers `key` and lists its keys.
    fn sit_down<'g, const UP: bool>(
        &'g self,
        guard: &'g Guard<'_, M>,
        cursor: &mut Cursor,
        partition: usize,
        key: Local,
    ) -> Result<Place<'g, 'g, M, W>> {
        // Before the leaf is reached.
        let epoch = guard.space().epoch();
        let place = self.place_to_read(guard, partition, key)?;
        // Before the words: a slot that is claimed later changes it.
        let control = place.leaf.control();
        cursor.list.clear();
        cursor.passed = 0;
        let mut undecided = false;
        for slot in 0..control.claimed().min(Block::<M, W>::SLOTS) {
            match place.block.word(slot).state() {
                State::Live(key) => cursor.list.push((key, slot as u8)),
                State::Empty | State::Pending(_) => undecided = true,
                State::Dead | State::Killed => {}
            }
        }
        if UP {
            cursor.list.sort_unstable();
        } else {
            cursor.list.sort_unstable_by(|a, b| b.cmp(a));
        }
        let seat = Seat { partition, leaf: place.number, control, epoch };
        cursor.seat = (!undecided).then_some(seat);
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
