//! `flush_all`: all items that were stored before a moment are gone at once, and are removed by and by.

use std::sync::atomic::{AtomicU64, Ordering};

use endura::{Map, Result};

/// The entry with the number from which on stores count.
const FIRST: &str = "first cas that counts";
/// The entry with the time of a flush to come; 0 for none.
const PLANNED: &str = "flush planned at";

/// From which store on items count.
#[derive(Debug)]
pub(super) struct Flushes {
    facts: Map<str, u64>,
    first: AtomicU64,
    planned: AtomicU64,
}

impl Flushes {
    pub(super) fn open(facts: Map<str, u64>) -> Result<Self> {
        let [first, planned] = [facts.get(FIRST)?, facts.get(PLANNED)?]
            .map(|found| AtomicU64::new(found.unwrap_or(0)));
        Ok(Self { facts, first, planned })
    }

    /// Whether the item of a store with this number is gone by a flush.
    pub(super) fn took(&self, cas: u64) -> bool {
        // Relaxed: a flush that has returned is seen by whoever knows that it has.
        cas < self.first.load(Ordering::Relaxed)
    }

    /// All stores with smaller numbers are gone, and a flush to come is forgotten. Durable as a write of the map is.
    pub(super) fn flush(&self, next: u64) -> Result<()> {
        self.facts.update(FIRST, |first| next.max(first.unwrap_or(0)))?;
        self.first.fetch_max(next, Ordering::Relaxed);
        self.plan(0)
    }

    /// A flush is to come at this time, in place of one that was to come.
    pub(super) fn plan(&self, at: u32) -> Result<()> {
        self.facts.put(PLANNED, u64::from(at))?;
        // Relaxed: looked at each second.
        self.planned.store(u64::from(at), Ordering::Relaxed);
        Ok(())
    }

    /// Whether a flush that was planned is due.
    pub(super) fn is_due(&self, now: u32) -> bool {
        let planned = self.planned.load(Ordering::Relaxed);
        planned != 0 && planned <= u64::from(now)
    }
}
