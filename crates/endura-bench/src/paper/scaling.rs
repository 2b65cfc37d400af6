//! Throughput by threads, and what may be asked of it on a machine with few processors.

use super::bed::{curve, mops, time, work};
use super::row::Check;
use super::scale::PaperScale;
use crate::Result;
use crate::experiment::{OperationMix, Subject, Work};
use crate::figures::{figure, list};
use crate::results::Plot;
use crate::results::plotting::{number, rates};

/// Throughput of fresh, loaded indexes in so many operations at each number of threads.
pub(super) fn scaling(
    scale: &PaperScale,
    title: &str,
    (mix, operations): (OperationMix, u64),
    subjects: &[&dyn Fn() -> Result<Subject>],
) -> Result<Plot> {
    let of = |subject: &&dyn Fn() -> Result<Subject>| {
        let (subject, mut next) = (subject()?, scale.keys);
        curve(&subject, scale.threads.iter().copied(), |threads| {
            let plan = Work { threads, next, operations, ..work(scale) };
            next += operations * u64::from(scale.rounds);
            Ok((threads as f64, mops(time(&subject, mix, plan, scale)?)))
        })
    };
    let curves = subjects.iter().map(of).collect::<Result<_>>()?;
    Ok(rates(title, number("threads", "", true), curves))
}

/// The throughput of a curve at so many threads.
pub(super) fn at_threads(plot: &Plot, name: &str, threads: usize) -> f64 {
    let curve = plot.series.iter().find(|series| series.name == name);
    let point = curve.and_then(|c| c.points.iter().find(|point| point.x == threads as f64));
    point.map_or(f64::NAN, |point| point.y)
}

/// Whether each processor adds as much as each of 16 did in the paper.
pub(super) fn efficiency_check(plot: &Plot, name: &str, of_16: f64, scale: &PaperScale) -> Check {
    let cores = scale.cores();
    let (one, all) = (at_threads(plot, name, 1), at_threads(plot, name, cores));
    let claim = format!(
        "each of the processors adds {} of the first, as in {of_16} times at 16",
        figure(of_16 / 16.0)
    );
    let why = "fewer than two processors here";
    if cores < 2 || !all.is_finite() {
        return Check::unknown(&claim, &format!("{} Mop/s with one thread", figure(one)), why);
    }
    let reached = all / one / cores as f64;
    Check::new(
        &claim,
        format!(
            "{} times at {cores} threads: {} of the first each",
            figure(all / one),
            figure(reached)
        ),
        reached >= of_16 / 16.0 * 0.95,
        "the two hardware threads of this machine may share a core and its memory channel",
    )
}

/// Whether more threads than processors cost nothing.
pub(super) fn keeps_up(plot: &Plot, name: &str, scale: &PaperScale) -> Check {
    let best = at_threads(plot, name, scale.cores());
    let beyond: Vec<f64> = scale
        .threads
        .iter()
        .filter(|&&threads| threads > scale.cores())
        .map(|&threads| at_threads(plot, name, threads))
        .collect();
    Check::new(
        "it does not fall where there are more threads than processors",
        format!("{} Mop/s after {}", list(&beyond), figure(best)),
        beyond.iter().all(|&rate| rate >= best * 0.85),
        "threads that hold a lock are suspended while others want it",
    )
}
