//! Every flush, fence, drain, store, exchange and `Release` of ROART, and of the records below it, is faulted in turn, and a part of a
//! campaign must notice. `killers.txt` says which part notices what; a comment at the call why none can.
//! (What only the techniques that are switched for measuring flush and wait for is not among them: nothing
//! rests on it.)
//!
//! ```text
//! cargo test --release -p endura-sim --test roart -- --ignored --nocapture everything_anew
//! ```

mod parts;
pub(crate) mod plans;

use endura_sim::mutate::{Area, Campaign};

use parts::Part;

const AREAS: &[Area] = &[Area { folder: "roart", least: 45 }, Area { folder: "records", least: 4 }];

fn campaign() -> Campaign<Part> {
    Campaign::new(env!("CARGO_MANIFEST_DIR"), "tests/roart", AREAS, parts::all())
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
