//! Long random histories of small trees that split, merge and change their height all the time, with
//! up to four crashes in a row: operations, a crash anywhere, what it may have left, a check, operations
//! again.
//!
//! Seeds are printed; `ENDURA_SIM_SEED` says with which to begin, that of a failure to see it again.
//! All images count once: within a history the explorer sees to it, and every tree holds the number of
//! its history.

use endura_sim::choose::Random;
use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::subjects::{FastFair, LIMIT, MapOp};
use endura_sim::tally::Effort;

use crate::STEPS;
use crate::jobs::{self, Job, MODELS, Outcome};
use crate::report::Report;

const EFFORT: Effort = Effort {
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

/// A key that no history touches: its value is the number of the history.
const NUMBER_KEY: u64 = 7;

/// The ends of the key space, both sides of its middle, and enough beside them for three levels.
fn keys(count: u64) -> Vec<u64> {
    let middle = 1 << 63;
    let few = [0, middle - 10, middle - 1, middle, middle + 10, u64::MAX - 10, u64::MAX];
    let mut keys: Vec<u64> = (1..=count).map(|i| 10 * i).chain(few).collect();
    keys.sort_unstable();
    keys
}

/// Runs of a few operations that fill, drain, or mix, up or down or anywhere.
fn history(random: &mut Random, keys: &[u64], len: usize) -> Vec<MapOp> {
    let mut ops = Vec::new();
    while ops.len() < len {
        let (from, count) = (random.below(keys.len() as u64), 3 + random.below(2 * OPS as u64 / 5));
        let (kind, way) = (random.below(3), random.below(3));
        for i in 0..count {
            let n = keys.len() as u64;
            let at = match way {
                0 => (from + i) % n,
                1 => (from + n * count - i) % n,
                _ => random.below(n),
            };
            let key = keys[at as usize];
            ops.push(match kind {
                0 => MapOp::Remove(key),
                1 => MapOp::Put(key, random.below(4)),
                _ if random.one_in(2) => MapOp::Remove(key),
                _ => MapOp::Put(key, random.below(1_000)),
            });
        }
    }
    ops.truncate(len);
    ops
}

fn explore<const I: usize, const L: usize>(model: Model, number: u64) -> Outcome {
    let mut random = Random::new(number);
    let subject = FastFair::<I, L> { keys: keys(3 * (L as u64 - 8) / 2 + 2) };
    let mut before = vec![MapOp::Put(NUMBER_KEY, number)];
    let grown = random.below(2 * OPS as u64) as usize;
    before.extend(history(&mut random, &subject.keys, grown));
    let ops = history(&mut random, &subject.keys, OPS);
    let mut explorer = Explorer::new(&subject, model, LIMIT, EFFORT, number);
    let told = |failure| format!("{failure}");
    let start = explorer.start(&before).map_err(told)?;
    explorer.explore(&start, &ops, 0).map_err(told)?;
    Ok(explorer.tally)
}

type Explore = fn(Model, u64) -> Outcome;

const SHAPES: [(&str, Explore); 5] = [
    ("3 records in a node", explore::<14, 14>),
    ("4 records in a node", explore::<16, 16>),
    ("6 records in a node", explore::<20, 20>),
    ("8 records in a node", explore::<24, 24>),
    ("3 in inner nodes, 7 below", explore::<14, 22>),
];

/// One job for each seed, shape and model; the weakest ADR twice, it is the one with most to choose.
fn jobs(seeds: impl Iterator<Item = u64>) -> impl Iterator<Item = Job> {
    let models = || MODELS.into_iter().map(|m| m.1).chain([Model::WEAKEST_ADR]).enumerate();
    let all = move |seed| {
        let of_shape = move |(part, explore): (_, Explore)| {
            models().map(move |(i, model)| {
                let run = move || {
                    explore(model, 4 * seed + i as u64)
                        .map_err(|failure| format!("seed {seed}, {part}, {model:?}: {failure}"))
                };
                Job { part, model, run: Box::new(run) }
            })
        };
        SHAPES.into_iter().flat_map(of_shape)
    };
    seeds.flat_map(all)
}

/// So many seeds make a job for each shape and model.
const JOBS_OF_A_SEED: u64 = 4 * SHAPES.len() as u64;

fn assert_enough_of_each(report: &Report, steps: &[&str], first: u64) {
    println!("seeds {first} to {}", first + report.done.div_ceil(JOBS_OF_A_SEED) - 1);
    report.assert_clean(steps);
    let sum = report.sum(None);
    let (images, structural) = (sum.images, sum.structural_images);
    println!("{images} distinct images, {structural} of them inside a change of shape");
    assert!(20 * structural >= images, "{structural} of {images} inside a change of shape");
}

#[test]
fn crashes_of_random_histories() {
    // What is repaired is seldom: in so few histories it may be missing.
    let often: Vec<&str> = STEPS.into_iter().filter(|step| !step.starts_with("repair.")).collect();
    assert_enough_of_each(&jobs::run(jobs(1..9), None), &often, 1);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn crashes_of_random_histories_without_end() {
    let given = std::env::var("ENDURA_SIM_SEED").ok().and_then(|text| text.parse().ok());
    let first = given.unwrap_or(1);
    assert_enough_of_each(&jobs::run(jobs(first..), Some(jobs::budget())), &STEPS, first);
}
