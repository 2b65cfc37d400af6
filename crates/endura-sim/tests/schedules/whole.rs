//! Sessions that begin with an empty pool: besides what every schedule must leave, no chunk may be lost,
//! and as many entries must be counted as there are. The keys are those at both ends, on both sides
//! of the middle, and some neighbours.

use endura_sim::model::Model;
use endura_sim::schedule::{Campaign, Family};
use endura_sim::subjects::{FastFair, LIMIT, NumberTree, Numbers};

/// Where the two leaves meet with which a tree begins.
const MIDDLE: u64 = 1 << 63;

const STEPS: [&str; 5] = ["split.S2", "post.P1", "merge.M5", "root.grow", "root.shrink"];

/// Schedules of one family.
const SCHEDULES: u64 = 400;

fn keys() -> Vec<u64> {
    (0..10).chain([MIDDLE - 1, MIDDLE, u64::MAX - 1, u64::MAX]).collect()
}

/// Runs so many schedules of each family, and says that every one of `steps` was crossed.
fn explore<T: NumberTree>(subject: Numbers<T>, steps: &[&str]) {
    let campaign = Campaign::new(subject, Model::WEAKEST_ADR, LIMIT, 1);
    let mut campaign = campaign.with_fresh_starts();
    for family in [Family::Mixed, Family::MergePost, Family::ScanMerge, Family::SplitSplit] {
        campaign
            .family(family, 0..SCHEDULES)
            .unwrap_or_else(|unsound| panic!("{family:?}: {unsound}"));
    }
    for step in steps {
        assert!(campaign.figures.tally.steps.contains_key(step), "{step} was never crossed");
    }
}

#[test]
fn three_records() {
    explore(FastFair::<14, 14>::about(keys()), &STEPS);
}

#[test]
fn four_records() {
    explore(FastFair::<16, 16>::about(keys()), &STEPS);
}

#[test]
fn seven_records_in_a_leaf() {
    explore(FastFair::<14, 22>::about(keys()), &STEPS[..3]);
}
