//! Table 1: exact counts.

use endura::Kind;
use endura_engine::media::Domain;

use crate::Result;
use crate::figures::{figure, grouped, list};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::paper::shape::about;
use crate::probes::counts::{CountSetup, NodeSizes, PerOperation, counts};
use crate::results::Series;
use crate::results::plotting::{costs, exact, groups, series};
use crate::store::Shape;

const OPERATIONS: [&str; 4] = ["insert", "remove", "update", "get"];

pub(super) fn measure(scale: &PaperScale) -> Result<Finding> {
    let keys = scale.keys.min(1_000_000);
    let of = |kind, nodes| {
        counts(CountSetup { keys, kind, domain: Domain::Adr, shape: Shape::WORDS, nodes })
    };
    let all = [
        ("NbTree", of(Kind::NbTree, NodeSizes::Pool(None))?),
        ("FastFair", of(Kind::FastFair, NodeSizes::Paper)?),
        ("Roart", of(Kind::Roart, NodeSizes::Pool(None))?),
    ];
    let plot = |title: &str, quantity: &str, pick: fn(&PerOperation) -> f64| {
        let bars = all.iter().map(|(name, rows)| bars(name, rows, pick)).collect();
        costs(title, groups(OPERATIONS), quantity, "per operation", bars)
    };
    let plots = vec![
        plot("flushes", "line flushes", |row| row.line_flushes),
        plot("lines written", "lines written", |row| row.lines_written),
        plot("lines read", "lines read", |row| row.lines_read),
    ];
    let of = |plot: usize, name: usize| plots[plot].series[name].heights();
    let ([flushes, written], read) = ([of(0, 0), of(1, 0)], of(2, 0)[3]);
    let one = |heights: &[f64]| heights[..3].iter().all(|&count| about(count, 1.0, 0.15));
    let theirs = of(0, 1);
    let checks = vec![
        Check::new(
            "NBTree flushes one line per insert, remove and update",
            list(&flushes[..3]),
            one(&flushes),
            "an insert flushes the line of its entry, and its share of the blocks that are made when a leaf \
             is full: these are flushed whole before they can be reached, which the original leaves out",
        ),
        Check::new(
            "NBTree writes one line per insert, remove and update",
            list(&written[..3]),
            one(&written),
            "an insert writes the line of its entry and its share of the new blocks of a split",
        ),
        Check::new(
            "NBTree reads one line per lookup",
            figure(read),
            about(read, 1.0, 0.15),
            "a key whose byte in DRAM is that of another one of its leaf costs a second line",
        ),
        Check::new(
            "FAST&FAIR flushes more lines per insert and remove, one per update",
            list(&theirs[..3]),
            theirs[0] > flushes[0] && theirs[1] > flushes[1] && about(theirs[2], 1.0, 0.05),
            "",
        ),
    ];
    Ok(Finding {
        setup: format!(
            "{} uniform keys, one thread; counted, not timed: the same figures on every run. A line is read \
             once per operation; nothing is cached",
            grouped(keys)
        ),
        plots,
        checks,
    })
}

fn bars(name: &str, rows: &[PerOperation], pick: fn(&PerOperation) -> f64) -> Series {
    let of =
        |operation: &str| rows.iter().find(|row| row.operation == operation).map_or(f64::NAN, pick);
    let points = OPERATIONS.iter().enumerate();
    series(name, points.map(|(x, operation)| (x as f64, exact(of(operation)))))
}
