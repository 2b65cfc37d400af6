//! NBTrees of byte strings: blocks of four slots, and of eight, with words of one byte and no fingerprints, so that equal words
//! are the rule, and with words of seven.
//!
//! ```text
//! ENDURA_SIM_SECONDS=3600 cargo test --release -p endura-sim --test campaign -- --ignored --nocapture nb_bytes
//! ```

use endura_engine::tree::key_word::{One, Seven};
use endura_sim::subjects::NbBytes;
use endura_variants::nbtree;

use crate::exhaustive::{LONG, ONE_CRASH, SHORT, TWO_CRASHES, add_starts, add_walks, assert_whole};
use crate::fast_fair::{FEW, MANY};
use crate::jobs::{self, Job, SMALL_GUARD};
use crate::killed::{assert_clean, killed};
use crate::random::{self, explore, without_end};

type Ties = NbBytes<16, 4, One>;
type Words = NbBytes<16, 4, Seven>;
type Slots8 = NbBytes<24, 4, One>;

/// Those of the tree, and those of a write that links a record. (Fingerprints are read by the first operation of a session:
/// there is one partition.)
fn steps() -> Vec<&'static str> {
    let of_tree = nbtree::STEPS.into_iter().filter(|step| *step != "read.fingerprints");
    of_tree.chain(["write.found", "write.record"]).collect()
}

#[test]
fn every_crash_of_every_short_history_of_an_nbtree_of_byte_strings() {
    let mut jobs = Vec::new();
    // First: these go through every step, and a campaign does not end before.
    add_walks::<Ties>(&mut jobs, 12, 0, ONE_CRASH);
    add_walks::<Words>(&mut jobs, 12, 0, ONE_CRASH);
    FEW.into_iter().for_each(|starts| add_starts::<Ties>(&mut jobs, starts, 6, SHORT));
    assert_whole(&jobs::run(jobs, SMALL_GUARD, &steps()), &steps());
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn every_crash_of_every_history_of_three_operations_on_nb_bytes() {
    let mut jobs: Vec<Job> = Vec::new();
    add_walks::<Ties>(&mut jobs, 12, 6, TWO_CRASHES);
    add_walks::<Words>(&mut jobs, 12, 6, TWO_CRASHES);
    add_walks::<Slots8>(&mut jobs, 20, 4, TWO_CRASHES);
    for starts in MANY {
        add_starts::<Ties>(&mut jobs, starts, 6, LONG);
        add_starts::<Words>(&mut jobs, starts, 6, LONG);
    }
    assert_clean(&jobs::run(jobs, jobs::budget(), &[]));
}

const SHAPES: &[random::Shape] = &[
    ("ties, 4 slots", explore::<Ties>, 14),
    ("words, 4 slots", explore::<Words>, 14),
    ("ties, 8 slots", explore::<Slots8>, 26),
];

#[test]
fn crashes_of_random_histories_of_nbtrees_of_byte_strings() {
    jobs::run(random::jobs(SHAPES, 1..5), SMALL_GUARD, &steps()).assert_clean(&steps());
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn crashes_of_random_histories_of_nb_bytes_without_end() {
    without_end(SHAPES, &steps());
}

#[test]
fn a_process_with_an_nbtree_of_byte_strings_is_killed_and_then_the_power_fails() {
    let report = jobs::run(killed::<Ties>(false).chain(killed::<Words>(false)), SMALL_GUARD, &[]);
    assert_clean(&report);
    assert!(report.sum(None).images > 1_000);
}
