//! Every flush, fence, drain, store, exchange and `Release` of the NBTree is faulted in turn, and a part of
//! a campaign must notice. `killers.txt` says which part notices what; `listed.txt` what none can, and why.
//!
//! ```text
//! cargo test --release -p endura-sim --test nbtree -- --ignored --nocapture everything_anew
//! ```

mod after;
mod parts;

use endura_sim::mutate::Campaign;

use parts::Part;

fn campaign() -> Campaign<Part> {
    let is_meant = |file: &str| file.contains("tree/nbtree/");
    Campaign::new(env!("CARGO_MANIFEST_DIR"), "tests/nbtree", parts::all(), is_meant)
}

#[test]
fn what_is_not_listed_is_killed() {
    campaign().check(0).unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
#[ignore = "looks for everything anew"]
fn everything_anew() {
    campaign().look_for_all().unwrap_or_else(|wrong| panic!("{wrong}"));
}
