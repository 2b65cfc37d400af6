//! Medians, spreads and ratios of a run.

use super::operation::Operation;
use super::outcome::{ENDURA, Outcome, Sample};
use crate::figures::{Latency, Median, empty_histogram};

/// One store, one operation, one number of threads: all rounds.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Figure {
    /// The store's name.
    pub store: &'static str,
    /// What was run.
    pub operation: Operation,
    /// By how many threads.
    pub threads: usize,
    /// Operations per second of CPU time, in millions.
    pub mops_cpu: Median,
    /// Operations per second of wall time, in millions.
    pub mops_wall: Median,
    /// Latencies of all rounds together.
    pub latency_ns: Latency,
    /// endura's CPU throughput divided by the peer's in the same round; absent for the peer itself
    /// and where none ran.
    pub ratio_to_peer: Option<Median>,
    /// The same of wall throughput: with several threads the one that counts, for waiting costs no
    /// CPU time.
    pub wall_ratio_to_peer: Option<Median>,
    /// Wall throughput divided by that of the smallest number of threads measured.
    pub speedup: Option<f64>,
}

/// All figures of a run, in the order threads, operation, store.
pub fn figures(outcome: &Outcome) -> Vec<Figure> {
    let mut groups: Vec<(usize, Operation, &'static str)> =
        outcome.samples.iter().map(|s| (s.threads, s.operation, s.store)).collect();
    groups.sort_by_key(|&(threads, operation, store)| (threads, operation, store != ENDURA));
    groups.dedup();
    let peer = groups.iter().map(|&(_, _, store)| store).find(|&store| store != ENDURA);
    let mut figures: Vec<Figure> = Vec::new();
    for (threads, operation, store) in groups {
        let of = |store| select(&outcome.samples, threads, operation, store);
        let mut figure = figure(&of(store));
        if let Some(peer) = peer.filter(|&peer| store != peer) {
            let ratio = |seconds| ratio(&of(store), &of(peer), seconds);
            figure.ratio_to_peer = ratio(|sample| sample.cpu_seconds);
            figure.wall_ratio_to_peer = ratio(|sample| sample.wall_seconds);
        }
        figure.speedup = figures
            .iter()
            .find(|f| (f.operation, f.store) == (operation, store))
            .map(|f| figure.mops_wall.median / f.mops_wall.median);
        figures.push(figure);
    }
    figures
}

/// All rounds of one store, operation and number of threads.
pub(crate) fn select<'a>(
    samples: &'a [Sample],
    threads: usize,
    operation: Operation,
    store: &str,
) -> Vec<&'a Sample> {
    let wanted = |s: &&Sample| (s.threads, s.operation, s.store) == (threads, operation, store);
    samples.iter().filter(wanted).collect()
}

fn mops(operations: u64, seconds: f64) -> f64 {
    operations as f64 / seconds.max(1e-9) / 1e6
}

fn figure(samples: &[&Sample]) -> Figure {
    let mut latencies = empty_histogram();
    for sample in samples {
        latencies += &sample.latencies;
    }
    let of = |seconds: fn(&Sample) -> f64| {
        Median::of(samples.iter().map(|s| mops(s.operations, seconds(s))).collect())
    };
    Figure {
        store: samples[0].store,
        operation: samples[0].operation,
        threads: samples[0].threads,
        mops_cpu: of(|s| s.cpu_seconds),
        mops_wall: of(|s| s.wall_seconds),
        latency_ns: Latency::of(&latencies),
        ratio_to_peer: None,
        wall_ratio_to_peer: None,
        speedup: None,
    }
}

/// How many times as much theirs cost as ours. Round by round, so that what slowed a whole round down does
/// not count.
pub(crate) fn ratio(
    ours: &[&Sample],
    theirs: &[&Sample],
    cost: fn(&Sample) -> f64,
) -> Option<Median> {
    let pairs = ours.iter().zip(theirs);
    let ratios: Vec<f64> = pairs.map(|(a, b)| cost(b) / cost(a).max(f64::MIN_POSITIVE)).collect();
    if ratios.is_empty() { None } else { Some(Median::of(ratios)) }
}
