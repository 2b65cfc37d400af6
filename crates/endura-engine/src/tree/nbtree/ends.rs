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

use crate::Result;
use crate::media::Media;
use crate::space::{Guard, MapState, Space};
use crate::tree::ends::{Leaves, Look as Seen, Trust};

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::keys::form::{Extent, KeyForm};
use crate::tree::nbtree::keys::key::Local;
use crate::tree::nbtree::keys::word::State;
use crate::tree::nbtree::metadata::links::Top;
use crate::tree::nbtree::read::lookup::{CurrentLeaf, Fence, Sought};
use crate::tree::nbtree::tree::Tree;

/// The result of a look at the slots of a block.
#[derive(Clone, Copy)]
struct Look {
    /// The slot and the image of the nearest entry.
    nearest: Option<(usize, Local)>,
    /// Slots that may still become entries, one bit each.
    undecided: u64,
    dead: u64,
}

impl Look {
    /// Looks for the entry nearest to `key` in the direction `UP`, in a leaf of this extent.
    fn at<const UP: bool, M: Media, const W: usize, K: KeyForm>(
        block: &Block<'_, M, W, K>,
        extent: Extent,
        key: K::Sought<'_>,
    ) -> Result<Self> {
        let mut look = Self { nearest: None, undecided: 0, dead: 0 };
        let images = K::images(extent);
        for slot in Block::<M, W, K>::FIRST..Block::<M, W, K>::SLOTS {
            match block.word(slot).state() {
                State::Empty | State::Pending(_) => look.undecided |= 1 << slot,
                State::Dead => look.dead |= 1 << slot,
                State::Killed => {}
                // No search finds such a key.
                State::Live(found) if !images.contains(&found) => {}
                State::Live(found) => {
                    if look.is_nearer::<UP, M, W, K>(block, (slot, found))?
                        && K::is_ahead::<M, UP>(
                            block.media(),
                            extent,
                            (found, || block.value(slot)),
                            key,
                        )?
                    {
                        look.nearest = Some((slot, found));
                    }
                }
            }
        }
        Ok(look)
    }

    /// Whether an entry comes before the nearest one so far, in the direction `UP`.
    fn is_nearer<const UP: bool, M: Media, const W: usize, K: KeyForm>(
        &self,
        block: &Block<'_, M, W, K>,
        (slot, image): (usize, Local),
    ) -> Result<bool> {
        let Some((best_slot, best)) = self.nearest else { return Ok(true) };
        let mut order = image.cmp(&best);
        if K::TIES && order.is_eq() {
            // The values are loaded after the words said LIVE, so that the pin protects their records.
            order = K::compare(block.media(), [slot, best_slot].map(|slot| block.value(slot)))?;
        }
        Ok(if UP { order.is_lt() } else { order.is_gt() })
    }

    /// Whether no entry nearer than the result of the earlier look existed at any moment since.
    fn agrees_with(&self, earlier: &Self) -> bool {
        self.nearest == earlier.nearest && self.dead & earlier.undecided == 0
    }
}

/// A leaf, and the fence from which on, or below which, the look examined it.
pub(crate) struct Passed<F> {
    partition: usize,
    fence: F,
    leaf: u32,
    block: u64,
    look: Look,
}

/// The first key of a look.
fn start<K: KeyForm, const UP: bool>(fence: &K::Fence) -> K::Sought<'_> {
    if UP { K::at(fence) } else { K::below(fence) }
}

