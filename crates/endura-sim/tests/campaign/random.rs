//! Long random histories of small trees that split, merge and change their height all the time, with
//! up to four crashes in a row: operations, a crash anywhere, what it may have left, a check, operations
//! again.
//!
//! Seeds are printed; `ENDURA_SIM_SEED` says with which to begin, that of a failure to see it again.
//! All images count once: within a history the explorer sees to it, and every tree holds the number of
//! its history.

use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::subjects::{FastFair, LIMIT};
use endura_sim::tally::Effort;
use endura_sim::workload::Workload;
use endura_variants::fast_fair::STEPS;

use crate::exhaustive::Tried;
use crate::jobs::{self, Job, MODELS, Outcome};
use crate::report::CampaignTally;

pub(crate) const EFFORT: Effort = Effort {
    exhaustive: 48,
    samples: 16,
    depth: 4,
    continue_one_in: 3,
    deepen_one_in: 192,
    deep_points: 6,
    ..Effort::EXHAUSTIVE
};

/// Operations of a history.
const OPS: usize = 48;

pub(crate) fn explore<S: Tried>(model: Model, number: u64, keys: u64) -> Outcome {
    let Workload { keys, before, ops } = Workload::new(number, keys, OPS);
    let subject = S::of(keys);
    let mut explorer = Explorer::new(&subject, model, LIMIT, EFFORT, number);
    let told = |failure| format!("{failure}");
    let start = explorer.start(&before).map_err(told)?;
    explorer.explore(&start, &ops, 0).map_err(told)?;
    Ok(explorer.tally)
}

/// A name, how histories of it are explored, and about how many keys they are.
pub(crate) type Shape = (&'static str, fn(Model, u64, u64) -> Outcome, u64);

const SHAPES: &[Shape] = &[
    ("3 records in a node", explore::<FastFair<14, 14>>, 11),
    ("4 records in a node", explore::<FastFair<16, 16>>, 14),
    ("6 records in a node", explore::<FastFair<20, 20>>, 20),
    ("8 records in a node", explore::<FastFair<24, 24>>, 26),
    ("3 in inner nodes, 7 below", explore::<FastFair<14, 22>>, 23),
];

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

/// So many seeds make a job for each shape and model.
const JOBS_OF_A_SEED: u64 = 4 * SHAPES.len() as u64;

fn assert_enough_of_each(report: &CampaignTally, steps: &[&str], first: u64) {
    println!("seeds {first} to {}", first + report.done.div_ceil(JOBS_OF_A_SEED) - 1);
    report.assert_clean(steps);
    let sum = report.sum(None);
    let (images, structural) = (sum.images, sum.structural_images);
    println!("{images} distinct images, {structural} of them inside a change of shape");
    assert!(20 * structural >= images, "{structural} of {images} inside a change of shape");
}

/// What is repaired is seldom, and crashed again once in many times: here it may be missing.
fn often() -> Vec<&'static str> {
    STEPS.into_iter().filter(|step| !step.starts_with("repair.")).collect()
}

#[test]
fn crashes_of_random_histories() {
    let report = jobs::run(jobs(SHAPES, 1..5), jobs::GUARD, &often());
    assert_enough_of_each(&report, &often(), 1);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn crashes_of_random_histories_without_end() {
    let given = std::env::var("ENDURA_SIM_SEED").ok().and_then(|text| text.parse().ok());
    let first = given.unwrap_or(1);
    let report = jobs::run(jobs(SHAPES, first..), jobs::budget(), &often());
    assert_enough_of_each(&report, &often(), first);
}
