//! Each family under random, prioritised and directed turns; every schedule is crashed at a few moments.

use endura_sim::model::Model;
use endura_sim::schedule::{Campaign, Family};
use endura_sim::subjects::{NumberTree, Numbers};

use super::{cap3, cap4};

/// Schedules of one family on one kind of tree: as many as every run of the tests has time for, or `ENDURA_SCHEDULES`.
fn schedules(family: Family) -> u64 {
    let given = std::env::var("ENDURA_SCHEDULES").ok().and_then(|text| text.parse().ok());
    // Where everything happens, each single thing is rare.
    let few = if matches!(family, Family::Mixed) { 1_500 } else { 500 };
    given.unwrap_or(few)
}

/// Runs the family and says that every one of `steps` was crossed.
fn explore<T: NumberTree>(mut campaign: Campaign<Numbers<T>>, family: Family, steps: &[&str]) {
    let schedules = schedules(family);
    campaign.family(family, 0..schedules).unwrap_or_else(|unsound| panic!("{family:?}: {unsound}"));
    let figures = &campaign.figures;
    assert_eq!(figures.schedules, schedules);
    assert!(figures.traces > schedules / 2, "{figures:?}");
    assert!(figures.tally.images > schedules, "{figures:?}");
    for step in steps {
        assert!(figures.tally.steps.contains_key(step), "{step} was never crossed: {figures:?}");
    }
}

fn both(family: Family, steps: &[&str]) {
    explore(cap3(Model::WEAKEST_ADR, 3), family, steps);
    explore(cap4(Model::WEAKEST_ADR, 3), family, steps);
    explore(cap3(Model::EADR, 3), family, steps);
}

const SPLIT: [&str; 4] = ["split.S2", "split.S3.durable", "post.P1", "root.grow"];
const MERGE: [&str; 4] = ["merge.M1", "merge.M2", "merge.M4.high", "merge.M5"];

#[test]
fn insert_and_insert_of_one_key() {
    both(Family::InsertInsert, &["fast_insert.commit", "split.S4"]);
}

#[test]
fn insert_and_remove_of_one_key() {
    both(Family::InsertRemove, &["fast_insert.commit", "fast_delete.commit"]);
}

#[test]
fn update_and_split() {
    both(Family::UpdateSplit, &SPLIT);
}

#[test]
fn split_and_split() {
    both(Family::SplitSplit, &[&SPLIT[..], &["split.S4", "post.P2"]].concat());
}

#[test]
fn merge_and_reader() {
    both(Family::MergeReader, &[&MERGE[..], &["root.shrink"]].concat());
}

#[test]
fn merge_and_post() {
    both(Family::MergePost, &[&MERGE[..], &SPLIT, &["root.shrink"]].concat());
}

#[test]
fn scan_and_merge() {
    both(Family::ScanMerge, &MERGE);
}

#[test]
fn anything() {
    both(Family::Mixed, &[&MERGE[..], &SPLIT].concat());
}

#[test]
#[ignore = "by itself: cargo test --release -p endura-sim --test schedules -- --ignored leak_recovery"]
fn leak_recovery_and_writers() {
    both(
        Family::Recovery,
        &["leak_recovery.mark", "leak_recovery.sweep", "merge.M5", "split.S3.durable"],
    );
}
