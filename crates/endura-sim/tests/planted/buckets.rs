//! Two buckets of a level hash table: entries are valid by a bit of their bucket's token word, and
//! move from the lower bucket to the upper one when the table grows.
//!
//! A bucket is one line: the token word, then three entries of key and value. An entry in both
//! buckets counts in the upper one.

use std::collections::BTreeMap;

use endura_engine::media::{Media, Ordering, Span};
use endura_sim::choose::Random;
use endura_sim::sim::Sim;
use endura_sim::subject::{Finding, Subject};
use endura_sim::subjects::MapOp;

use crate::hunt::{Campaign, Hunt, words};
use crate::table::Planted;

const UPPER: u64 = 0;
const LOWER: u64 = 64;
const SLOTS: usize = 3;

/// The table, with a fault or without.
pub(crate) struct Buckets(pub(crate) Option<Planted>);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Enters a new key below, or gives a key another value.
    Put(u64, u64),
    /// Moves a key up.
    Rise(u64),
}

struct Bucket<'m>(Span<'m, Sim, 8>);

impl Bucket<'_> {
    fn tokens(&self) -> u64 {
        self.0.load(0, Ordering::Acquire)
    }

    fn set_token(&self, slot: usize, valid: bool) {
        let others = self.tokens() & !(1 << slot);
        self.0.store(0, others | u64::from(valid) << slot, Ordering::Release);
    }

    fn entry(&self, slot: usize) -> (u64, u64) {
        let word = |i| self.0.load(1 + 2 * slot + i, Ordering::Acquire);
        (word(0), word(1))
    }

    fn set_entry(&self, slot: usize, (key, value): (u64, u64)) {
        self.0.store(1 + 2 * slot, key, Ordering::Release);
        self.0.store(2 + 2 * slot, value, Ordering::Release);
    }

    fn settle(&self) {
        self.0.flush(0, 8);
        self.0.media().fence();
    }

    fn find(&self, key: u64) -> Option<usize> {
        (0..SLOTS).find(|&slot| self.tokens() >> slot & 1 == 1 && self.entry(slot).0 == key)
    }

    fn vacant(&self) -> Option<usize> {
        (0..SLOTS).find(|&slot| self.tokens() >> slot & 1 == 0)
    }

    /// Writes an entry where none is valid.
    fn enter(&self, slot: usize, entry: (u64, u64), bug: Option<Planted>) {
        if bug == Some(Planted::TokenBeforeData) {
            self.set_token(slot, true);
            self.set_entry(slot, entry);
        } else {
            // In one line: the entry is durable whenever its token is.
            self.set_entry(slot, entry);
            self.set_token(slot, true);
        }
        self.settle();
    }

    fn clear(&self, slot: usize) {
        self.set_token(slot, false);
        self.settle();
    }
}

impl Buckets {
    fn bucket<'m>(&self, medium: &'m Sim, at: u64) -> Result<Bucket<'m>, Finding> {
        words(medium, at).map(Bucket)
    }

    fn put(&self, upper: &Bucket<'_>, lower: &Bucket<'_>, key: u64, value: u64) {
        // A new entry for the new value, then the old one goes: in the same bucket by one store.
        let (bucket, old) = match (upper.find(key), lower.find(key)) {
            (Some(slot), _) => (upper, Some(slot)),
            (None, slot) => (lower, slot),
        };
        let Some(slot) = bucket.vacant() else { return };
        match old {
            None => bucket.enter(slot, (key, value), self.0),
            Some(old) => {
                bucket.set_entry(slot, (key, value));
                let tokens = bucket.tokens() & !(1 << old) | 1 << slot;
                bucket.0.store(0, tokens, Ordering::Release);
                bucket.settle();
            }
        }
    }

    fn rise(&self, upper: &Bucket<'_>, lower: &Bucket<'_>, key: u64) {
        let Some(from) = lower.find(key) else { return };
        // What is in both buckets was on its way when a crash came.
        match (upper.find(key), upper.vacant()) {
            (Some(_), _) => lower.clear(from),
            (None, None) => {}
            (None, Some(to)) => {
                let entry = lower.entry(from);
                if self.0 == Some(Planted::MoveClearsFirst) {
                    lower.clear(from);
                    upper.enter(to, entry, self.0);
                } else {
                    upper.enter(to, entry, self.0);
                    lower.clear(from);
                }
            }
        }
    }
}

impl Subject for Buckets {
    type Open = Sim;
    type Op = Op;
    type Answer = ();
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

    fn apply(&self, medium: &Sim, op: &Op) -> Result<(), Finding> {
        let (upper, lower) = (self.bucket(medium, UPPER)?, self.bucket(medium, LOWER)?);
        match *op {
            Op::Put(key, value) => self.put(&upper, &lower, key, value),
            Op::Rise(key) => self.rise(&upper, &lower, key),
        }
        Ok(())
    }

    fn specify(&self, model: &mut Self::Model, op: &Op) {
        if let Op::Put(key, value) = *op {
            MapOp::Put(key, value).specify(model, |value| value);
        }
    }

    fn observe(&self, medium: &Sim) -> Result<Self::Model, Finding> {
        let mut found = BTreeMap::new();
        for at in [LOWER, UPPER] {
            let bucket = self.bucket(medium, at)?;
            let valid = (0..SLOTS).filter(|&slot| bucket.tokens() >> slot & 1 == 1);
            found.extend(valid.map(|slot| bucket.entry(slot)));
        }
        Ok(found)
    }

    fn continuation(&self, model: &Self::Model, _: &mut Random) -> Vec<Op> {
        model.keys().flat_map(|&key| [Op::Rise(key), Op::Put(key, 40 + key)]).collect()
    }
}

/// New keys, new values and moves, with up to two keys below and one above.
pub(crate) fn hunt(bug: Option<Planted>) -> Hunt {
    let one = vec![Op::Put(1, 11)];
    let two = vec![Op::Put(1, 11), Op::Rise(1), Op::Put(2, 12)];
    let ops = [Op::Put(1, 21), Op::Put(2, 22), Op::Rise(1), Op::Rise(2)];
    Campaign::of(&ops).from([one, two]).hunt(&Buckets(bug), None)
}
