//! Figures 5 and 6: inserts and lookups on memory of several latencies.

use std::sync::Arc;

use endura::Kind;
use endura_engine::media::{Domain, Heap};
use endura_engine::tree::fast_fair::LineBinary;
use endura_variants::media::{Charges, Emulated, Slow};
use endura_variants::roart::WithoutArrays;

use crate::Result;
use crate::experiment::{OperationMix, Subject, Work};
use crate::figures::{Median, figure, list};
use crate::paper::bed::{emulated, loaded, scale_text, shared, time, work};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::paper::shape::{about, growth, is_least, least, less_than_proportional, rises};
use crate::probes::counts::{CountSetup, NodeSizes, counts};
use crate::results::Plot;
use crate::results::plotting::{costs, exact, groups, heights, number, series, times};
use crate::store::Shape;

const LATENCIES: [u64; 4] = [120, 300, 600, 900];

/// An index and the slow memory below it.
struct OnSlow {
    subject: Subject,
    medium: Arc<Emulated<Heap>>,
}

/// The indexes, loaded, on memory that asks for flushes.
fn indexes(scale: &PaperScale) -> Result<Vec<OnSlow>> {
    let medium = || shared(emulated(scale, Slow::of(0), true));
    let of = |medium: Arc<_>, subject: Result<Subject>| -> Result<OnSlow> {
        Ok(OnSlow { subject: loaded(subject?, scale)?, medium })
    };
    let [a, b, c] = [medium(), medium(), medium()];
    let radix = Subject::roart::<_, WithoutArrays>(Arc::clone(&c), Shape::WORDS)?;
    Ok(vec![
        of(Arc::clone(&a), Subject::fast_fair_of::<_, 64, LineBinary>(a))?,
        of(Arc::clone(&b), Subject::nbtree(b))?,
        of(c, Ok(radix.named("radix tree")))?,
    ])
}

/// A point of a sweep: the whole time, and what was waited for.
struct SweepPoint {
    latency: u64,
    time: Median,
    per: Charges,
    operations: f64,
}

impl SweepPoint {
    fn stall(&self, ns: fn(&Charges) -> u64) -> f64 {
        ns(&self.per) as f64 / self.operations
    }
}

fn sweep(
    on: &OnSlow,
    mix: OperationMix,
    scale: &PaperScale,
    latencies: impl Fn(u64) -> (u64, u64),
) -> Result<Vec<SweepPoint>> {
    // A quarter for each point: inserts make the tree larger from point to point.
    let operations = (scale.operations / 4).max(1);
    let mut points = Vec::new();
    for (number, latency) in LATENCIES.into_iter().enumerate() {
        let (read, write) = latencies(latency);
        on.medium.set_latency(read, write);
        let before = on.medium.charges();
        let next = scale.keys + number as u64 * operations * u64::from(scale.rounds);
        let plan = Work { operations, next, ..work(scale) };
        let time = time(&on.subject, mix, plan, scale)?;
        let per = on.medium.charges().since(before);
        let operations = operations as f64 * f64::from(scale.rounds);
        points.push(SweepPoint { latency, time, per, operations });
    }
    on.medium.set_latency(0, 0);
    Ok(points)
}

fn setup(scale: &PaperScale, what: &str) -> String {
    format!(
        "{what}; FastFair with nodes of 512 bytes; total latencies, emulated behind a cache of an eighth of \
         the entries, waited for by the clock, the model's own work included; {} with a quarter of the \
         operations each (paper: 10 M keys)",
        scale_text(scale)
    )
}

pub(super) fn inserts(scale: &PaperScale) -> Result<Finding> {
    let mut bars = [const { Vec::new() }; 3];
    let mut names = Vec::new();
    let mut fast_fair = Vec::new();
    for on in indexes(scale)? {
        for at in sweep(&on, OperationMix::INSERT, scale, |ns| (ns, ns))? {
            let (read, write) = (at.stall(|c| c.read_stall_ns), at.stall(|c| c.write_stall_ns));
            let rest = (at.time.median - read - write).max(0.0);
            let x = names.len() as f64;
            names.push(format!("{} {} ns", on.subject.name, at.latency));
            for (bar, height) in bars.iter_mut().zip([write, read, rest]) {
                bar.push((x, exact(height)));
            }
            if on.subject.name == "FastFair" {
                fast_fair.push(write);
            }
        }
    }
    let [flush, search, rest] = bars;
    let stacks = vec![
        series("flush", flush),
        series("misses of the search", search),
        series("node update and the rest", rest),
    ];
    let plot = Plot { stacked: true, ..times("insert", groups(names), stacks) };
    let rows = counts(CountSetup {
        keys: scale.keys.min(200_000),
        kind: Kind::FastFair,
        domain: Domain::Adr,
        shape: Shape::WORDS,
        nodes: NodeSizes::Paper,
    })?;
    let flushes =
        rows.iter().find(|row| row.operation == "insert").map_or(f64::NAN, |row| row.line_flushes);
    let checks = vec![
        Check::new(
            "about 4.2 lines are flushed per insert",
            format!("{} lines", figure(flushes)),
            about(flushes, 4.2, 0.25),
            if flushes < 4.2 {
                "ours flushes fewer"
            } else {
                "each step of a correction flushes one more"
            },
        ),
        Check::new(
            "the part of the flushes grows with the latency",
            format!("{} ns per insert at 120, 300, 600, 900 ns", list(&fast_fair)),
            rises(&fast_fair, 0.0),
            "",
        ),
    ];
    Ok(Finding { setup: setup(scale, "inserts into a loaded tree"), plots: vec![plot], checks })
}

