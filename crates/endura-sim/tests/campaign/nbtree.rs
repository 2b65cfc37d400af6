//! NBTrees of three, seven and eleven slots in a block, under inner nodes of four children: every numbered step
//! is crossed by a crash.
//!
//! ```text
//! ENDURA_SIM_SECONDS=3600 cargo test --release -p endura-sim --test campaign -- --ignored --nocapture nbtree
//! ```

use endura_sim::subjects::NbTree;
use endura_variants::nbtree::STEPS;

use crate::exhaustive::{
    LONG, ONE_CRASH, Plan, SHORT, TWO_CRASHES, add_starts, add_walks, assert_whole,
};
use crate::fast_fair::{FEW, MANY, Starts};
use crate::jobs::{self, Job, SMALL_GUARD};
use crate::killed::{assert_clean, killed};
use crate::random::{self, explore, without_end};

type Slots3 = NbTree<8, 4>;
type Slots11 = NbTree<24, 4>;
type Slots7 = NbTree<16, 4>;

fn add_shapes(jobs: &mut Vec<Job>, starts: &[Starts], plan: Plan) {
    for &starts in starts {
        add_starts::<Slots3>(jobs, starts, 5, plan);
        add_starts::<Slots7>(jobs, starts, 8, plan);
        add_starts::<Slots11>(jobs, starts, 12, plan);
    }
}

#[test]
fn every_crash_of_every_short_history_of_a_small_nbtree() {
    let mut jobs = Vec::new();
    // First: these go through every step, and a campaign does not end before.
    add_walks::<Slots3>(&mut jobs, 12, 0, ONE_CRASH);
    add_shapes(&mut jobs, &FEW, SHORT);
    assert_whole(&jobs::run(jobs, SMALL_GUARD, &STEPS), &STEPS);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn every_crash_of_every_history_of_three_operations_on_an_nbtree() {
    let mut jobs = Vec::new();
    add_walks::<Slots3>(&mut jobs, 12, 6, TWO_CRASHES);
    add_walks::<Slots7>(&mut jobs, 20, 4, TWO_CRASHES);
    add_shapes(&mut jobs, &MANY, LONG);
    assert_whole(&jobs::run(jobs, jobs::budget(), &STEPS), &STEPS);
}

const SHAPES: &[random::Shape] = &[
    ("3 slots in a block", explore::<Slots3>, 14),
    ("11 slots in a block", explore::<Slots11>, 20),
    ("7 slots in a block", explore::<Slots7>, 26),
];

#[test]
fn crashes_of_random_histories_of_nbtrees() {
    jobs::run(random::jobs(SHAPES, 1..5), SMALL_GUARD, &STEPS).assert_clean(&STEPS);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn crashes_of_random_histories_of_nbtrees_without_end() {
    without_end(SHAPES, &STEPS);
}

#[test]
fn a_process_with_an_nbtree_is_killed_and_then_the_power_fails() {
    let report = jobs::run(killed::<Slots3>(false), SMALL_GUARD, &[]);
    assert_clean(&report);
    assert!(report.sum(None).images > 1_000);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn processes_with_nbtrees_are_killed_one_after_the_other() {
    let jobs = killed::<Slots3>(true).chain(killed::<Slots7>(true));
    assert_clean(&jobs::run(jobs, jobs::budget(), &[]));
}
