//! Updates and removes, in place, and the way to an insert.

use crate::media::{Mark, Media};
use crate::pool::Guard;
use crate::sync::fence_behind_exchange;
use crate::tree::Change;
use crate::{Error, Result};

use crate::tree::nbtree::blocks::block::{Block, Word};
use crate::tree::nbtree::blocks::key::{Local, join, split};
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::metadata::leaf::Flight;
use crate::tree::nbtree::read::lookup::Place;
use crate::tree::nbtree::tree::Tree;

/// How often an operation tries in one leaf, and in one pin, beside others that are faster each time.
const ATTEMPTS: usize = 64;

/// The end of an operation that writes.
#[inline(always)]
fn acknowledge<M: Media>(guard: &Guard<'_, M>) {
    // Pairs with that of every other write: of two that returned, one's next lookup sees the other. What
    // others can see of a write are exchanges (its own, or those of whoever completed it).
    fence_behind_exchange();
    guard.media().mark(Mark::Acknowledged);
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// Applies what `decide` makes of the present value of `key`, and returns that value. `None`
    /// says that this is a child of a fork by now: nothing is stored any more.
    #[inline(always)]
    pub(crate) fn write(
        &self,
        key: u64,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<u64>> {
        let (partition, key) = split(key);
        self.prepare(partition)?;
        let guard = self.open.pin_mut()?;
        guard.media().mark(Mark::Begin);
        let Some(answer) = self.try_write(&guard, partition, key, decide)? else {
            return self.write_after_all(guard, partition, key, decide);
        };
        acknowledge(&guard);
        Ok(answer)
    }

    /// The second and later attempts. Not in the loop of the first, which would keep what it needs for another.
    /// Others may be faster any number of times: no pin lasts for more than some of them.
    #[cold]
    #[inline(never)]
    fn write_after_all<'g>(
        &'g self,
        mut guard: Guard<'g, M>,
        partition: usize,
        key: Local,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<u64>> {
        loop {
            for _ in 0..ATTEMPTS {
                if self.open.map().pops().holds_up(&join(partition, key)) {
                    break;
                }
                if let Some(answer) = self.try_write(&guard, partition, key, decide)? {
                    acknowledge(&guard);
                    return Ok(answer);
                }
            }
            // Nothing of this operation is there: it begins anew.
            drop(guard);
            self.open.map().pops().wait_for(&join(partition, key));
            guard = self.open.pin_mut()?;
        }
    }

    /// `None`: the key must be looked for again.
    #[inline(always)]
    fn try_write(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        key: Local,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<Option<u64>>> {
        let place = self.place_to_write(guard, partition, key)?;
        let _held = D::before_write(place.number);
        if let Some(slot) = place.probe(key) {
            return self.alter(guard, partition, &place, slot, key, decide);
        }
        let Some(change) = decide(None) else { return Err(Error::Forked) };
        match change {
            Change::Put(value) => self.insert(guard, partition, &place, key, value),
            Change::Keep | Change::Remove => {
                place.settle_answer(guard.media(), key);
                Ok(Some(None))
            }
        }
    }

    /// The leaf to write `key` to.
    #[inline(always)]
    fn place_to_write<'g>(
        &'g self,
        guard: &'g Guard<'_, M>,
        partition: usize,
        key: Local,
    ) -> Result<Place<'g, 'g, M, W, D>> {
        let way = self.meta.descend_to_block(self.top(partition)?, key);
        self.ask_for_entry(guard, way, key, true);
        self.enter(guard, way)
    }

    /// Changes the entry in `slot`. `None`: it is not there any more, or must be looked for again.
    #[inline(always)]
    fn alter(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        place: &Place<'_, '_, M, W, D>,
        slot: usize,
        key: Local,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<Option<u64>>> {
        let (block, live) = (place.block, Word::live(key));
        for _ in 0..ATTEMPTS {
            let word = block.word(slot);
            if word.thawed() != live {
                return Ok(None);
            }
            let value = block.value(slot);
            let Some(change) = decide(Some(value)) else { return Err(Error::Forked) };
            let new = match change {
                Change::Keep => {
                    place.settle_answer(guard.media(), key);
                    return Ok(Some(Some(value)));
                }
                Change::Put(value) => (live, value),
                Change::Remove => (Word::DEAD, value),
            };
            if word.is_frozen() {
                self.change(guard, partition, place.number)?;
                return Ok(None);
            }
            let removes = new.0 == Word::DEAD;
            if removes {
                // Before the exchange, which is the operation's last locked instruction.
                self.open.map().add(-1);
            }
            guard.media().mark(Mark::Step("alter.exchange"));
            let flight = guard.media().needs_flush().then(|| Flight::begin(place.leaf));
            if !block.exchange_entry(slot, (live, value), new) {
                if removes {
                    self.open.map().add(1);
                }
                continue;
            }
            guard.media().mark(Mark::Step("alter.durable"));
            block.flush_slot(slot);
            // Before the caller is told, and before readers no longer help.
            guard.media().drain();
            drop(flight);
            if removes {
                self.removed(guard, partition, place, key);
            }
            return Ok(Some(Some(value)));
        }
        Ok(None)
    }

    /// An entry went: notes that, and looks for a neighbour for what is left of its leaf.
    fn removed(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        place: &Place<'_, '_, M, W, D>,
        key: Local,
    ) {
        place.leaf.note_gone(1);
        // A leaf that is closing has no neighbour: its copy finds one at a later remove.
        let Some(left) = place.leaf.entries(place.leaf.control()) else { return };
        // Now and then, not at each remove: the neighbours may be full for long.
        if left == 0 || (left <= Block::<M, W>::SLOTS / 8 && left.is_power_of_two()) {
            self.open.map().pops().is_out(&join(partition, key));
            // The remove is done. What follows only improves the shape; a later remove tries again.
            let _ = self.try_merge(guard, partition, key);
        }
    }
}
