//! Every flush, fence, drain, store, exchange and `Release` of FAST & FAIR, and of the pool below it, is
//! faulted in turn, and a campaign must notice. What it does not notice is listed, with the reason, in
//! `listed.txt`.
//!
//! The campaign has tens of thousands of parts (`parts.rs`); how it is run, and by which variables parts and
//! faults are chosen, stands at `endura_sim::mutate::Campaign`.
//!
//! ```text
//! cargo test --release -p endura-sim --test mutation -- --ignored --nocapture
//! ```

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod duels;
mod parts;
mod plans;
mod pool;
mod sweeps;

use endura_sim::mutate::Campaign;

use parts::Part;

fn campaign() -> Campaign<Part> {
    let is_meant =
        |file: &str| file.contains("tree/fast_fair/") || file.contains("endura/src/pool/");
    Campaign::new(env!("CARGO_MANIFEST_DIR"), "tests/mutation", parts::all(), is_meant)
}

#[test]
fn what_is_not_listed_is_killed() {
    campaign().check(0).unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
#[ignore = "an hour: looks for everything anew"]
fn everything_anew() {
    campaign().look_for_all().unwrap_or_else(|wrong| panic!("{wrong}"));
}
