//! A workload on a store, by threads that start together.

use std::sync::Barrier;

use super::definition::{Action, Workload};
use super::population::{MOST_KEYS, Population};
use super::request::{Requests, draw};
use super::share::Share;
use super::timing::{Part, Timing, on_threads};
use crate::figures::Pacing;
use crate::store::Store;
use crate::{Error, Result};

/// How much of a workload, and when.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// How many operations, all threads together.
    pub operations: u64,
    /// When they begin.
    pub pace: Pacing,
    /// Where the random numbers start.
    pub seed: u64,
}

/// Runs `workload` on `store`, by as many threads as `population` has, which it keeps true.
pub fn run<S: Store>(
    store: &S,
    population: &Population,
    workload: &Workload,
    plan: Plan,
) -> Result<Timing> {
    workload.check()?;
    check(population, workload, plan)?;
    let threads = population.threads();
    let barrier = Barrier::new(threads);
    let parts = on_threads(threads, |thread| {
        let requests = requests(population, workload, plan, thread);
        let client = store.client();
        // Reached by every thread, also by one whose client failed: the others would wait for ever.
        barrier.wait();
        let mut client = client?;
        let mut share = Share::new(&mut client, population, thread, workload);
        Part::time(requests.requests.len() as u64, |latencies| {
            share.work(&requests, plan.pace, latencies)
        })
    })?;
    let (mut timing, wrong) = (Timing::of(&parts), parts.iter().map(|part| part.wrong).sum());
    if matches!(plan.pace, Pacing::Due { .. }) {
        // Who is in line for a processor while nothing is due has lost nothing by it.
        timing.alone_seconds = timing.wall_seconds;
    }
    if wrong > 0 {
        let (store, operation) = (store.name(), workload.name.clone());
        return Err(Error::Wrong { store, operation, wrong, of: timing.operations });
    }
    Ok(timing)
}

fn check(population: &Population, workload: &Workload, plan: Plan) -> Result<()> {
    if population.len() + plan.operations > MOST_KEYS {
        return Err(Error::Config("keys and operations together are at most 2147483648"));
    }
    let reads = workload.mix.iter().any(|&(action, weight)| {
        weight > 0 && !matches!(action, Action::Insert | Action::Remove | Action::Miss)
    });
    let threads = population.threads();
    if threads > 256 {
        return Err(Error::Config("at most 256 threads"));
    }
    if reads && population.len() < threads as u64 {
        return Err(Error::Config("fewer keys than threads"));
    }
    Ok(())
}

/// The requests of one thread.
fn requests(population: &Population, workload: &Workload, plan: Plan, thread: usize) -> Requests {
    let threads = population.threads() as u64;
    let cut = |thread: u64| plan.operations * thread / threads;
    let count = cut(thread as u64 + 1) - cut(thread as u64);
    let mut rng = fastrand::Rng::with_seed(plan.seed.wrapping_add((thread as u64 + 1) << 48));
    draw(workload, population, thread, count as usize, &mut rng)
}
