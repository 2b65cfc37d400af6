//! Every flush, fence, drain, store, exchange and `Release` of the NBTree is faulted in turn, and a part of
//! a campaign must notice. `killers.txt` says which part notices what; a comment at the call why none can.
//!
//! ```text
//! cargo test --release -p endura-sim --test nbtree -- --ignored --nocapture everything_anew
//! ```

mod after;
mod parts;

use endura_sim::mutate::{Area, Campaign};

use parts::Part;

const AREAS: &[Area] = &[Area { folder: "nbtree", least: 45 }];

fn campaign() -> Campaign<Part> {
    Campaign::new(env!("CARGO_MANIFEST_DIR"), "tests/nbtree", AREAS, parts::all())
}

#[test]
fn what_is_not_excused_is_killed() {
    campaign().check().unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
#[ignore = "looks for everything anew"]
fn everything_anew() {
    campaign().look_for_all().unwrap_or_else(|wrong| panic!("{wrong}"));
}