pub(super) fn lookups(scale: &PaperScale) -> Result<Finding> {
    let (mut curves, mut stalls, mut misses, mut overlap) =
        (Vec::new(), Vec::new(), Vec::new(), 0.0);
    for on in indexes(scale)? {
        let points = sweep(&on, OperationMix::GET, scale, |ns| (ns, 120))?;
        let stall = |at: &SweepPoint| at.stall(|c| c.read_stall_ns);
        curves.push(series(
            on.subject.name.clone(),
            points.iter().map(|at| (at.latency as f64, at.time)),
        ));
        stalls.push(series(
            on.subject.name.clone(),
            points.iter().map(|at| (at.latency as f64, exact(stall(at)))),
        ));
        if let Some(last) = points.last() {
            let fetched = last.per.lines_fetched as f64 / last.operations;
            misses.push(format!("{} {}", on.subject.name, figure(fetched)));
            if on.subject.name == "FastFair" {
                // The lines that came, one after the other, would have taken this.
                overlap = stall(last) / (fetched * last.latency as f64);
            }
        }
    }
    let across = || number("read latency", "ns", false);
    let stall = costs("waiting for misses", across(), "stall per lookup", "ns", stalls);
    let plot = times("lookup", across(), curves);
    let places = [300.0, 600.0, 900.0];
    let ours = &heights(&plot, "FastFair")[1..];
    let radix = heights(&plot, "radix tree");
    let ratio = radix[3] / ours[2];
    let checks = vec![
        Check::new(
            "from 300 to 900 ns (3 times) FastFair's lookups slow down by less than 3 times",
            format!("{} times: {} ns", figure(growth(ours)), list(ours)),
            less_than_proportional(&places, ours),
            "",
        ),
        overlapping(overlap, &misses),
        Check::new(
            "a radix tree (in WORT's place) takes twice FastFair's time at 900 ns",
            format!("{} times", figure(ratio)),
            ratio > 1.5,
            "ours knows the type of a node from the word that leads to it, compresses paths and decides by \
             whole bytes; WORT decides by four bits, so that it is twice as deep",
        ),
    ];
    Ok(Finding {
        setup: setup(scale, "lookups, writes of 120 ns"),
        plots: vec![plot, stall],
        checks,
    })
}

/// Whether a lookup waits for less than the lines that it fetches would take one after the other.
fn overlapping(overlap: f64, misses: &[String]) -> Check {
    let claim = "because the misses of a node overlap: a lookup waits for less than the lines fetched for it";
    if !overlap.is_finite() {
        return Check::unknown(
            claim,
            "nothing was fetched",
            "the tree fits into the emulated cache",
        );
    }
    Check::new(
        claim,
        format!(
            "it waits for {} of what they would take one after the other; lines fetched per lookup: {}",
            figure(overlap),
            misses.join(", ")
        ),
        overlap < 0.8,
        "",
    )
}

pub(super) fn writes(scale: &PaperScale) -> Result<Finding> {
    let (mut curves, mut slopes) = (Vec::new(), Vec::new());
    for on in indexes(scale)? {
        let points = sweep(&on, OperationMix::INSERT, scale, |ns| (120, ns))?;
        let stall = |at: Option<&SweepPoint>| at.map_or(0.0, |at| at.stall(|c| c.write_stall_ns));
        // The fences that an insert waits for, one after the other.
        slopes.push((stall(points.last()) - stall(points.first())) / 780.0);
        curves.push(series(
            on.subject.name.clone(),
            points.iter().map(|at| (at.latency as f64, at.time)),
        ));
    }
    let plot = times("insert", number("write latency", "ns", false), curves);
    let ends: Vec<f64> = plot.series.iter().filter_map(|s| s.heights().last().copied()).collect();
    let fewest = least(&slopes).unwrap_or(0);
    let names: Vec<String> = plot
        .series
        .iter()
        .zip(&slopes)
        .map(|(s, slope)| format!("{} {}", s.name, figure(*slope)))
        .collect();
    let checks = vec![Check::new(
        "the index that waits for the fewest write-backs is the fastest at 900 ns",
        format!(
            "waits per insert, in write latencies: {}; at 900 ns {} ns",
            names.join(", "),
            list(&ends)
        ),
        is_least(&ends, fewest, 0.05),
        "the search costs it more than it saves on flushes at these sizes",
    )];
    Ok(Finding { setup: setup(scale, "inserts, reads of 120 ns"), plots: vec![plot], checks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::bed::charging;

    /// What figure 6(a) rests on, without a clock: the lines of a node come together.
    #[test]
    fn lookups_wait_for_less_than_the_lines_that_they_fetch() {
        let dir = std::env::temp_dir();
        let scale =
            PaperScale { keys: 30_000, operations: 5_000, rounds: 1, ..PaperScale::quick(dir) };
        let medium = shared(emulated(&scale, charging(300, 300), true));
        let subject = Subject::fast_fair_of::<_, 64, LineBinary>(Arc::clone(&medium));
        let subject = loaded(subject.expect("a tree"), &scale).expect("a load");
        let stalls = [300, 900].map(|ns| {
            medium.set_latency(ns, ns);
            medium.empty_cache();
            let before = medium.charges();
            time(&subject, OperationMix::GET, work(&scale), &scale).expect("lookups");
            medium.charges().since(before)
        });
        for (stall, ns) in stalls.iter().zip([300.0, 900.0]) {
            let alone = stall.lines_fetched as f64 * ns;
            assert!((stall.read_stall_ns as f64) < 0.5 * alone, "{stall:?}");
            // A leaf at least lies outside of the cache.
            assert!(stall.read_stall_ns as f64 > 5_000.0 * ns, "{stall:?}");
        }
        let misses = stalls.map(|stall| stall.misses as f64);
        assert!(
            (misses[0] / misses[1] - 1.0).abs() < 0.01,
            "what misses hangs on no latency: {misses:?}"
        );
    }
}
