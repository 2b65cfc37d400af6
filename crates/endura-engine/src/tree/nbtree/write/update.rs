//! Updates and removes in place, and the search that precedes an insert.

use crate::media::{Mark, Media};
use crate::space::{Guard, Turn};
use crate::sync::fence_behind_exchange;
use crate::tree::Change;
use crate::{Error, Result};

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::keys::word::Word;
use crate::tree::nbtree::metadata::leaf::Flight;
use crate::tree::nbtree::read::lookup::{CurrentLeaf, Sought};
use crate::tree::nbtree::tree::Tree;

/// The most attempts of an operation in one leaf, and in one pin, while other operations win each time.
const ATTEMPTS: usize = 64;

/// Ends an operation that writes.
#[inline(always)]
fn acknowledge<M: Media>(guard: &Guard<'_, M>) {
    // This fence pairs with the same fence of every other write: of two threads that each write and then look up, at
    // least one sees the write of the other. The stores of a write that others can see are exchanges (its own, or those
    // of a thread that completed it).
    fence_behind_exchange();
    guard.media().mark(Mark::Acknowledged);
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// Passes the current value of `key` to `decide`, applies the change that `decide` returns, and returns the value
    /// that was passed. If `decide` returns `None`, this process is now the child of a fork, which stores nothing more.
    /// A pop passes its `turn`.
    #[inline(always)]
    pub(crate) fn write(
        &self,
        (partition, key): (usize, Sought<'_, D>),
        turn: Option<&Turn<'_>>,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<u64>> {
        self.prepare(partition)?;
        let guard = self.open.pin_mut_for(|| D::Keys::any_key(partition, key))?;
        guard.media().mark(Mark::Begin);
        let Some(answer) = self.try_write(&guard, partition, key, turn, decide)? else {
            return self.write_after_all(guard, partition, key, turn, decide);
        };
        acknowledge(&guard);
        Ok(answer)
    }

    /// Does what [`write`](Self::write) does. It is compiled once for all closures, so it is for those that are not on
    /// the path of an insert or a remove.
    #[inline(never)]
    pub(crate) fn write_dyn(
        &self,
        key: (usize, Sought<'_, D>),
        turn: Option<&Turn<'_>>,
        decide: &mut dyn FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<u64>> {
        self.write(key, turn, &mut |old| decide(old))
    }

    /// Makes the second and later attempts. This is a separate function, because in one loop the first attempt would
    /// have to preserve its state for the next one. Other operations may win any number of times, so a pin ends after
    /// [`ATTEMPTS`] attempts.
    #[cold]
    #[inline(never)]
    fn write_after_all<'g>(
        &'g self,
        mut guard: Guard<'g, M>,
        partition: usize,
        key: Sought<'_, D>,
        turn: Option<&Turn<'_>>,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<u64>> {
        let new_key = D::Keys::new_key(partition, key);
        loop {
            for _ in 0..ATTEMPTS {
                if self.open.map().pops().holds_up(&new_key) {
                    break;
                }
                if let Some(answer) = self.try_write(&guard, partition, key, turn, decide)? {
                    acknowledge(&guard);
                    return Ok(answer);
                }
            }
            // The operation has stored nothing that counts, and starts over.
            drop(guard);
            self.open.map().pops().wait_for(&new_key);
            guard = self.open.pin_mut_for(|| D::Keys::any_key(partition, key))?;
        }
    }

    /// Does what [`write`](Self::write) does, inside the pin of the caller, which has [prepared](Self::prepare) the
    /// partition. `None` if the caller has to end that pin first: a pop has to come first, or other operations have won
    /// many times.
    pub(crate) fn write_within(
        &self,
        guard: &Guard<'_, M>,
        (partition, key): (usize, Sought<'_, D>),
        turn: Option<&Turn<'_>>,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<Option<u64>>> {
        for _ in 0..ATTEMPTS {
            if let Some(answer) = self.try_write(guard, partition, key, turn, decide)? {
                // As in `acknowledge`.
                fence_behind_exchange();
                return Ok(Some(answer));
            }
            if self.open.map().pops().holds_up(&D::Keys::new_key(partition, key)) {
                break;
            }
        }
        Ok(None)
    }

    /// One attempt of [`write`](Self::write). `None` if the caller must search for the key again.
    #[inline(always)]
    fn try_write(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        key: Sought<'_, D>,
        turn: Option<&Turn<'_>>,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<Option<u64>>> {
        let place = self.place_to_write(guard, partition, key)?;
        self.write_in(guard, (partition, key), &place, turn, decide)
    }

    /// Does what [`try_write`](Self::try_write) does, in the leaf to which a search in the same pin has led.
    #[inline(always)]
    pub(crate) fn write_in(
        &self,
        guard: &Guard<'_, M>,
        (partition, key): (usize, Sought<'_, D>),
        place: &CurrentLeaf<'_, '_, M, W, D>,
        turn: Option<&Turn<'_>>,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<Option<u64>>> {
        let _held = D::before_write(place.number);
        if let Some(slot) = place.probe(key)? {
            return self.alter(guard, (partition, key), place, slot, turn, decide);
        }
        let Some(change) = decide(None) else { return Err(Error::Forked) };
        match change {
            Change::Put(value) => self.insert(guard, partition, place, key, value),
            Change::Keep | Change::Remove => {
                place.settle_answer(guard.media(), key);
                Ok(Some(None))
            }
        }
    }

    /// The leaf in which to write `key`.
    #[inline(always)]
    pub(crate) fn place_to_write<'g>(
        &'g self,
        guard: &'g Guard<'_, M>,
        partition: usize,
        key: Sought<'_, D>,
    ) -> Result<CurrentLeaf<'g, 'g, M, W, D>> {
        let way = self.meta.descend_to_block(guard.media(), self.top(partition)?, key);
        self.ask_for_entry(guard, way, key, true);
        self.enter(guard, way)
    }

    /// Changes the entry in `slot`. `None` if the caller must search for the key again, because the entry is no longer
    /// there, or other operations won each time.
    #[inline(always)]
    fn alter(
        &self,
        guard: &Guard<'_, M>,
        (partition, key): (usize, Sought<'_, D>),
        place: &CurrentLeaf<'_, '_, M, W, D>,
        slot: usize,
        turn: Option<&Turn<'_>>,
        decide: &mut impl FnMut(Option<u64>) -> Option<Change>,
    ) -> Result<Option<Option<u64>>> {
        let block = place.block;
        for _ in 0..ATTEMPTS {
            let word = block.word(slot);
            let Some(live) = D::Keys::live_word(word, key) else { return Ok(None) };
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
                // Counted before the exchange, which is the operation's last locked instruction.
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
            // The drain is before the operation returns, and before the flight ends, after which readers no longer
            // help.
            guard.media().drain();
            drop(flight);
            if removes {
                self.removed(guard, partition, place, key, turn);
            }
            return Ok(Some(Some(value)));
        }
        Ok(None)
    }

    /// Called after a remove: notes the empty slot, and merges the leaf with a neighbour if few entries are left in it.
    fn removed(
        &self,
        guard: &Guard<'_, M>,
        partition: usize,
        place: &CurrentLeaf<'_, '_, M, W, D>,
        key: Sought<'_, D>,
        turn: Option<&Turn<'_>>,
    ) {
        place.leaf.note_gone(1);
        // A closing leaf is not merged. A later remove may merge its copy.
        let Some(left) = place.leaf.entries::<D::Keys>(place.leaf.control()) else { return };
        // A merge is not tried after each remove, because the neighbours may be full for a long time.
        if left == 0 || (left <= Block::<M, W, D::Keys>::CAPACITY / 8 && left.is_power_of_two()) {
            if let Some(turn) = turn {
                turn.is_out();
            }
            // The remove is done, and the merge only improves the shape of the tree. If it fails, a later remove tries
            // again.
            self.merge_later(guard, partition, key);
        }
    }

    /// Tries to merge a leaf. A failure is ignored. But damage is recorded.
    #[inline(never)]
    fn merge_later(&self, guard: &Guard<'_, M>, partition: usize, key: Sought<'_, D>) {
        guard.upkeep(|| self.try_merge(guard, partition, key));
    }
}
