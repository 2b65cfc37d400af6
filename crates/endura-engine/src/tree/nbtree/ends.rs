//! The look into a leaf for [`ends`](crate::tree::ends).
//!
//! A block has no version, but its slots never return to an earlier state. Suppose that two looks at all slots find the
//! same nearest entry, and that every slot that is DEAD at the second look was LIVE or DEAD at the first. Then no
//! nearer entry existed at any moment between the two looks. The value of the nearest entry is read between the two
//! looks.
//!
//! If a leaf has no entry, the search must also know that the leaf was current. (Few leaves are empty: there are eight
//! partitions, and removes merge leaves that are nearly empty.) If the leaf has no successor at the second look, it was
//! current until then, so that all writes to its keys were writes to its block. The leaf was also current if it has a
//! successor, but the inner nodes still lead to the leaf after that look: no thread writes to a successor before the
//! inner nodes lead to it. (A thread that is preempted before it links the successor must not delay others.) The leaf
//! of the result need not be current, as in a lookup: if its block is frozen, the block was still valid at a moment
//! after the inner nodes led to it, and they led to it after all the other leaves had been passed.
//!
//! A look at a block is repeated only if the slots of the block have changed.

use std::ops::Range;

use crate::Result;
use crate::media::Media;
use crate::space::{Guard, MapState, Space};
use crate::tree::ends::{Leaves, Look as Seen, Trust};

use crate::tree::nbtree::blocks::block::{Block, State};
use crate::tree::nbtree::blocks::key::{Local, join, split};
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::metadata::links::Top;
use crate::tree::nbtree::read::lookup::CurrentLeaf;
use crate::tree::nbtree::read::scan::beyond;
use crate::tree::nbtree::tree::Tree;

/// The result of a look at the slots of a block.
#[derive(Clone, Copy)]
struct Look {
    /// The slot and the key of the nearest entry.
    nearest: Option<(usize, Local)>,
    /// Slots that may still become entries, one bit each.
    undecided: u64,
    dead: u64,
}

impl Look {
    /// Looks for the entry nearest to `key` in the direction `UP`, in a leaf with these `keys`.
    fn at<const UP: bool, M: Media, const W: usize>(
        block: &Block<'_, M, W>,
        keys: Range<Local>,
        key: Local,
    ) -> Self {
        let mut look = Self { nearest: None, undecided: 0, dead: 0 };
        let comes_before = |a: Local, b: Local| if UP { a < b } else { a > b };
        for slot in 0..Block::<M, W>::SLOTS {
            match block.word(slot).state() {
                State::Empty | State::Pending(_) => look.undecided |= 1 << slot,
                State::Dead => look.dead |= 1 << slot,
                State::Killed => {}
                // No search finds a key outside of `keys`.
                State::Live(found) if !keys.contains(&found) => {}
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

    /// Whether no entry nearer than the result of the earlier look existed at any moment since.
    fn agrees_with(&self, earlier: &Self) -> bool {
        self.nearest == earlier.nearest && self.dead & earlier.undecided == 0
    }
}

/// A leaf, and the key from which on the look examined it.
pub(crate) struct Passed {
    partition: usize,
    key: Local,
    leaf: u32,
    block: u64,
    look: Look,
}

impl<M, const W: usize, const FANOUT: usize, D, const UP: bool> Leaves<UP> for Tree<M, W, FANOUT, D>
where
    M: Media,
    D: Design,
{
    type Medium = M;
    type Leaf = Passed;
    type Key = u64;
    type Entry = (u64, u64);

    fn begin() -> u64 {
        if UP { 0 } else { u64::MAX }
    }

    fn pin(&self, trust: Trust) -> Result<Guard<'_, M>> {
        match trust {
            // A pop decides pending inserts, so that its pin must allow writes.
            Trust::Quiet => self.open.pin_mut(),
            Trust::Blind | Trust::Checked => self.open.pin(),
        }
    }

    fn space(&self) -> &Space<M> {
        self.open.space()
    }

    fn map(&self) -> &MapState {
        self.open.map()
    }

    fn is_prepared(&self, &key: &u64) -> bool {
        self.meta.roots[split(key).0].load() != Top::NONE
    }

    fn prepare(&self, &key: &u64) -> Result<()> {
        self.prepare(split(key).0)
    }

    fn look(
        &self,
        guard: &Guard<'_, M>,
        key: u64,
        trust: Trust,
    ) -> Result<Seen<Passed, u64, (u64, u64)>> {
        let (partition, local) = split(key);
        let place = self.place_to_read(guard, partition, local)?;
        if trust == Trust::Quiet {
            self.decide_inserts(guard, partition, &place);
        }
        let (look, entry) = look_for_end::<UP, M, W, D>(guard, &place, local);
        let (leaf, block) = (place.number, place.block.offset());
        let leaf = Passed { partition, key: local, leaf, block, look };
        Ok(Seen {
            entry: entry.map(|(key, value)| (join(partition, key), value)),
            beyond: beyond::<UP>(partition, place.leaf.low(), place.leaf.high()),
            leaf,
            is_quiet: true,
        })
    }

    fn was_empty(&self, passed: &Passed) -> bool {
        let &Passed { partition, key, leaf: number, block, look } = passed;
        let media = self.open.space().media();
        let (Some(leaf), Some(block)) =
            (self.meta.leaves.get_made(number), Block::<M, W>::within(media, block))
        else {
            return false;
        };
        let keys = leaf.low()..leaf.high();
        let agrees = Look::at::<UP, M, W>(&block, keys, key).agrees_with(&look);
        // The successor is read after the slots (Acquire): a leaf that has no successor now had none when the slots
        // were read.
        let is_current = || {
            leaf.successor() == 0
                || self.meta.descend(self.meta.roots[partition].load(), key) == number
        };
        agrees && is_current()
    }

    /// A search finds every key between a leaf's bounds, and the look considers no other keys. But if two slots have
    /// the same key, a search may find the other slot.
    fn is_lost(&self, passed: &Passed, (key, _): (u64, u64)) -> Result<bool> {
        let block = Block::<M, W>::at(self.open.space().media(), passed.block)?;
        let (_, key) = split(key);
        let has_key = |slot: usize| block.word(slot).live_key() == Some(key);
        let twice = (0..Block::<M, W>::SLOTS).filter(|&slot| has_key(slot)).nth(1);
        // A slot that was LIVE at the look and is LIVE now was also LIVE when the other slot was read: both were
        // entries at once.
        Ok(twice.is_some() && passed.look.nearest.is_some_and(|(slot, _)| has_key(slot)))
    }
}

/// The entry nearest to `key` in a leaf, at one moment, and the last look at it.
fn look_for_end<const UP: bool, M: Media, const W: usize, D: Design>(
    guard: &Guard<'_, M>,
    place: &CurrentLeaf<'_, '_, M, W, D>,
    key: Local,
) -> (Look, Option<(Local, u64)>) {
    let block = &place.block;
    let look_again = || Look::at::<UP, M, W>(block, place.leaf.low()..place.leaf.high(), key);
    let mut look = look_again();
    let mut entry = None;
    while let Some((slot, found)) = look.nearest {
        let value = block.value(slot);
        let again = look_again();
        let agrees = again.agrees_with(&look);
        look = again;
        if agrees {
            entry = Some((found, value));
            break;
        }
    }
    if guard.media().needs_flush() && place.leaf.is_in_flight() {
        // The result rests on every slot.
        block.help_flush();
    }
    (look, entry)
}
