//! The campaigns of `exhaustive.rs`, `random.rs` and `killed.rs` for NBTrees of three, five and seven
//! slots in a block, under inner nodes of four children: every numbered step is crossed by a crash. Five
//! slots are no whole number of lines.
//!
//! ```text
//! ENDURA_SIM_SECONDS=3600 cargo test --release -p endura-sim --test campaign -- --ignored --nocapture nbtree
//! ```

use std::time::Duration;

use endura_sim::subjects::NbTree;
use endura_variants::nbtree::STEPS;

use crate::exhaustive::{
    ONE_CRASH, Order, Plan, Region, TWO_CRASHES, Tried, add_starts, add_walks,
};
use crate::jobs::{self, Job};
use crate::killed::{assert_clean, killed};
use crate::random::{self, explore};

type Slots3 = NbTree<8, 4>;
type Slots11 = NbTree<24, 4>;
type Slots7 = NbTree<16, 4>;

/// The quick ones together with the others of this crate are part of every run of the tests.
const GUARD: Duration = Duration::from_secs(6);

impl<const W: usize, const F: usize> Tried for NbTree<W, F> {
    fn of(keys: Vec<u64>) -> Self {
        Self::about(keys)
    }
}

fn add_shapes(jobs: &mut Vec<Job>, plan: Plan) {
    for &starts in plan.starts {
        add_starts::<Slots3>(jobs, starts, 3, plan);
        add_starts::<Slots11>(jobs, starts, 11, plan);
        add_starts::<Slots7>(jobs, starts, 7, plan);
    }
}

#[test]
fn every_crash_of_every_short_history_of_a_small_nbtree() {
    let plan =
        Plan { starts: &[("sequences", Region::Low, Order::Ascending)], longest: 2, twice: 1 };
    let mut jobs = Vec::new();
    // First: these go through every step, and a campaign does not end before.
    add_walks::<Slots3>(&mut jobs, 12, 0, ONE_CRASH);
    add_shapes(&mut jobs, plan);
    let report = jobs::run(jobs, GUARD, &STEPS);
    report.assert_clean(&STEPS);
    let sum = report.sum(None);
    assert_eq!(sum.points, sum.exhaustive_points, "all contents were gone through");
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn every_crash_of_every_history_of_three_operations_on_an_nbtree() {
    let plan = Plan {
        starts: &[
            ("sequences", Region::Low, Order::Ascending),
            ("around the middle", Region::Middle, Order::Ascending),
            ("from 0 to MAX", Region::Ends, Order::Ascending),
            ("in worn trees", Region::Low, Order::Worn),
        ],
        longest: 3,
        twice: 3,
    };
    let mut jobs = Vec::new();
    add_walks::<Slots3>(&mut jobs, 12, 6, TWO_CRASHES);
    add_walks::<Slots7>(&mut jobs, 20, 4, TWO_CRASHES);
    add_shapes(&mut jobs, plan);
    let report = jobs::run(jobs, jobs::budget(), &STEPS);
    report.assert_clean(&STEPS);
    let sum = report.sum(None);
    assert_eq!(sum.points, sum.exhaustive_points, "all contents were gone through");
}

const SHAPES: &[random::Shape] = &[
    ("3 slots in a block", explore::<Slots3>, 14),
    ("11 slots in a block", explore::<Slots11>, 20),
    ("7 slots in a block", explore::<Slots7>, 26),
];

#[test]
fn crashes_of_random_histories_of_nbtrees() {
    jobs::run(random::jobs(SHAPES, 1..5), GUARD, &STEPS).assert_clean(&STEPS);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn crashes_of_random_histories_of_nbtrees_without_end() {
    let given = std::env::var("ENDURA_SIM_SEED").ok().and_then(|text| text.parse().ok());
    let all = random::jobs(SHAPES, given.unwrap_or(1)..);
    jobs::run(all, jobs::budget(), &STEPS).assert_clean(&STEPS);
}

#[test]
fn a_process_with_an_nbtree_is_killed_and_then_the_power_fails() {
    let report = jobs::run(killed::<Slots3>(false), GUARD, &[]);
    assert_clean(&report);
    assert!(report.sum(None).images > 1_000);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn processes_with_nbtrees_are_killed_one_after_the_other() {
    let jobs = killed::<Slots3>(true).chain(killed::<Slots7>(true));
    assert_clean(&jobs::run(jobs, jobs::budget(), &[]));
}
