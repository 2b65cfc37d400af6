//! Long random histories of small trees that split, merge and change their height all the time, with
//! up to four crashes in a row: operations, a crash anywhere, what it may have left, a check, operations
//! again.
//!
//! Seeds are printed; `ENDURA_SIM_SEED` says with which to begin, that of a failure to see it again.
//! All images count once: within a history the explorer sees to it, and every tree holds the number of
//! its history.

use endura_sim::model::Model;
use endura_sim::subjects::MapOp;
use endura_sim::tally::Effort;
use endura_sim::workload::Workload;

use crate::exhaustive::explored;
use crate::jobs::{self, Job, MODELS, Outcome};
use crate::kinds::{Op, Tried};
use crate::report::CampaignTally;

const EFFORT: Effort = Effort {
    exhaustive: 48,
    samples: 16,
    depth: 4,
    continue_one_in: 3,
    deepen_one_in: 192,
    deep_points: 6,
    ..Effort::EXHAUSTIVE
};

pub(crate) fn explore<S: Tried>(model: Model, number: u64, keys: u64) -> Outcome {
    let Workload { keys, before, ops } = Workload::new(number, keys, S::OPS);
    let spelled = |ops: Vec<MapOp>| -> Vec<Op<S>> {
        let of = |op| match op {
            MapOp::Put(key, value) => MapOp::Put(S::spell(&keys, key), value),
            MapOp::Remove(key) => MapOp::Remove(S::spell(&keys, key)),
            MapOp::PopFirst => MapOp::PopFirst,
            MapOp::PopLast => MapOp::PopLast,
        };
        ops.into_iter().map(of).collect()
    };
    let subject = S::of(keys.iter().map(|&key| S::spell(&keys, key)).collect());
    explored(&subject, (model, S::LIMIT, EFFORT, number), &spelled(before), &spelled(ops))
}

/// A name, how histories of it are explored, and about how many keys they are.
pub(crate) type Shape = (&'static str, fn(Model, u64, u64) -> Outcome, u64);

/// One job for each seed, shape and model; the weakest ADR twice, it is the one with most to choose.
pub(crate) fn jobs(
    shapes: &'static [Shape],
    seeds: impl Iterator<Item = u64>,
) -> impl Iterator<Item = Job> {
    let models = || MODELS.into_iter().map(|m| m.1).chain([Model::WEAKEST_ADR]).enumerate();
    let all = move |seed| {
        let of_shape = move |&(part, explore, keys): &Shape| {
            models().map(move |(i, model)| {
                let run = move || {
                    explore(model, 4 * seed + i as u64, keys)
                        .map_err(|failure| format!("seed {seed}, {part}, {model:?}: {failure}"))
                };
                Job { part, model, run: Box::new(run) }
            })
        };
        shapes.iter().flat_map(of_shape)
    };
    seeds.flat_map(all)
}

/// So many seeds of all shapes that a time is enough for, from `ENDURA_SIM_SEED` on.
pub(crate) fn without_end(shapes: &'static [Shape], steps: &[&str]) -> CampaignTally {
    let given = std::env::var("ENDURA_SIM_SEED").ok().and_then(|text| text.parse().ok());
    let first = given.unwrap_or(1);
    let report = jobs::run(jobs(shapes, first..), jobs::budget(), steps);
    let seeds = report.done.div_ceil(4 * shapes.len() as u64);
    println!("seeds {first} to {}", first + seeds.max(1) - 1);
    report.assert_clean(steps);
    report
}

/// Enough of the images lie inside a change of shape.
pub(crate) fn assert_enough_of_each(report: &CampaignTally) {
    let sum = report.sum(None);
    let (images, structural) = (sum.images, sum.structural_images);
    println!("{images} distinct images, {structural} of them inside a change of shape");
    assert!(20 * structural >= images, "{structural} of {images} inside a change of shape");
}
