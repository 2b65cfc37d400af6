//! Every flush, fence, drain, store, exchange and `Release` of ROART is faulted in turn, and a part of a
//! campaign must notice. `killers.txt` says which part notices what; `listed.txt` what none can, and why.
//! (What only the techniques that are switched for measuring flush and wait for is not among them: nothing
//! rests on it.)
//!
//! ```text
//! cargo test --release -p endura-sim --test roart -- --ignored --nocapture everything_anew
//! ```

mod parts;
pub(crate) mod plans;

use endura_sim::mutate::Campaign;

use parts::Part;

fn campaign() -> Campaign<Part> {
    let is_meant = |file: &str| file.contains("tree/roart/");
    Campaign::new(env!("CARGO_MANIFEST_DIR"), "tests/roart", parts::all(), is_meant)
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
