//! A FAST leaf: entries are kept sorted by shifting them one by one, and the key is the commit.
//!
//! Six slots of key and value, four in a line, from line 1 on. A slot is live if its key is not 0
//! and differs from its right neighbour's; of two equal keys the right one counts. Line 0 holds the
//! count that one of the faults trusts. The rules are those of `docs/trees.md`; the faults are what
//! the published algorithm and its sources do instead.

use std::collections::BTreeMap;

use endura_engine::media::{Media, Ordering, Span};
use endura_sim::choose::Random;
use endura_sim::sim::Sim;
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::MapOp;

use crate::hunt::{Campaign, Hunt, words};
use crate::table::Planted;

const CAP: usize = 6;
const PER_LINE: usize = 4;
const RECORDS: usize = 8;
const DEAD: u64 = 0;

/// The leaf, with a fault or without.
pub(crate) struct Leaf(pub(crate) Option<Planted>);

struct Slots<'m> {
    words: Span<'m, Sim, { RECORDS + 2 * CAP }>,
    bug: Option<Planted>,
}

impl Slots<'_> {
    fn has(&self, bug: Planted) -> bool {
        self.bug == Some(bug)
    }

    fn key(&self, slot: usize) -> u64 {
        if slot < CAP { self.words.load(RECORDS + 2 * slot, Ordering::Acquire) } else { DEAD }
    }

    fn value(&self, slot: usize) -> u64 {
        self.words.load(RECORDS + 2 * slot + 1, Ordering::Acquire)
    }

    /// In program order within a line, which `Relaxed` stores do not promise.
    fn store(&self, word: usize, to: u64) {
        let relaxed = self.has(Planted::FastRelaxedStores);
        let order = if relaxed { Ordering::Relaxed } else { Ordering::Release };
        self.words.store(RECORDS + word, to, order);
    }

    fn set(&self, slot: usize, (key, value): (u64, u64)) {
        if self.has(Planted::FastKeyBeforeValue) {
            self.store(2 * slot, key);
            self.store(2 * slot + 1, value);
        } else {
            self.store(2 * slot + 1, value);
            self.store(2 * slot, key);
        }
    }

    fn flush(&self, slot: usize) {
        self.words.flush(RECORDS + 2 * slot, 2);
    }

    fn fence(&self) {
        self.words.media().fence();
    }

    /// Slots up to the first dead key.
    fn count(&self) -> usize {
        match self.has(Planted::FastCountPersisted) {
            true => self.words.load(0, Ordering::Acquire) as usize,
            false => (0..CAP).find(|&slot| self.key(slot) == DEAD).unwrap_or(CAP),
        }
    }

    fn set_count(&self, count: usize) {
        if self.has(Planted::FastCountPersisted) {
            self.words.store(0, count as u64, Ordering::Release);
            self.words.flush(0, 1);
            self.fence();
        }
    }

    fn is_live(&self, slot: usize) -> bool {
        let is_last = slot + 1 == CAP || self.key(slot + 1) == DEAD;
        let looks_moved = self.has(Planted::FastLivenessByValues)
            && !is_last
            && self.value(slot) == self.value(slot + 1);
        self.key(slot) != DEAD && self.key(slot) != self.key(slot + 1) && !looks_moved
    }

    fn entries(&self) -> Vec<(u64, u64)> {
        let until = (0..CAP).find(|&slot| self.key(slot) == DEAD).unwrap_or(CAP);
        let live = (0..until).filter(|&slot| self.is_live(slot));
        live.map(|slot| (self.key(slot), self.value(slot))).collect()
    }

    /// Entries move right, last first; a line is durable before what it took over is overwritten.
    fn insert(&self, at: usize, entry: (u64, u64)) {
        let count = self.count();
        for slot in (at..count).rev() {
            self.set(slot + 1, (self.key(slot), self.value(slot)));
            if (slot + 1) % PER_LINE == 0 {
                self.flush(slot + 1);
                self.fence();
            }
        }
        if at == 0 && self.has(Planted::FastTerminatorFirst) {
            self.store(0, DEAD);
        }
        self.set(at, entry);
        self.flush(at);
        self.fence();
        self.set_count(count + 1);
    }

    /// The key becomes its neighbour's, which is the commit; then entries move left.
    fn delete(&self, at: usize) {
        let count = self.count();
        self.store(2 * at, self.key(at + 1));
        for slot in at..count - 1 {
            self.store(2 * slot + 1, self.value(slot + 1));
            let first = (slot + 1) % PER_LINE == 0;
            if first && !self.has(Planted::FastDeleteFlushesHead) {
                // Full: durable before the next line gives up what was copied here.
                self.flush(slot);
                self.fence();
            }
            self.store(2 * (slot + 1), self.key(slot + 2));
            if first && self.has(Planted::FastDeleteFlushesHead) {
                self.flush(slot + 1);
                self.fence();
            }
        }
        if !self.has(Planted::FastDeleteTailUnflushed) {
            self.flush(count - 1);
            if !self.has(Planted::PopBeforeDurable) {
                self.fence();
            }
        }
        self.set_count(count - 1);
    }

    /// Takes out what a crash left in two places.
    fn drop_duplicates(&self) {
        let twice = |&slot: &usize| self.key(slot) != DEAD && self.key(slot) == self.key(slot + 1);
        while let Some(slot) = (0..CAP - 1).find(twice) {
            self.delete(slot);
        }
    }

    /// Takes out the first or the last entry.
    fn pop(&self, smallest: bool) -> Option<(u64, u64)> {
        let count = self.count();
        let at = if smallest { 0 } else { count.checked_sub(1)? };
        let entry = (count > 0).then(|| (self.key(at), self.value(at)))?;
        match count > 1 && self.has(Planted::PopTakesTheNeighbour) {
            true => self.delete(at.abs_diff(1)),
            false => self.delete(at),
        }
        Some(entry)
    }

    fn apply(&self, op: MapOp) -> Option<(u64, u64)> {
        if !self.has(Planted::FastDeleteIgnoresDuplicates) {
            self.drop_duplicates();
        }
        let key = match op {
            MapOp::Put(key, _) | MapOp::Remove(key) => key,
            MapOp::PopFirst | MapOp::PopLast => return self.pop(op == MapOp::PopFirst),
        };
        let at = (0..self.count()).find(|&slot| self.key(slot) >= key).unwrap_or(self.count());
        let old = (at < CAP && self.key(at) == key).then(|| self.value(at));
        match (op, old) {
            (MapOp::Put(_, value), Some(_)) => {
                self.store(2 * at + 1, value);
                self.flush(at);
                self.fence();
            }
            (MapOp::Put(..), None) if self.count() == CAP => {}
            (MapOp::Put(key, value), None) => self.insert(at, (key, value)),
            (MapOp::Remove(_), Some(_)) => self.delete(at),
            _ => {}
        }
        old.map(|old| (key, old))
    }
}

