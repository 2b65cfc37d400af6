//! Several threads on tiny FAST & FAIR trees, under many schedules, with crashes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod directed;
mod fair_bytes;
mod families;
mod nb_bytes;
mod preemptions;
mod reuse;
mod seats;
mod whole;

use endura_sim::model::Model;
use endura_sim::schedule::Campaign;
use endura_sim::subjects::{FastFair, LIMIT};

/// Three records in a leaf and in an inner node.
type Cap3 = FastFair<14, 14>;
/// Four: one line of records.
type Cap4 = FastFair<16, 16>;

fn keys() -> Vec<u64> {
    (1..=12).map(|i| 10 * i).collect()
}

fn cap3(model: Model, crashes: usize) -> Campaign<Cap3> {
    Campaign::new(FastFair::about(keys()), model, LIMIT, crashes)
}

fn cap4(model: Model, crashes: usize) -> Campaign<Cap4> {
    Campaign::new(FastFair::about(keys()), model, LIMIT, crashes)
}
