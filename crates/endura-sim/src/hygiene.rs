//! What an operation flushes: all that it must, and what for nothing.

use std::collections::BTreeMap;

use crate::cache::{Cache, IsVolatile};
use crate::event::{Action, Trace};
use crate::model::Model;
use crate::site::Site;

/// How often something was done at a place, and how often for nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// How often.
    pub all: u64,
    /// How often there was nothing to be done.
    pub redundant: u64,
}

/// A store that was not certainly durable when its operation returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unflushed {
    /// The operation's number.
    pub op: usize,
    /// Where the word was stored.
    pub site: Site,
    /// Byte offset of the word.
    pub at: u64,
    /// What it was given.
    pub value: u64,
}

/// What was come across in traces.
#[derive(Debug, Clone, Default)]
pub struct Hygiene {
    /// Stores that were lost in a crash right after their operation had returned: errors, each word
    /// and operation once.
    pub unflushed: Vec<Unflushed>,
    /// Flushes of lines by place; redundant are those of lines with nothing to write back.
    pub flushes: BTreeMap<Site, Count>,
    /// Fences by place; redundant are those of threads that had flushed nothing since their last one.
    pub fences: BTreeMap<Site, Count>,
    /// Operations that returned.
    pub operations: u64,
}

impl Hygiene {
    /// Takes another account in.
    pub fn add(&mut self, other: Self) {
        self.unflushed.extend(other.unflushed);
        self.operations += other.operations;
        for (mine, others) in [(&mut self.flushes, other.flushes), (&mut self.fences, other.fences)]
        {
            for (site, count) in others {
                let of = mine.entry(site).or_default();
                of.all += count.all;
                of.redundant += count.redundant;
            }
        }
    }
}

/// Goes through a trace, under a model of ADR. (On eADR nothing is flushed; what an operation stores
/// after its own fence, to better the shape of the structure, may be lost without harm.) Words that mean nothing after a crash need not be flushed.
///
/// An operation answers for what its own thread stored: of several threads each for its own.
pub fn examine(model: Model, trace: &Trace, is_volatile: IsVolatile<'_>) -> Hygiene {
    let mut cache = Cache::new(model, trace.start.clone());
    let mut hygiene = Hygiene::default();
    for event in &trace.events {
        match event.action {
            Action::Flush { line } => {
                let count = hygiene.flushes.entry(event.site).or_default();
                count.all += 1;
                count.redundant += u64::from(!cache.is_worth_flushing(line, event.by));
            }
            Action::Fence => {
                let count = hygiene.fences.entry(event.site).or_default();
                count.all += 1;
                count.redundant += u64::from(!cache.is_worth_fencing(event.by));
            }
            Action::Acknowledge(op) => {
                hygiene.operations += 1;
                let words = unflushed(&cache, event.by, is_volatile);
                hygiene.unflushed.extend(words.map(|unflushed| Unflushed { op, ..unflushed }));
            }
            _ => {}
        }
        cache.apply(event);
    }
    hygiene
}

/// The last store to each word that a thread left behind.
fn unflushed<'c>(
    cache: &'c Cache,
    by: u32,
    is_volatile: IsVolatile<'c>,
) -> impl Iterator<Item = Unflushed> + 'c {
    let mut words = BTreeMap::new();
    for pending in cache.pending().filter(|pending| pending.by == by) {
        if !is_volatile(pending.at, &cache.visible(pending.at / 64)) {
            words.insert(pending.at, pending);
        }
    }
    let of = |(at, pending): (u64, &crate::cache::Pending)| Unflushed {
        op: 0,
        site: pending.site,
        at,
        value: pending.value,
    };
    words.into_iter().map(of)
}