impl Leaf {
    fn slots<'m>(&self, medium: &'m Sim) -> Result<Slots<'m>, Finding> {
        Ok(Slots { words: words(medium, 0)?, bug: self.0 })
    }
}

impl Subject for Leaf {
    type Open = Sim;
    type Op = MapOp;
    type Answer = Option<(u64, u64)>;
    type Model = BTreeMap<u64, u64>;

    fn create(&self, medium: Sim) -> Result<Sim, Finding> {
        medium.grow(4096).map_err(|error| error.to_string())?;
        Ok(medium)
    }

    fn open(&self, medium: Sim, _: u64) -> Result<Sim, Finding> {
        Ok(medium)
    }

    fn empty(&self) -> Self::Model {
        BTreeMap::new()
    }

    fn apply(&self, medium: &Sim, op: &MapOp) -> Result<Self::Answer, Finding> {
        Ok(self.slots(medium)?.apply(*op))
    }

    /// A full leaf takes no further key.
    fn specify(&self, model: &mut Self::Model, op: &MapOp) -> Self::Answer {
        match op {
            MapOp::Put(key, _) if model.len() == CAP && !model.contains_key(key) => None,
            _ => op.specify(model, |value| value),
        }
    }

    fn observe(&self, medium: &Sim) -> Result<Self::Model, Finding> {
        let entries = self.slots(medium)?.entries();
        match entries.is_sorted_by(|a, b| a.0 < b.0) {
            true => Ok(entries.into_iter().collect()),
            false => Err(format!("{entries:?}")),
        }
    }

    fn continuation(&self, model: &Self::Model, random: &mut Random) -> Vec<MapOp> {
        let keys: Vec<u64> = model.keys().copied().collect();
        match random.below(2) {
            0 => keys.iter().map(|&key| MapOp::Remove(key)).collect(),
            _ => keys.iter().flat_map(|&k| [MapOp::Remove(k), MapOp::Put(k + 1, k)]).collect(),
        }
    }
}

/// Every insert, update, delete and pop of leaves of 0 to 6 entries, of which the second and the third
/// have the same value.
pub(crate) fn hunt(bug: Option<Planted>) -> Hunt {
    let starts =
        (1..=CAP as u64).map(|n| (1..=n).map(|i| MapOp::Put(10 * i, 100 + i / 2)).collect());
    let ops: Vec<MapOp> = (1..=CAP as u64)
        .flat_map(|i| [MapOp::Put(10 * i - 5, 7), MapOp::Put(10 * i, 8), MapOp::Remove(10 * i)])
        .chain([MapOp::PopFirst, MapOp::PopLast])
        .collect();
    Campaign::of(&ops).from(starts).hunt(&Leaf(bug), None)
}
