//! Both trees of numbers with records: the record of each write, and what was there before it, is crashed like the rest.
//!
//! ```text
//! ENDURA_SIM_SECONDS=3600 cargo test --release -p endura-sim --test campaign -- --ignored --nocapture records
//! ```

use std::time::Duration;

use endura_sim::subjects::{FairRecords, NbRecords};
use endura_variants::{fast_fair, nbtree};

use crate::exhaustive::{LONG, ONE_CRASH, SHORT, TWO_CRASHES, add_starts, add_walks, assert_whole};
use crate::fast_fair::{FEW, MANY};
use crate::jobs::{self, Job};
use crate::killed::{assert_clean, killed};
use crate::random::{self, explore, without_end};

type Fair = FairRecords<14, 14>;
type Nb = NbRecords<8, 4>;

/// The quick ones together with the others of this crate are part of every run of the tests.
const GUARD: Duration = Duration::from_secs(10);

/// Those of the tree, and those of a write that links a record. What is repaired is seldom: the tree alone crosses it.
fn steps(of_tree: &[&'static str]) -> Vec<&'static str> {
    let of_tree = of_tree.iter().copied().filter(|step| !step.starts_with("repair."));
    of_tree.chain(OWN).collect()
}

#[test]
fn every_crash_of_every_short_history_of_fast_fair_with_records() {
    let mut jobs = Vec::new();
    add_walks::<Fair>(&mut jobs, 12, 0, ONE_CRASH);
    FEW.into_iter().for_each(|starts| add_starts::<Fair>(&mut jobs, starts, 4, SHORT));
    let steps = steps(&fast_fair::STEPS);
    assert_whole(&jobs::run(jobs, GUARD, &steps), &steps);
}

#[test]
fn every_crash_of_every_short_history_of_an_nbtree_with_records() {
    let mut jobs = Vec::new();
    add_walks::<Nb>(&mut jobs, 12, 0, ONE_CRASH);
    FEW.into_iter().for_each(|starts| add_starts::<Nb>(&mut jobs, starts, 5, SHORT));
    let steps = steps(&nbtree::STEPS);
    assert_whole(&jobs::run(jobs, GUARD, &steps), &steps);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn every_crash_of_every_history_of_three_operations_with_records() {
    let mut jobs: Vec<Job> = Vec::new();
    add_walks::<Fair>(&mut jobs, 12, 6, TWO_CRASHES);
    add_walks::<Nb>(&mut jobs, 12, 6, TWO_CRASHES);
    for starts in MANY {
        add_starts::<Fair>(&mut jobs, starts, 4, LONG);
        add_starts::<Nb>(&mut jobs, starts, 5, LONG);
    }
    assert_clean(&jobs::run(jobs, jobs::budget(), &[]));
}

const SHAPES: &[random::Shape] = &[
    ("fast & fair of 3", explore::<Fair>, 11),
    ("fast & fair of 6", explore::<FairRecords<20, 20>>, 20),
    ("nbtree of 3", explore::<Nb>, 14),
    ("nbtree of 7", explore::<NbRecords<16, 4>>, 26),
];

const OWN: [&str; 2] = ["write.found", "write.record"];

#[test]
fn crashes_of_random_histories_with_records() {
    jobs::run(random::jobs(SHAPES, 1..5), GUARD, &OWN).assert_clean(&OWN);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn crashes_of_random_histories_with_records_without_end() {
    without_end(SHAPES, &OWN);
}

#[test]
fn a_process_with_records_is_killed_and_then_the_power_fails() {
    let jobs = killed::<Fair>(false).chain(killed::<Nb>(false));
    let report = jobs::run(jobs, GUARD, &[]);
    assert_clean(&report);
    assert!(report.sum(None).images > 1_000);
}
