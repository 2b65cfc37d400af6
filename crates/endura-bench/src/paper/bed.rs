//! What the rows share: loaded indexes, timed points, curves.

use endura::{Kind, MediaChoice};
use endura_engine::media::{Heap, Media};
use endura_variants::media::{Emulated, Pace, Slow};

use super::scale::PaperScale;
use crate::Result;
use crate::experiment::{OperationMix, Subject, Work, load, median, room};
use crate::figures::{Median, grouped};
use crate::results::Series;
use crate::results::plotting::series;
use crate::store::Shape;
use crate::workload::Choice;

/// The index loaded with the scale's keys.
pub(super) fn loaded(subject: Subject, scale: &PaperScale) -> Result<Subject> {
    load(&subject, 0..scale.keys)?;
    Ok(subject)
}

/// An index of numbers as users have it.
pub(super) fn in_pool(scale: &PaperScale, kind: Kind, media: MediaChoice) -> Result<Subject> {
    Subject::pool(&scale.dir, kind, media, Shape::WORDS)
}

/// Work on a loaded index: uniform, one thread.
pub(super) fn work(scale: &PaperScale) -> Work {
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
pub(super) fn time(
    subject: &Subject,
    mix: OperationMix,
    work: Work,
    scale: &PaperScale,
) -> Result<Median> {
    Ok(median(subject, mix, work, scale.rounds)?.0)
}

/// A curve of the index's name: what `measure` finds at each of `points`.
pub(super) fn curve<X>(
    subject: &Subject,
    points: impl IntoIterator<Item = X>,
    measure: impl FnMut(X) -> Result<(f64, Median)>,
) -> Result<Series> {
    let points: Result<Vec<_>> = points.into_iter().map(measure).collect();
    Ok(series(&subject.name, points?))
}

/// Millions of operations per second, from nanoseconds per operation.
pub(super) fn mops(ns: Median) -> Median {
    Median { median: 1e3 / ns.median, ..ns }
}

/// Room for what the rows put into a medium.
pub(super) fn bytes(scale: &PaperScale, shape: Shape) -> u64 {
    // Every round of inserts adds to what was loaded.
    room(scale.keys + scale.operations * u64::from(scale.rounds + 2) * 4, shape)
}

/// A cache that holds an eighth of the entries, as the FAST & FAIR machine's 20 MB did of 10 M.
pub(super) fn cache_bytes(scale: &PaperScale) -> u64 {
    (scale.keys * 16 / 8).next_power_of_two().max(4 << 10)
}

/// Plain memory that asks for flushes, behind the emulator.
pub(super) fn emulated(scale: &PaperScale, slow: Slow, flushes: bool) -> Emulated<Heap> {
    let bytes = bytes(scale, Shape::WORDS);
    let heap = if flushes { Heap::adr(bytes) } else { Heap::new(bytes) };
    Emulated::new(heap, Slow { cache_bytes: cache_bytes(scale), ..slow })
}

/// Slow memory that adds up what it costs.
pub(super) fn charging(read_ns: u64, write_ns: u64) -> Slow {
    Slow { write_ns, pace: Pace::Charged, ..Slow::of(read_ns) }
}

/// Keeps a medium in sight after an index took it.
pub(super) fn shared<M: Media>(medium: M) -> std::sync::Arc<M> {
    std::sync::Arc::new(medium)
}

/// In words: how many keys, operations and rounds.
pub(super) fn scale_text(scale: &PaperScale) -> String {
    format!(
        "{} keys, {} operations a point, medians of {}",
        grouped(scale.keys),
        grouped(scale.operations),
        scale.rounds
    )
}
