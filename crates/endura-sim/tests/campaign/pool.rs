//! Crashes of pools: how they are made, how they grow, chunks and runs of pages that come and go, maps
//! that are made, renamed and dropped, and the close.

use endura_engine::space::PAGE;
use endura_sim::explore::Explorer;
use endura_sim::model::{Domain, Model};
use endura_sim::sim::Sim;
use endura_sim::subject::Subject;
use endura_sim::subjects::pool::histories::{History, choices, histories, starts};
use endura_sim::subjects::pool::{PoolOp, PoolSpace};
use endura_sim::tally::{Effort, Tally};

use PoolOp::{Make, MakeMany, Soil};

use crate::jobs::{self, Job, MODELS, Outcome};

pub(crate) const LIMIT: u64 = 48 * PAGE;

/// A close writes kilobytes at once, of which not every mixture can be gone through.
const ONE_CRASH: Effort = Effort { depth: 1, exhaustive: 256, samples: 16, ..Effort::EXHAUSTIVE };
const TWO_CRASHES: Effort = Effort { depth: 2, deep_ops: 1, ..ONE_CRASH };

fn sequences(longest: usize) -> Vec<Vec<PoolOp>> {
    let mut all = vec![vec![]];
    let mut last: Vec<Vec<PoolOp>> = vec![Vec::new()];
    for _ in 0..longest {
        let longer = |ops: Vec<PoolOp>| {
            choices().into_iter().map(move |op| ops.iter().cloned().chain([op]).collect())
        };
        last = last.into_iter().flat_map(longer).collect();
        all.extend(last.iter().cloned());
    }
    all.split_off(1)
}

fn explored(
    before: &[PoolOp],
    all: &[Vec<PoolOp>],
    whole: bool,
    model: Model,
    effort: Effort,
) -> Outcome {
    let mut explorer = Explorer::new(&PoolSpace, model, LIMIT, effort, 1);
    let told = |failure| format!("{failure}");
    let start = explorer.start(before).map_err(told)?;
    for ops in all {
        let from = if whole { 0 } else { ops.len() - 1 };
        explorer.explore(&start, ops, from).map_err(told)?;
    }
    Ok(explorer.tally)
}

/// Kills the process after each store; the power fails in what the next one does.
fn killed(before: &[PoolOp], ops: &[PoolOp], model: Model) -> Outcome {
    let effort = Effort { depth: 1, exhaustive: 24, samples: 8, deep_ops: 2, ..ONE_CRASH };
    let mut explorer = Explorer::new(&PoolSpace, model, LIMIT, effort, 1);
    let told = |failure| format!("{failure}");
    let start = explorer.start(before).map_err(told)?;
    explorer.explore_kills(&start, ops, 0).map_err(told)?;
    Ok(explorer.tally)
}

/// Crashes the making of a pool, up to its first map.
fn made(model: Model) -> Outcome {
    let sim = Sim::new(model, LIMIT);
    let open = PoolSpace.create(sim.clone())?;
    PoolSpace.observe(&open)?;
    let mut explorer = Explorer::new(&PoolSpace, model, LIMIT, TWO_CRASHES, 1);
    explorer
        .crash_trace(&sim.trace(), 0, |_| vec![PoolSpace.empty()])
        .map_err(|(finding, crashes)| format!("{finding}\n{crashes:#?}"))?;
    Ok(explorer.tally)
}

fn jobs(longest: [usize; 2]) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for (_, model) in MODELS {
        let mut add = |part, run: Box<dyn FnOnce() -> Outcome + Send>| {
            jobs.push(Job { part, model, run });
        };
        add("making a pool", Box::new(move || made(model)));
        for History { name, before, ops } in histories() {
            add(name, Box::new(move || explored(&before, &[ops], true, model, TWO_CRASHES)));
        }
        if model.domain == Domain::Adr {
            // Where the caches are durable, a killed process leaves nothing that a crash does not leave.
            for History { before, ops, .. } in histories() {
                add("killed", Box::new(move || killed(&before, &ops, model)));
            }
        }
        for before in starts() {
            let again = before.clone();
            let [once, twice] = longest.map(sequences);
            add(
                "sequences, one crash",
                Box::new(move || explored(&before, &once, false, model, ONE_CRASH)),
            );
            add(
                "sequences, two crashes",
                Box::new(move || explored(&again, &twice, false, model, TWO_CRASHES)),
            );
        }
    }
    jobs
}

/// The steps of the allocator, of the directory and of the close; those of a directory that goes on in
/// a span of its own have their own test.
const STEPS: [&str; 25] = [
    "leak_recovery.mark",
    "leak_recovery.sweep",
    "pool.create.entry",
    "pool.create.live",
    "pool.drop.dropping",
    "pool.drop.free",
    "pool.grow.headers",
    "pool.grow.next_page",
    "pool.large.free.first",
    "pool.large.free.rest",
    "pool.large.take",
    "pool.open.list",
    "pool.page.cut",
    "pool.page.cut.table",
    "pool.page.free",
    "pool.rename.copied",
    "pool.rename.live",
    "pool.rename.name",
    "pool.rename.renamed",
    "pool.save.list",
    "pool.save.next_page",
    "pool.span.free",
    "pool.span.rest",
    "pool.span.tail",
    "pool.span.take",
];

#[test]
fn crashes_of_pools() {
    let report = jobs::run(jobs([3, 1]), jobs::GUARD, &STEPS);
    report.assert_clean(&STEPS);
}

#[test]
#[ignore = "takes the time it is given: ENDURA_SIM_SECONDS"]
fn crashes_of_pools_after_all_sequences() {
    jobs::run(jobs([3, 3]), jobs::budget(), &STEPS).assert_clean(&STEPS);
}

/// A directory that is full goes on in a span that held nodes before: what is left in that span looks
/// like entries. (Not under eADR: a span full of stores in one buffer leaves nothing that a span half
/// written back does not leave.)
#[test]
fn a_directory_grows_into_a_span_that_was_used_before() {
    // The map of links has one of the 16 entries in page 0.
    let before = [Soil(40), MakeMany(15)];
    let effort = Effort { continue_one_in: 8, ..ONE_CRASH };
    for model in [Model::WEAKEST_ADR, Model::PAGE_CACHE] {
        let mut explorer = Explorer::new(&PoolSpace, model, LIMIT, effort, 1);
        let start = explorer.start(&before).unwrap_or_else(|failure| panic!("{failure}"));
        let ops = [Make("first", 2)];
        explorer.explore(&start, &ops, 0).unwrap_or_else(|failure| panic!("{failure}"));
        let Tally { crossed, images, .. } = explorer.tally;
        let met = |step| crossed.contains_key(step);
        assert!(met("pool.directory.entries") && met("pool.directory.link"), "{crossed:?}");
        assert!(images > 10, "{images}");
    }
}
