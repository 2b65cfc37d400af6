//! What a checkpoint has: at a moment at which nobody writes, each line as it was when it was flushed last, or at any time
//! since then. From all of that a map must be what it was at that moment, as after a crash on persistent memory. So whatever
//! must outlive a crash is flushed, also where nothing needs to be written back.
//!
//! FAST & FAIR moves the records of a node without a flush between its lines where nothing is written back, and flushes once at the
//! end: its nodes are copied whole, for they divide a page.

use endura_sim::model::Model;
use endura_sim::subjects::pool::PoolSpace;
use endura_sim::subjects::pool::histories::{History, histories};
use endura_sim::subjects::{FastFair, NbTree, Roart};
use endura_sim::tally::Effort;
use endura_variants::roart::Tiny;

use crate::exhaustive::{
    ONE_CRASH, Plan, TWO_CRASHES, add_starts_under, add_walks_under, explored,
};
use crate::jobs::{self, GUARD, Job};
use crate::kinds::{Order, Region, Shape};
use crate::pool;

/// Nodes of fourteen or sixteen words.
const NODES: Model = Model::marked(128);

const SHORT: Plan = Plan { longest: 2, twice: 1 };

fn assert_clean(jobs: Vec<Job>, least: u64) {
    let report = jobs::run(jobs, GUARD, &[]);
    report.assert_clean(&[]);
    let images = report.sum(None).images;
    assert!(images >= least, "{images} images");
}

#[test]
fn a_checkpoint_has_all_of_fast_fair() {
    let mut jobs = Vec::new();
    let starts = ("checkpoints", Region::Low, Order::Ascending);
    add_walks_under::<FastFair<14, 14>>(&mut jobs, &[NODES], 12, 2, TWO_CRASHES);
    // The records of these lie in several lines.
    add_walks_under::<FastFair<32, 32>>(&mut jobs, &[Model::marked(256)], 20, 0, ONE_CRASH);
    add_starts_under::<FastFair<14, 14>>(&mut jobs, &[NODES], starts, 4, SHORT);
    add_starts_under::<FastFair<16, 16>>(&mut jobs, &[NODES], starts, 5, SHORT);
    assert_clean(jobs, 1_000);
}

/// The model finds what no flush follows.
#[test]
fn a_shift_of_records_is_not_flushed_line_by_line() {
    let mut jobs = Vec::new();
    add_walks_under::<FastFair<32, 32>>(&mut jobs, &[Model::MARKED], 20, 0, ONE_CRASH);
    let report = jobs::run(jobs, GUARD, &[]);
    assert!(report.failure.is_some(), "records are moved from line to line");
}

#[test]
fn a_checkpoint_has_all_of_an_nbtree() {
    let mut jobs = Vec::new();
    let starts = ("checkpoints", Region::Low, Order::Ascending);
    add_walks_under::<NbTree<8, 4>>(&mut jobs, &[Model::MARKED], 12, 2, TWO_CRASHES);
    add_starts_under::<NbTree<8, 4>>(&mut jobs, &[Model::MARKED], starts, 5, SHORT);
    add_starts_under::<NbTree<16, 4>>(&mut jobs, &[Model::MARKED], starts, 8, SHORT);
    assert_clean(jobs, 1_000);
}

#[test]
fn a_checkpoint_has_all_of_a_radix_tree() {
    let mut jobs = Vec::new();
    for (part, shape) in [("flat", Shape::Flat), ("nested", Shape::Nested), ("deep", Shape::Deep)] {
        let starts = (part, shape, Order::Ascending);
        add_starts_under::<Roart<Tiny>>(&mut jobs, &[Model::MARKED], starts, 6, SHORT);
    }
    assert_clean(jobs, 1_000);
}

#[test]
fn a_checkpoint_has_all_of_a_pool() {
    let effort = Effort { exhaustive: 256, samples: 16, deep_ops: 1, ..TWO_CRASHES };
    let mut jobs = Vec::new();
    for History { name, before, ops } in histories() {
        let at = (Model::MARKED, pool::LIMIT, effort, 1);
        let run = move || explored(&PoolSpace, at, &before, &ops);
        jobs.push(Job { part: name, model: Model::MARKED, run: Box::new(run) });
    }
    assert_clean(jobs, 1_000);
}