impl<M, const W: usize, const FANOUT: usize, D, const UP: bool> Leaves<UP> for Tree<M, W, FANOUT, D>
where
    M: Media,
    D: Design,
{
    type Medium = M;
    type Leaf = Passed<Fence<D>>;
    /// A partition, and the fence at which the look begins, or below which.
    type Key = (usize, Fence<D>);
    type Entry = <D::Keys as KeyForm>::Entry;

    fn begin() -> (usize, Fence<D>) {
        match UP {
            true => (0, D::Keys::first()),
            false => (D::Keys::PARTITIONS - 1, D::Keys::end()),
        }
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

    fn is_prepared(&self, &(partition, _): &(usize, Fence<D>)) -> bool {
        self.meta.roots[partition].load() != Top::NONE
    }

    fn prepare(&self, &(partition, _): &(usize, Fence<D>)) -> Result<()> {
        self.prepare(partition)
    }

    fn look(
        &self,
        guard: &Guard<'_, M>,
        (partition, fence): (usize, Fence<D>),
        trust: Trust,
    ) -> Result<Seen<Self::Leaf, Self::Key, Self::Entry>> {
        let key = start::<D::Keys, UP>(&fence);
        let place = self.place_to_read(guard, partition, key)?;
        if trust == Trust::Quiet {
            self.decide_inserts(guard, partition, &place)?;
        }
        let (look, entry) = look_for_end::<UP, M, W, D>(guard, &place, key)?;
        let beyond = beyond::<D::Keys, UP>(partition, place.fences()?);
        let (leaf, block) = (place.number, place.block.offset());
        let entry = entry.map(|entry| D::Keys::entry_of(partition, entry));
        let leaf = Passed { partition, fence, leaf, block, look };
        Ok(Seen { entry, beyond, leaf, is_quiet: true })
    }

    fn was_empty(&self, passed: &Self::Leaf) -> bool {
        let &Passed { partition, ref fence, leaf: number, block, look } = passed;
        let key = start::<D::Keys, UP>(fence);
        let media = self.open.space().media();
        let (Some(leaf), Some(block)) =
            (self.meta.leaves.get_made(number), Block::<M, W, D::Keys>::within(media, block))
        else {
            return false;
        };
        let again = Look::at::<UP, M, W, D::Keys>(&block, leaf.extent(), key);
        let agrees = again.is_ok_and(|again| again.agrees_with(&look));
        // The successor is read after the slots (Acquire): a leaf that has no successor now had none when the slots
        // were read.
        let is_current = || {
            leaf.successor() == 0
                || self.meta.descend(media, self.meta.roots[partition].load(), key) == number
        };
        agrees && is_current()
    }

    /// A search finds every key between a leaf's bounds, and the look considers no other keys. But if two slots have
    /// the same key, a search may find the other slot; and it finds no byte string under another fingerprint.
    fn is_lost(&self, passed: &Self::Leaf, _: Self::Entry) -> Result<bool> {
        let Some((slot, image)) = passed.look.nearest else { return Ok(false) };
        let guard = self.open.pin()?;
        let block = Block::<M, W, D::Keys>::at(guard.media(), passed.block)?;
        if !D::Keys::TIES {
            let has_key = |slot: usize| block.word(slot).live_key() == Some(image);
            let all = 0..Block::<M, W, D::Keys>::SLOTS;
            let twice = all.filter(|&slot| has_key(slot)).nth(1);
            // A slot that was LIVE at the look and is LIVE now was also LIVE when the other slot was read: both were
            // entries at once.
            return Ok(twice.is_some() && has_key(slot));
        }
        let mut buffer = Vec::new();
        let entry = (image, block.value(slot));
        let key = D::Keys::key_of(guard.media(), entry, &mut buffer)?;
        let found = self.place_to_read(&guard, passed.partition, key)?;
        if found.block.offset() == passed.block && found.probe(key)? == Some(slot) {
            return Ok(false);
        }
        // A leaf that has no successor now was current during the search, and a slot that is LIVE now was LIVE.
        let is_live = block.word(slot).live_key() == Some(image);
        Ok(is_live && self.meta.leaves.get(passed.leaf).successor() == 0)
    }
}

/// The partition and the fence at which a look goes on behind a leaf with these fences.
fn beyond<K: KeyForm, const UP: bool>(
    partition: usize,
    [low, high]: [K::Fence; 2],
) -> Option<(usize, K::Fence)> {
    match UP {
        true if high < K::end() => Some((partition, high)),
        true => (partition + 1 < K::PARTITIONS).then(|| (partition + 1, K::first())),
        false if low > K::first() => Some((partition, low)),
        false => partition.checked_sub(1).map(|before| (before, K::end())),
    }
}

/// An image and a value.
type Entry = (Local, u64);

/// The entry nearest to `key` in a leaf, at one moment, and the last look at it.
fn look_for_end<const UP: bool, M: Media, const W: usize, D: Design>(
    guard: &Guard<'_, M>,
    place: &CurrentLeaf<'_, '_, M, W, D>,
    key: Sought<'_, D>,
) -> Result<(Look, Option<Entry>)> {
    let block = &place.block;
    let look_again = || Look::at::<UP, M, W, D::Keys>(block, place.leaf.extent(), key);
    let mut look = look_again()?;
    let mut entry = None;
    while let Some((slot, found)) = look.nearest {
        let value = block.value(slot);
        let again = look_again()?;
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
    Ok((look, entry))
}
