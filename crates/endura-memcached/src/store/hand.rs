//! The hand: it walks the items in key order, round and round, and evicts some of those that it meets.

use std::ops::{Bound, ControlFlow};

use endura::Result;

use super::counters::Counter;
use super::evictions::{Evictions, Hand};
use super::item::Item;
use super::items::{Store, is_dead};
use super::levels::record_bytes;
use crate::eviction::{Print, Sample, Worth, faded};

/// An item that the hand has met.
#[derive(Debug, Clone, Copy)]
pub(super) struct Met {
    /// Bytes of its record.
    pub(super) record: u64,
    pub(super) worth: Worth,
}

/// What happens to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Stays,
    Goes,
}

/// What the hand has done.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// How many items were evicted.
    pub(super) gone: usize,
    /// Whether the hand has come to the end of the map, and starts again.
    pub(super) is_round: bool,
}

/// An item that goes, as it was met.
#[derive(Debug)]
struct Chosen {
    key: Vec<u8>,
    cas: u64,
}

impl Hand {
    /// Meets `count` items. Dead ones go in any case. For each of the others `decide` says what happens to it.
    pub(super) fn step(
        &mut self,
        store: &Store,
        evictions: &Evictions,
        (count, now): (usize, u32),
        mut decide: impl FnMut(&Sample, Met) -> Fate,
    ) -> Result<Done> {
        let (items, epoch) = (store.count()?, store.epoch());
        let from = self.behind.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let (mut chosen, mut dead, mut last, mut seen) = (Vec::new(), Vec::new(), None, 0);
        let sample = &mut self.sample;
        let look = |key: &[u8], bytes: &[u8], length: usize| {
            seen += 1;
            if is_dead(bytes, epoch, now) {
                dead.push(key.to_vec());
            } else if let Some(item) = Item::of(bytes) {
                let worth = Worth::new(evictions.fetches.count(Print::of(key)), item.cas);
                let met = Met { record: record_bytes(key.len(), length), worth };
                sample.meet(worth, met.record, items);
                if decide(sample, met) == Fate::Goes {
                    let (key, cas) = (key.to_vec(), item.cas);
                    chosen.push(Chosen { key, cas });
                }
            }
            if seen == count {
                last = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        store.entries_behind(from, look)?;
        self.behind = last;
        for key in dead {
            store.remove_dead(&key, now)?;
        }
        let mut done = Done { gone: 0, is_round: self.behind.is_none() };
        for it in chosen {
            if evict(store, evictions, &it.key, Some(it.cas))? {
                evictions.fetches.fade(faded(items), evictions.chance());
                done.gone += 1;
            }
        }
        Ok(done)
    }
}

/// Removes an item, if it is still the one that a store with this number has made, where there is a number.
pub(super) fn evict(
    store: &Store,
    evictions: &Evictions,
    key: &[u8],
    cas: Option<u64>,
) -> Result<bool> {
    let Some(old) = store.bytes_of(key)? else { return Ok(false) };
    let is_same = Item::of(&old).is_some_and(|item| cas.is_none_or(|cas| item.cas == cas));
    if !is_same || !store.exchange(key, &old, None)? {
        return Ok(false);
    }
    store.counters().count(Counter::Evictions);
    if !evictions.fetches.was_fetched(Print::of(key)) {
        store.counters().count(Counter::EvictedUnfetched);
    }
    Ok(true)
}
