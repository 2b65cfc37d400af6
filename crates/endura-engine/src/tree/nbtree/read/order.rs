//! The key order of the entries of a block, which are unsorted.

use std::cmp::Ordering;
use std::ops::Range;

use crate::Result;
use crate::cpu::small_sort::{self, MOST, NO_PLACE};
use crate::media::Media;

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::blocks::claims::{line, lines};
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::keys::form::{Extent, KeyForm};
use crate::tree::nbtree::keys::word::State;
use crate::tree::nbtree::metadata::control::Control;
use crate::tree::nbtree::metadata::leaf::slots;
use crate::tree::nbtree::read::lookup::CurrentLeaf;

/// Slots of entries, in the order of their keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order([u8; MOST]);

impl Default for Order {
    fn default() -> Self {
        Self([NO_PLACE; MOST])
    }
}

impl Order {
    /// The slot at position `passed` of the order. All positions before it must have a slot.
    #[inline(always)]
    pub(crate) fn get(&self, passed: usize) -> Option<usize> {
        // A block has at most 63 slots, so that the last position has none.
        let slot = usize::from(self.0[passed % MOST]);
        (slot < MOST - 1).then_some(slot)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        (0..).map_while(|passed| self.get(passed))
    }

    pub(crate) fn reverse(&mut self) {
        let count = self.iter().count();
        self.0[..count].reverse();
    }

    /// Whether the keys of every line ascend with its slots.
    pub(crate) fn ascends_in_lines(&self) -> bool {
        let mut last = [None; lines(MOST - 1)];
        self.iter().all(|slot| last[line(slot)].replace(slot) < Some(slot))
    }
}

impl<M: Media, const W: usize, K: KeyForm> Block<'_, M, W, K> {
    /// The order of the entries of a leaf with this extent. Unless the block is damaged, every LIVE slot is in the order.
    /// Returns also the slots of the order, one bit each.
    pub(crate) fn order(&self, extent: Extent) -> Result<(Order, u64)> {
        let Range { start: low, end: high } = K::images(extent);
        let mut distances = [u64::MAX; MOST];
        for (slot, distance) in distances[..Self::SLOTS].iter_mut().enumerate().skip(Self::FIRST) {
            *distance = self.word(slot).distance(low);
        }
        let (mut slots, bits) = small_sort::order(&distances, high.0 - low.0);
        if K::TIES {
            self.order_ties(&distances, &mut slots[..bits.count_ones() as usize])?;
        }
        Ok((Order(slots), bits))
    }

    /// Puts slots with equal images in the order of their keys.
    ///
    /// By insertion, because a sort of the standard library may panic where comparisons contradict each other. Those of
    /// a damaged pool may, and each can also fail.
    fn order_ties(&self, distances: &[u64; MOST], slots: &mut [u8]) -> Result<()> {
        let distance = |slot: u8| distances[usize::from(slot)];
        for tied in slots.chunk_by_mut(|&a, &b| distance(a) == distance(b)) {
            for place in 1..tied.len() {
                let (mut low, mut high) = (0, place);
                while low < high {
                    let middle = low.midpoint(high);
                    match self.compare_keys(tied[middle], tied[place])? {
                        Ordering::Greater => high = middle,
                        Ordering::Less | Ordering::Equal => low = middle + 1,
                    }
                }
                tied[low..=place].rotate_right(1);
            }
        }
        Ok(())
    }

    /// Compares the keys of two entries that were LIVE in this pin. (Their values are loaded after the words said LIVE,
    /// so that the pin protects the records.)
    fn compare_keys(&self, a: u8, b: u8) -> Result<Ordering> {
        K::compare(self.media(), [a, b].map(|slot| self.value(slot.into())))
    }
}

impl<M: Media, const W: usize, D: Design> CurrentLeaf<'_, '_, M, W, D> {
    /// Stores the order of the leaf's entries in `order`. Returns whether it is valid until the control word changes
    /// from `control`, which the caller has read before.
    #[inline(always)]
    pub(crate) fn read_order(&self, control: Control, order: &mut Order) -> Result<bool> {
        let claims = self.leaf.claims_in_order::<D::Keys>(control);
        match claims.is_some_and(|claims| self.leaf.order.recall(claims, &mut order.0)) {
            true => Ok(true),
            false => self.sort(control, order),
        }
    }

    /// As [`read_order`](Self::read_order), for an order that is not known. If the order is valid until the control
    /// word changes, the leaf keeps the order.
    #[inline(never)]
    fn sort(&self, control: Control, order: &mut Order) -> Result<bool> {
        let bits;
        (*order, bits) = self.block.order(self.leaf.extent())?;
        let is_decided = self.is_decided(control, bits);
        if is_decided && let Some(claims) = self.leaf.claims_in_order::<D::Keys>(control) {
            self.leaf.order.keep(claims, &order.0);
        }
        Ok(is_decided)
    }

    /// Whether no claimed slot outside of `order` can become an entry. `order` has one bit for each slot of an order
    /// that was found after `control` was read. `false` for a closing leaf: such a leaf may already have a successor,
    /// which gets the later entries.
    pub(crate) fn is_decided(&self, control: Control, order: u64) -> bool {
        // Reads the current state of a slot, not the state that the order found: an insert that was PENDING then may
        // have returned. (If the two numbers of slots are equal but the slots are not, a slot was claimed since
        // `control` was read: the control word has changed, and never changes back.)
        let is_gone = |slot| matches!(self.block.word(slot).state(), State::Dead | State::Killed);
        control.claims().is_some_and(|claims| {
            claims.total::<D::Keys>() == order.count_ones() as usize
                || slots(claims.slots::<D::Keys>() & !order).all(is_gone)
        })
    }
}
