//! A radix node of four children, as ROART has it: the children are persistent, how many there are
//! is found out once per session.
//!
//! Line 0: the latch that one of the faults keeps there. Line 1: four words of key byte and child.
//! Lines 2 and 3: keys and children apart, as one of the faults stores them.

use std::cell::Cell;

use endura_engine::media::{Media, Ordering};
use endura_sim::choose::Random;
use endura_sim::sim::Sim;
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::MapOp;

use crate::hunt::{Campaign, Hunt, words};
use crate::table::Planted;

use std::collections::BTreeMap;

const LATCH: u64 = 0;
const ENTRIES: u64 = 64;
const KEYS: u64 = 128;
const CHILDREN: u64 = 192;
const WAYS: usize = 4;

/// The node, with a fault or without.
pub(crate) struct Radix(pub(crate) Option<Planted>);

pub(crate) struct Open {
    medium: Sim,
    bug: Option<Planted>,
    /// Slots in use; `None` until somebody has looked in this session.
    count: Cell<Option<usize>>,
}

impl Open {
    fn has(&self, bug: Planted) -> bool {
        self.bug == Some(bug)
    }

    /// Key and child of a slot; the key 0 is none.
    fn slot(&self, slot: usize) -> Result<(u64, u64), Finding> {
        let load = |at| words::<WAYS>(&self.medium, at).map(|w| w.load(slot, Ordering::Acquire));
        if self.has(Planted::KeyAndChildApart) {
            return Ok((load(KEYS)?, load(CHILDREN)?));
        }
        let word = load(ENTRIES)?;
        Ok((word >> 48, word & 0xFFFF_FFFF_FFFF))
    }

    fn set_slot(&self, slot: usize, key: u64, child: u64) -> Result<(), Finding> {
        let stores = match self.has(Planted::KeyAndChildApart) {
            true => vec![(KEYS, key), (CHILDREN, child)],
            // One word: the compressed entry of the paper.
            false => vec![(ENTRIES, key << 48 | child)],
        };
        for (at, value) in stores {
            let line = words::<WAYS>(&self.medium, at)?;
            line.store(slot, value, Ordering::Release);
            line.flush(slot, 1);
        }
        // Before the operation returns.
        self.medium.drain();
        Ok(())
    }

    /// Counts the children once per session.
    fn count(&self) -> Result<usize, Finding> {
        if let Some(count) = self.count.get() {
            return Ok(count);
        }
        let latch = words::<1>(&self.medium, LATCH)?;
        let is_persistent = self.has(Planted::PersistentLatch);
        if is_persistent {
            while latch.load(0, Ordering::Acquire) != 0 {}
            latch.store(0, 1, Ordering::Release);
        }
        let mut count = 0;
        for slot in 0..WAYS {
            if self.slot(slot)?.0 != 0 {
                count = if self.has(Planted::RebuiltCountOffByOne) { slot } else { slot + 1 };
            }
        }
        self.count.set(Some(count));
        if is_persistent {
            latch.store(0, 0, Ordering::Release);
        }
        Ok(count)
    }

    fn put(&self, key: u64, child: u64) -> Result<Option<u64>, Finding> {
        let count = self.count()?;
        for slot in 0..WAYS {
            let (known, old) = self.slot(slot)?;
            if known == key {
                self.set_slot(slot, key, child)?;
                return Ok(Some(old));
            }
        }
        self.set_slot(count, key, child)?;
        self.count.set(Some(count + 1));
        Ok(None)
    }
}

impl Subject for Radix {
    type Open = Open;
    type Op = MapOp;
    type Answer = Option<u64>;
    type Model = BTreeMap<u64, u64>;

    fn create(&self, medium: Sim) -> Result<Open, Finding> {
        medium.grow(4096).map_err(|error| error.to_string())?;
        self.open(medium, 1)
    }

    fn open(&self, medium: Sim, _: u64) -> Result<Open, Finding> {
        Ok(Open { medium, bug: self.0, count: Cell::new(None) })
    }

    fn empty(&self) -> Self::Model {
        BTreeMap::new()
    }

    fn apply(&self, open: &Open, op: &MapOp) -> Result<Option<u64>, Finding> {
        match *op {
            MapOp::Put(key, child) => open.put(key, child),
            _ => Err("children stay".to_owned()),
        }
    }

    fn specify(&self, model: &mut Self::Model, op: &MapOp) -> Option<u64> {
        op.specify(model, |value| value).map(|(_, old)| old)
    }

    fn observe(&self, open: &Open) -> Result<Self::Model, Finding> {
        let slots = (0..WAYS).map(|slot| open.slot(slot)).collect::<Result<Vec<_>, _>>()?;
        Ok(slots.into_iter().filter(|slot| slot.0 != 0).collect())
    }

    fn continuation(&self, model: &Self::Model, _: &mut Random) -> Vec<MapOp> {
        let free = (1..).filter(|key| !model.contains_key(key));
        free.take(WAYS - model.len()).map(|key| MapOp::Put(key, key)).collect()
    }
}

/// Each child, new or replaced, in nodes of none to three.
pub(crate) fn hunt(bug: Option<Planted>) -> Hunt {
    let starts = (1..WAYS as u64).map(|n| (1..=n).map(|key| MapOp::Put(key, 10 + key)).collect());
    let ops: Vec<MapOp> = (1..=WAYS as u64).map(|key| MapOp::Put(key, 20)).collect();
    Campaign::of(&ops).from(starts).hunt(&Radix(bug), None)
}
