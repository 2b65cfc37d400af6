//! The first entry and the last, at one moment.
//!
//! A block has no version, but its slots never go back to an earlier state: two looks at all of them that find
//! the same nearest entry, and no slot DEAD that had not been LIVE when it was looked at first, say that between
//! the two looks nothing nearer was there at any moment. The value is read in between.
//!
//! Leaves in which nothing was found (there are eight partitions, and removes merge what is nearly empty) are looked
//! at again after the answer was read. A leaf that has no successor then was current up to there, so that all
//! writes to its keys were writes to its block. The answer's own leaf need not be current, as for lookups: what
//! a frozen block says is true up to a moment after the bodies led to it, and they did so after all the others
//! had been looked at.
//!
//! A look that is in vain was disturbed by a writer that got on: lock-free. In one block that can happen only as
//! often as its slots change. Each attempt has a pin of its own.

use crate::Result;
use crate::media::Media;
use crate::pool::Guard;

use super::Tree;
use super::block::{Block, State};
use super::design::Design;
use super::key::{Local, join, split};
use super::read::Place;
use super::scan::beyond;

/// What a look at the slots of a block has found.
#[derive(Clone, Copy)]
struct Look {
    /// The slot and the key of the nearest entry.
    nearest: Option<(usize, Local)>,
    /// Slots that may still become entries.
    undecided: u64,
    dead: u64,
}

impl Look {
    /// Looks for the entry nearest to `key` in the direction.
    fn at<const UP: bool, M: Media, const W: usize>(block: &Block<'_, M, W>, key: Local) -> Self {
        let mut look = Self { nearest: None, undecided: 0, dead: 0 };
        let comes_before = |a: Local, b: Local| if UP { a < b } else { a > b };
        for slot in 0..Block::<M, W>::SLOTS {
            match block.word(slot).state() {
                State::Empty | State::Pending(_) => look.undecided |= 1 << slot,
                State::Dead => look.dead |= 1 << slot,
                State::Killed => {}
                State::Live(found) => {
                    let is_nearest = look.nearest.is_none_or(|(_, best)| comes_before(found, best));
                    if is_nearest && !comes_before(found, key) {
                        look.nearest = Some((slot, found));
                    }
                }
            }
        }
        look
    }

    /// Whether from an earlier look to this one nothing nearer than what that found was there at any moment.
    fn agrees_with(&self, earlier: &Self) -> bool {
        self.nearest == earlier.nearest && self.dead & earlier.undecided == 0
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// The first entry; for `UP` = false the last.
    pub(super) fn end<const UP: bool>(&self) -> Result<Option<(u64, u64)>> {
        loop {
            let guard = self.pin()?;
            if let Some(answer) = self.try_end::<UP>(&guard)? {
                return Ok(answer);
            }
        }
    }

    /// `None`: a writer came between.
    fn try_end<const UP: bool>(&self, guard: &Guard<'_, M>) -> Result<Option<Option<(u64, u64)>>> {
        let (mut passed, mut answer) = (Vec::new(), None);
        let mut next = Some(if UP { 0 } else { u64::MAX });
        while let (Some(key), None) = (next, answer) {
            let (partition, local) = split(key);
            let place = self.place_to_read(guard, partition, local)?;
            let (look, entry) = look_for_end::<UP, M, W, D>(guard, &place, local);
            answer = entry.map(|(key, value)| (join(partition, key), value));
            if answer.is_none() {
                next = beyond::<UP>(partition, place.leaf.low(), place.leaf.high());
                passed.push((place, local, look));
            }
        }
        let is_one_moment = passed.iter().all(|(place, key, look)| {
            // The slots first (Acquire): what has no successor afterwards had none before.
            Look::at::<UP, M, W>(&place.block, *key).agrees_with(look)
                && place.leaf.successor() == 0
        });
        Ok(is_one_moment.then_some(answer))
    }
}

/// The entry nearest to `key` of a leaf, at one moment, and the last look at it.
fn look_for_end<const UP: bool, M: Media, const W: usize, D: Design>(
    guard: &Guard<'_, M>,
    place: &Place<'_, '_, M, W, D>,
    key: Local,
) -> (Look, Option<(Local, u64)>) {
    let block = &place.block;
    let mut look = Look::at::<UP, M, W>(block, key);
    let mut entry = None;
    while let Some((slot, found)) = look.nearest {
        let value = block.value(slot);
        let again = Look::at::<UP, M, W>(block, key);
        let agrees = again.agrees_with(&look);
        look = again;
        if agrees {
            entry = Some((found, value));
            break;
        }
    }
    if guard.media().needs_flush() && place.leaf.is_in_flight() {
        // The answer rests on every slot.
        block.help_flush();
    }
    (look, entry)
}
