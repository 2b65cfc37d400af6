//! Every flush, fence, drain, store, exchange and `Release` of FAST & FAIR, and of the pool below it, is
//! faulted in turn, and a campaign must notice. Which part notices what stands in `killers.txt`, why nothing
//! can notice a fault at its call.
//!
//! The campaign has tens of thousands of parts (`parts.rs`); how it is run, and by which variables parts and
//! faults are chosen, stands at `endura_sim::mutate`.
//!
//! ```text
//! cargo test --release -p endura-sim --test mutation -- --ignored --nocapture
//! ```

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod duels;
mod killed_pool;
mod parts;
mod plans;
mod pool;
mod sweeps;

use endura_sim::mutate::{Area, Campaign};

use parts::Part;

const AREAS: &[Area] =
    &[Area { folder: "fast_fair", least: 80 }, Area { folder: "space", least: 45 }];

fn campaign() -> Campaign<Part> {
    Campaign::new(env!("CARGO_MANIFEST_DIR"), "tests/mutation", AREAS, parts::all())
}

#[test]
fn what_is_not_excused_is_killed() {
    campaign().check().unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
#[ignore = "an hour: looks for everything anew"]
fn everything_anew() {
    campaign().look_for_all().unwrap_or_else(|wrong| panic!("{wrong}"));
}
