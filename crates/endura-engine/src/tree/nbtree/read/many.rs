//! Batches of lookups. The descents of a batch alternate, so that their cache misses overlap.

use crate::Result;
use crate::cpu::byte_search::{Lanes, Narrow, Wide};
use crate::media::Media;
use crate::space::Guard;

use crate::tree::nbtree::blocks::block::Block;
use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::keys::form::KeyForm;
use crate::tree::nbtree::keys::key::split;
use crate::tree::nbtree::keys::numbers::NumberKeys;
use crate::tree::nbtree::metadata::leaf::slots;
use crate::tree::nbtree::metadata::links::Top;
use crate::tree::nbtree::read::lookup::{CurrentLeaf, Sought};
use crate::tree::nbtree::tree::Tree;

/// The number of lookups that run at once. More lookups would cause more cache misses at a time than the processor can
/// handle.
pub(crate) const LANES: usize = 16;

impl<M: Media, const W: usize, const FANOUT: usize, D: Design<Keys = NumberKeys>>
    Tree<M, W, FANOUT, D>
{
    /// The values of `keys`, in their order. Each lookup is linearizable by itself; the batch as a whole is not.
    pub(crate) fn lookup_many(&self, keys: &[u64]) -> Result<Vec<Option<u64>>> {
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(LANES) {
            loop {
                let guard = self.open.pin()?;
                let noted = |error| self.open.space().noted(error);
                let looked_up =
                    self.look_up_lanes(&guard, keys.iter().map(|&key| split(key)), &mut values);
                let Some(partition) = looked_up.map_err(noted)? else { break };
                drop(guard);
                self.prepare(partition).map_err(noted)?;
            }
        }
        Ok(values)
    }
}

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// Looks up at most [`LANES`] keys. Returns `Some(partition)` if no key was looked up because the index of this
    /// partition has to be made first.
    pub(crate) fn look_up_lanes<'k>(
        &self,
        guard: &Guard<'_, M>,
        keys: impl ExactSizeIterator<Item = (usize, Sought<'k, D>)>,
        values: &mut Vec<Option<u64>>,
    ) -> Result<Option<usize>> {
        // Each pass prefetches what the next one reads.
        let mut lanes = [Lane::<D>::default(); LANES];
        let lanes = &mut lanes[..keys.len()];
        for (lane, (partition, key)) in lanes.iter_mut().zip(keys) {
            let top = self.meta.roots[partition].load();
            if top == Top::NONE {
                return Ok(Some(partition));
            }
            *lane = Lane { key, level: top.level(), body: top.body(), ..Lane::default() };
        }
        match Wide::detect() {
            Some(wide) => self.descend_lanes(guard, wide, lanes),
            None => self.descend_lanes(guard, Narrow, lanes),
        }
        for lane in lanes.iter_mut() {
            let place = self.enter(guard, lane.way)?;
            lane.way = (place.number, place.block.offset());
            lane.matching = place.matching(lane.key);
            let home = Block::<M, W, D::Keys>::home_slots(D::Keys::hash(lane.key));
            let elsewhere = lane.matching & !home;
            if let Some(slot) = slots(elsewhere).next() {
                place.block.prefetch_slot(slot);
            }
        }
        for &Lane { key, way: (number, at), matching, .. } in &*lanes {
            let place = CurrentLeaf::<M, W, D>::of(
                guard.media(),
                number,
                self.meta.leaves.get(number),
                at,
            )?;
            values.push(place.find(matching, key)?.map(|slot| place.block.value(slot)));
            place.settle_answer(guard.media(), key);
        }
        Ok(None)
    }

    /// Finds the leaf of each lane, and prefetches what the lookup reads there.
    #[inline(always)]
    fn descend_lanes(&self, guard: &Guard<'_, M>, wide: impl Lanes, lanes: &mut [Lane<'_, D>]) {
        let (meta, media) = (&self.meta, guard.media());
        let (bodies, cells) = (&self.meta.bodies, &self.meta.cells);
        let highest = lanes.iter().map(|lane| lane.level).max().unwrap_or(0);
        for level in (2..=highest).rev() {
            for lane in lanes.iter_mut().filter(|lane| lane.level >= level) {
                let body = bodies.get(lane.body);
                lane.body = body.child(meta.rank(media, wide, (body, level), lane.key));
            }
        }
        for lane in lanes.iter_mut() {
            lane.body = cells.get(lane.body).load().body();
            bodies.get(lane.body).prefetch();
        }
        for lane in lanes.iter_mut() {
            let body = bodies.get(lane.body);
            lane.way = body.leaf(meta.rank(media, wide, (body, 1), lane.key));
            self.ask_for_entry(guard, lane.way, lane.key, guard.media().needs_flush());
        }
    }
}

/// The progress of one lookup.
struct Lane<'k, D: Design> {
    key: Sought<'k, D>,
    level: u32,
    /// The number of the next body on the path, then of the cell, and in the end of the body below the cell.
    body: u32,
    way: (u32, u64),
    /// The slots of the leaf that may have the key.
    matching: u64,
}

impl<D: Design> Clone for Lane<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Design> Copy for Lane<'_, D> {}

impl<D: Design> Default for Lane<'_, D> {
    fn default() -> Self {
        Self { key: Sought::<D>::default(), level: 0, body: 0, way: (0, 0), matching: 0 }
    }
}
