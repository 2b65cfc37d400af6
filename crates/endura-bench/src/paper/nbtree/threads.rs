//! Figures 6 and 8: all threads, and what each technique is worth.

use endura::{Kind, MediaChoice};
use endura_engine::media::Heap;
use endura_engine::tree::nbtree::{Design, NumberKeys, TwoLayers};
use endura_variants::nbtree::{LockedReaders, LockedWriters, SingleLayer};

use crate::Result;
use crate::experiment::{OperationMix, Subject, Work, median};
use crate::figures::{figure, list};
use crate::paper::bed::{bytes, curve, in_pool, loaded, mops, scale_text, time, work};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::paper::scaling::{at_threads, efficiency_check};
use crate::paper::shape::middle;
use crate::results::plotting::{costs, exact, groups, number, rates, series};
use crate::store::Shape;
use crate::workload::Choice;

/// An NBTree of a design, on plain memory.
fn design<D: Design<Keys = NumberKeys>>(scale: &PaperScale, name: &str) -> Result<Subject> {
    let medium = Heap::new(bytes(scale, Shape::WORDS));
    loaded(Subject::nbtree_of::<_, D>(medium)?.named(name), scale)
}

fn indexes(scale: &PaperScale) -> Result<Vec<Subject>> {
    let of = |kind| loaded(in_pool(scale, kind, MediaChoice::Eadr)?, scale);
    Ok(vec![of(Kind::NbTree)?, of(Kind::FastFair)?, of(Kind::Roart)?])
}

const OPERATIONS: [(&str, OperationMix, [f64; 2]); 4] = [
    ("insert", OperationMix::INSERT, [1.6, 7.5]),
    ("update", OperationMix::UPDATE, [1.5, 5.0]),
    ("lookup", OperationMix::GET, [1.6, 5.1]),
    ("remove", OperationMix::REMOVE, [2.0, 4.9]),
];

const FREE: &str = "nobody waits, plain memory";

pub(super) fn uniform(scale: &PaperScale) -> Result<Finding> {
    let threads = scale.cores();
    let mut subjects = indexes(scale)?;
    subjects.push(design::<TwoLayers>(scale, "two layers, plain memory")?);
    subjects.push(design::<SingleLayer>(scale, "one layer, plain memory")?);
    let mut bars = Vec::new();
    for subject in subjects {
        let plan = Work { threads, operations: scale.operations_on_loaded(), ..work(scale) };
        bars.push(curve(&subject, OPERATIONS.iter().enumerate(), |(x, (_, mix, _))| {
            Ok((x as f64, mops(time(&subject, *mix, plan, scale)?)))
        })?);
    }
    let plot = rates(&format!("{threads} threads"), groups(OPERATIONS.map(|o| o.0)), bars);
    let height = |of: usize, x: usize| plot.series[of].heights()[x];
    let mut checks: Vec<Check> = OPERATIONS
        .into_iter()
        .enumerate()
        .map(|(x, (name, _, [least, most]))| {
            let ratios = [height(0, x) / height(1, x), height(0, x) / height(2, x)];
            Check::new(
                &format!("{name}: {least} to {most} times the throughput of the others (here FastFair, ROART)"),
                format!("{} times, with {threads} threads", list(&ratios)),
                ratios.iter().all(|&ratio| ratio >= least),
                "two threads seldom meet; what the paper's 56 threads gain by not waiting is not to be had here",
            )
        })
        .collect();
    let gains: Vec<f64> = (0..4).map(|x| height(3, x) / height(4, x)).collect();
    checks.push(Check::new(
        "leaves of two layers give 2.4 times the inserts of leaves of one",
        format!("{} times (update, lookup, remove: {})", figure(gains[0]), list(&gains[1..])),
        gains[0] >= 2.4 * 0.8,
        "on DRAM a block that is read costs what a line in DRAM costs: the fingerprints save reads of a slower medium",
    ));
    Ok(Finding {
        setup: format!(
            "eADR on DRAM, uniform; {} (paper: 56 threads, 16 M keys on Optane)",
            scale_text(scale)
        ),
        plots: vec![plot],
        checks,
    })
}

pub(super) fn zipfian(scale: &PaperScale) -> Result<Finding> {
    let mix = OperationMix::HALVES;
    let mut subjects = indexes(scale)?;
    subjects.push(design::<TwoLayers>(scale, FREE)?);
    subjects.push(design::<LockedWriters>(scale, "locked writers")?);
    subjects.push(design::<LockedReaders>(scale, "locked readers too")?);
    let (mut curves, mut tails) = (Vec::new(), Vec::new());
    for subject in subjects {
        let (mut points, mut p99) = (Vec::new(), Vec::new());
        for &threads in &scale.threads {
            let plan = Work { threads, choice: Choice::Zipf(0.99), ..work(scale) };
            let (ns, latency) = median(&subject, mix, plan, scale.rounds)?;
            points.push((threads as f64, mops(ns)));
            p99.push((threads as f64, exact(latency.p99 as f64)));
        }
        curves.push(series(subject.name.clone(), points));
        tails.push(series(subject.name, p99));
    }
    let across = || number("threads", "", true);
    let plot = rates("throughput", across(), curves);
    let tail = costs("99th percentile", across(), "p99 latency", "ns", tails);
    let most = scale.most_threads();
    let of = |name| at_threads(&plot, name, most);
    let others = [of("NbTree") / of("FastFair"), of("NbTree") / of("Roart")];
    let (writers, readers) =
        (of(FREE) / of("locked writers"), of("locked writers") / of("locked readers too"));
    let p99 = |name| at_threads(&tail, name, most);
    let tail_ratio = middle(&[p99("FastFair") / p99("NbTree"), p99("Roart") / p99("NbTree")]);
    let few =
        "with few processors threads seldom meet in a leaf; the paper's figures are of 56 at once";
    let checks = vec![
        efficiency_check(&plot, "NbTree", 14.0, scale),
        Check::new(
            &format!("ahead of the others at {most} threads"),
            format!("{} times FastFair and ROART (paper: 6.0)", list(&others)),
            others.iter().all(|&ratio| ratio > 1.0),
            few,
        ),
        Check::new(
            "with a lower p99",
            format!("the others' is {} times as high (paper: 32)", figure(tail_ratio)),
            tail_ratio > 1.0,
            few,
        ),
        Check::new(
            "locked writers are slower, locked readers slower still",
            format!("{} and {} times (paper: 5.5 and 1.8)", figure(writers), figure(readers)),
            writers > 1.05 && readers > 1.05,
            few,
        ),
    ];
    Ok(Finding {
        setup: format!(
            "eADR on DRAM; {} (paper: 56 threads, 16 M keys on Optane)",
            scale_text(scale)
        ),
        plots: vec![plot, tail],
        checks,
    })
}
