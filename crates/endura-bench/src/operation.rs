//! The operations that are measured, and one thread's share of each.

use std::ops::Range;

use hdrhistogram::Histogram;

use crate::Result;
use crate::keys::{Zipf, key, value};
use crate::store::Session;
use crate::timing::sampled;

/// Entries that one scan reads.
pub const SCAN_LENGTH: usize = 100;

/// Keys that one `get_many` looks up.
pub const BATCH: usize = 16;

/// What is measured, in the order in which it is run: each finds what the ones before it left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Inserts all keys into the empty map, in random order.
    Load,
    /// Inserts further keys into the loaded map.
    Insert,
    /// Looks up keys that are there, uniformly.
    Get,
    /// Looks up keys that are not there.
    Miss,
    /// Looks up 16 keys that are there at a time; counted in keys.
    GetMany,
    /// Reads 100 entries from a random key on; counted in scans.
    Scan,
    /// Replaces values, uniformly.
    Update,
    /// Half lookups, half replacements, of keys chosen by a Zipf law of 0.99.
    Zipf,
    /// Removes what `Insert` inserted.
    Remove,
}

impl Operation {
    /// All of them, in order.
    pub const ALL: [Self; 9] = [
        Self::Load,
        Self::Insert,
        Self::Get,
        Self::Miss,
        Self::GetMany,
        Self::Scan,
        Self::Update,
        Self::Zipf,
        Self::Remove,
    ];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Insert => "insert",
            Self::Get => "get",
            Self::Miss => "miss",
            Self::GetMany => "get_many 16",
            Self::Scan => "scan 100",
            Self::Update => "update",
            Self::Zipf => "zipf 50/50",
            Self::Remove => "remove",
        }
    }
}

/// How much of everything.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Sizes {
    /// Keys that a load inserts.
    pub keys: u64,
    /// Operations of each kind but load and scan.
    pub operations: u64,
}

impl Sizes {
    /// How many operations of this kind are run, all threads together.
    pub fn of(self, operation: Operation) -> u64 {
        match operation {
            Operation::Load => self.keys,
            Operation::Scan => (self.operations / 10).max(1),
            Operation::GetMany => (self.operations / BATCH as u64).max(1) * BATCH as u64,
            _ => self.operations,
        }
    }
}

/// One thread's share of one operation.
pub(crate) struct Share<'a> {
    pub(crate) operation: Operation,
    pub(crate) sizes: Sizes,
    /// Which of the operations, numbered over all threads, are this thread's.
    pub(crate) range: Range<u64>,
    pub(crate) seed: u64,
    pub(crate) zipf: &'a Zipf,
}

impl Share<'_> {
    /// Draws whatever would distort the measurement if it were drawn during it.
    pub(crate) fn prepare(&self) -> Vec<u32> {
        if self.operation != Operation::Zipf {
            return Vec::new();
        }
        let mut rng = fastrand::Rng::with_seed(self.seed);
        self.range.clone().map(|_| self.zipf.draw(&mut rng) as u32).collect()
    }

    /// Does the work; gives how many answers were wrong.
    pub(crate) fn work(
        &self,
        session: &mut impl Session,
        ranks: &[u32],
        latencies: &mut Histogram<u64>,
    ) -> Result<u64> {
        let (range, keys) = (self.range.clone(), self.sizes.keys);
        let mut rng = fastrand::Rng::with_seed(self.seed);
        match self.operation {
            Operation::Load => {
                sampled(range, latencies, |i| session.insert(key(i), value(i)).map(|()| true))
            }
            Operation::Insert => sampled(range, latencies, |i| {
                session.insert(key(keys + i), value(keys + i)).map(|()| true)
            }),
            Operation::Get => sampled(range, latencies, |_| {
                let i = rng.u64(..keys);
                Ok(session.get(key(i))? == Some(value(i)))
            }),
            Operation::Miss => {
                sampled(range, latencies, |i| Ok(session.get(key((1 << 48) + i))?.is_none()))
            }
            Operation::GetMany => get_many(session, range, keys, &mut rng, latencies),
            Operation::Scan => sampled(range, latencies, |_| {
                let (seen, sum) = session.scan(key(rng.u64(..keys)), SCAN_LENGTH)?;
                std::hint::black_box(sum);
                // Only a scan from one of the last hundred keys may be short.
                Ok(seen > 0)
            }),
            Operation::Update => sampled(range, latencies, |_| {
                let i = rng.u64(..keys);
                session.update(key(i), value(i))
            }),
            Operation::Zipf => {
                let first = range.start;
                sampled(range, latencies, |i| {
                    let rank = u64::from(ranks[(i - first) as usize]);
                    if rng.bool() {
                        Ok(session.get(key(rank))? == Some(value(rank)))
                    } else {
                        session.update(key(rank), value(rank))
                    }
                })
            }
            Operation::Remove => sampled(range, latencies, |i| session.remove(key(keys + i))),
        }
    }
}

/// Looks `range` up in batches; a latency is that of a batch.
fn get_many(
    session: &mut impl Session,
    range: Range<u64>,
    keys: u64,
    rng: &mut fastrand::Rng,
    latencies: &mut Histogram<u64>,
) -> Result<u64> {
    let mut batch = [0; BATCH];
    let batches = range.start / BATCH as u64..range.end / BATCH as u64;
    sampled(batches, latencies, |_| {
        batch.fill_with(|| key(rng.u64(..keys)));
        Ok(session.get_many(&batch)? == BATCH)
    })
}
