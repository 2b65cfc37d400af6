//! Every flush, fence, drain, store, exchange and `Release` of FAST & FAIR of byte strings is left out or relaxed in turn, and
//! a part of a campaign must notice. `killers.txt` says which part notices what; a comment at the call why none can. (The
//! lock and the header of a node are those of the tree of numbers, whose own campaign leaves their calls out. The records
//! are those of ROART, and what links them is not: so they are left out here as well.)
//!
//! ```text
//! cargo test --release -p endura-sim --test fair_bytes -- --ignored --nocapture everything_anew
//! ```

mod after;
mod directed;
mod duels;
mod parts;
mod plans;
mod runs;

use endura_sim::mutate::{Area, Campaign};

use parts::Part;

const AREAS: &[Area] =
    &[Area { folder: "fast_fair_bytes", least: 80 }, Area { folder: "records", least: 4 }];

fn campaign() -> Campaign<Part> {
    Campaign::new(env!("CARGO_MANIFEST_DIR"), "tests/fair_bytes", AREAS, parts::all())
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
