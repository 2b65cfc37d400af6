//! FAST & FAIR trees with three, four, and six to eight records in a node.

use endura_sim::subjects::FastFair;
use endura_variants::fast_fair::STEPS;

use crate::exhaustive::{LONG, Plan, SHORT, TWO_CRASHES, add_starts, add_walks, assert_whole};
use crate::jobs::{self, GUARD, Job};
use crate::killed::{assert_clean, killed};
use crate::kinds::{Order, Region};
use crate::random::{self, assert_enough_of_each, explore, without_end};

/// Starts, by a name: where the keys lie, and how they came there.
pub(crate) type Starts = (&'static str, Region, Order);

/// Those of every run of the tests.
pub(crate) const FEW: [Starts; 1] = [("sequences", Region::Low, Order::Ascending)];
pub(crate) const MANY: [Starts; 4] = [
    FEW[0],
    ("around the middle", Region::Middle, Order::Ascending),
    ("from 0 to MAX", Region::Ends, Order::Ascending),
    ("in worn trees", Region::Low, Order::Worn),
];

fn add_shapes(jobs: &mut Vec<Job>, starts: &[Starts], plan: Plan) {
    for &starts in starts {
        add_starts::<FastFair<24, 24>>(jobs, starts, 9, plan);
        add_starts::<FastFair<22, 22>>(jobs, starts, 8, plan);
        add_starts::<FastFair<20, 20>>(jobs, starts, 7, plan);
        add_starts::<FastFair<16, 16>>(jobs, starts, 5, plan);
        add_starts::<FastFair<14, 14>>(jobs, starts, 4, plan);
    }
}

#[test]
fn every_crash_of_every_short_history_of_a_small_tree() {
    // Walks last: if the time is up, they go on until each step was crossed.
    let mut jobs = Vec::new();
    add_shapes(&mut jobs, &FEW, SHORT);
    add_walks::<FastFair<14, 14>>(&mut jobs, 12, 4, TWO_CRASHES);
    assert_whole(&jobs::run(jobs, GUARD, &STEPS), &STEPS);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn every_crash_of_every_history_of_three_operations() {
    let mut jobs = Vec::new();
    add_walks::<FastFair<14, 14>>(&mut jobs, 12, 6, TWO_CRASHES);
    add_shapes(&mut jobs, &MANY, LONG);
    assert_whole(&jobs::run(jobs, jobs::budget(), &STEPS), &STEPS);
}

const SHAPES: &[random::Shape] = &[
    ("3 records in a node", explore::<FastFair<14, 14>>, 11),
    ("4 records in a node", explore::<FastFair<16, 16>>, 14),
    ("6 records in a node", explore::<FastFair<20, 20>>, 20),
    ("8 records in a node", explore::<FastFair<24, 24>>, 26),
    ("3 in inner nodes, 7 below", explore::<FastFair<14, 22>>, 23),
];

/// What is repaired is seldom, and crashed again once in many times: here it may be missing.
fn often() -> Vec<&'static str> {
    STEPS.into_iter().filter(|step| !step.starts_with("repair.")).collect()
}

#[test]
fn crashes_of_random_histories() {
    let report = jobs::run(random::jobs(SHAPES, 1..5), GUARD, &often());
    report.assert_clean(&often());
    assert_enough_of_each(&report);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn crashes_of_random_histories_without_end() {
    assert_enough_of_each(&without_end(SHAPES, &often()));
}

#[test]
fn a_process_is_killed_and_then_the_power_fails() {
    let report = jobs::run(killed::<FastFair<14, 14>>(false), GUARD, &[]);
    assert_clean(&report);
    assert!(report.sum(None).images > 1_000);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn processes_are_killed_one_after_the_other() {
    let jobs = killed::<FastFair<14, 14>>(true)
        .chain(killed::<FastFair<16, 16>>(true))
        .chain(killed::<FastFair<22, 22>>(true));
    assert_clean(&jobs::run(jobs, jobs::budget(), &[]));
}
