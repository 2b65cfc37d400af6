//! Scenarios that `docs/trees.md` names, under the models of power failure: those of FAST & FAIR (F) and of
//! the allocator (A). Their counterparts for the end of a process stand in endura's own tests.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod alone;
mod batches;
mod full;
mod pool;
mod together;

use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::subjects::{FastFair, First, LIMIT, MapOp};
use endura_sim::tally::{Effort, Tally};

pub(crate) const MODELS: [Model; 3] = [Model::WEAKEST_ADR, Model::EADR, Model::PAGE_CACHE];

/// Everything that one crash leaves, put to long use.
pub(crate) const ONE_CRASH: Effort = Effort { depth: 1, exhaustive: 2_000, ..Effort::EXHAUSTIVE };
/// And a second crash in the open and the first operation after it.
pub(crate) const TWO_CRASHES: Effort = Effort { depth: 2, deep_ops: 1, ..ONE_CRASH };

/// The keys 10, 20, and so on, so many, in this order.
pub(crate) fn tens(count: u64) -> Vec<MapOp> {
    (1..=count).map(|i| MapOp::Put(10 * i, i)).collect()
}

/// All keys of [`tens`] and those between them.
pub(crate) fn around(count: u64) -> Vec<u64> {
    (1..=2 * count + 1).map(|i| 5 * i).collect()
}

/// Crashes all of `ops` on a tree that `before` made; whoever comes first after the crash does `first`.
/// Fails with what was found.
pub(crate) fn crash<const W: usize>(
    model: Model,
    effort: Effort,
    before: &[MapOp],
    ops: &[MapOp],
    first: &[MapOp],
) -> Tally {
    let all = [before, ops, first].concat();
    let mut keys: Vec<u64> = all.iter().filter_map(MapOp::about).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    let subject = FastFair::<W, W>::about(keys);
    let subject = First { subject: &subject, ops: first.to_vec() };
    let mut explorer = Explorer::new(&subject, model, LIMIT, effort, 1);
    let start = explorer.start(before).unwrap_or_else(|failure| panic!("{failure}"));
    explorer.explore(&start, ops, 0).unwrap_or_else(|failure| panic!("{failure}"));
    explorer.tally
}
