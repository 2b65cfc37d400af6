//! What the rows share: loaded indexes, timed points, curves.

use endura::lab::media::{Heap, Media};
use endura::{Kind, MediaChoice};
use endura_variants::media::{Emulated, Pace, Slow};

use super::scale::Scale;
use crate::Result;
use crate::experiment::{Choice, Mix, Subject, Work, load, median, room};
use crate::figures::{Median, grouped};
use crate::results::{Across, Better, Plot, Point, Series};
use crate::store::Shape;

/// The index loaded with the scale's keys.
pub(super) fn loaded(subject: Subject, scale: &Scale) -> Result<Subject> {
    load(&subject, 0..scale.keys)?;
    Ok(subject)
}

/// An index of numbers as users have it.
pub(super) fn in_pool(scale: &Scale, kind: Kind, media: MediaChoice) -> Result<Subject> {
    Subject::pool(&scale.dir, kind, media, Shape::WORDS)
}

/// Work on a loaded index: uniform, one thread.
pub(super) fn work(scale: &Scale) -> Work {
    Work {
        keys: scale.keys,
        next: scale.keys,
        removed: 0,
        operations: scale.operations,
        threads: 1,
        seed: scale.seed,
        choice: Choice::Uniform,
    }
}

/// Nanoseconds per operation.
pub(super) fn time(subject: &Subject, mix: Mix, work: Work, scale: &Scale) -> Result<Median> {
    Ok(median(subject, mix, work, scale.rounds)?.0)
}

/// Millions of operations per second, from nanoseconds per operation.
pub(super) fn mops(ns: Median) -> Median {
    Median { median: 1e3 / ns.median, ..ns }
}

/// Room for what the rows put into a medium.
pub(super) fn bytes(scale: &Scale, shape: Shape) -> u64 {
    // Every round of inserts adds to what was loaded.
    room(scale.keys + scale.operations * u64::from(scale.rounds + 2) * 4, shape)
}

/// A cache that holds an eighth of the entries, as the FAST & FAIR machine's 20 MB did of 10 M.
pub(super) fn cache_bytes(scale: &Scale) -> u64 {
    (scale.keys * 16 / 8).next_power_of_two().max(4 << 10)
}

/// Plain memory that asks for flushes, behind the emulator.
pub(super) fn emulated(scale: &Scale, slow: Slow, flushes: bool) -> Emulated<Heap> {
    let bytes = bytes(scale, Shape::WORDS);
    let heap = if flushes { Heap::adr(bytes) } else { Heap::new(bytes) };
    Emulated::new(heap, Slow { cache_bytes: cache_bytes(scale), ..slow })
}

/// Slow memory that adds up what it costs.
pub(super) fn charging(read_ns: u64, write_ns: u64) -> Slow {
    Slow { write_ns, pace: Pace::Charged, ..Slow::of(read_ns) }
}

/// Points from pairs.
pub(super) fn series(
    name: impl Into<String>,
    points: impl IntoIterator<Item = (f64, Median)>,
) -> Series {
    let point = |(x, y): (f64, Median)| Point { x, y: y.median, spread_percent: y.spread_percent };
    Series { name: name.into(), points: points.into_iter().map(point).collect() }
}

/// A figure that is not a median of several.
pub(super) fn exact(value: f64) -> Median {
    Median { median: value, spread_percent: 0.0 }
}

/// Numbers across.
pub(super) fn number(name: &str, unit: &str, log: bool) -> Across {
    Across::Number { name: name.into(), unit: unit.into(), log }
}

/// Names across.
pub(super) fn groups<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Across {
    Across::Groups(names.into_iter().map(Into::into).collect())
}

/// Time: less is better.
pub(super) fn times(title: &str, across: Across, series: Vec<Series>) -> Plot {
    costs(title, across, "time per operation", "ns", series)
}

/// Any quantity of which less is better.
pub(super) fn costs(
    title: &str,
    across: Across,
    quantity: &str,
    unit: &str,
    series: Vec<Series>,
) -> Plot {
    let (title, quantity, unit) = (title.into(), quantity.into(), unit.into());
    Plot { title, across, quantity, unit, better: Better::Lower, stacked: false, series }
}

/// Throughput: more is better.
pub(super) fn rates(title: &str, across: Across, series: Vec<Series>) -> Plot {
    let plot = costs(title, across, "throughput", "Mop/s", series);
    Plot { better: Better::Higher, ..plot }
}

/// The heights of the series of that name.
pub(super) fn heights(plot: &Plot, name: &str) -> Vec<f64> {
    plot.series.iter().find(|series| series.name == name).map(Series::heights).unwrap_or_default()
}

/// Keeps a medium in sight after an index took it.
pub(super) fn shared<M: Media>(medium: M) -> std::sync::Arc<M> {
    std::sync::Arc::new(medium)
}

/// In words: how many keys, operations and rounds.
pub(super) fn scale_text(scale: &Scale) -> String {
    format!(
        "{} keys, {} operations a point, medians of {}",
        grouped(scale.keys),
        grouped(scale.operations),
        scale.rounds
    )
}
