//! Figure 9: skew, and the part of writes.

use endura::{Kind, MediaChoice};

use crate::Result;
use crate::experiment::{OperationMix, Work, median};
use crate::figures::{figure, list};
use crate::paper::bed::{in_pool, loaded, mops, scale_text, work};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::paper::shape::growth;
use crate::results::Plot;
use crate::results::plotting::{costs, exact, heights, number, rates, series};
use crate::workload::Choice;

const SKEWS: [f64; 6] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.99];
const WRITES: [u32; 5] = [0, 25, 50, 75, 100];

/// Throughput and p99 of the three indexes along a sweep.
fn sweep(
    scale: &PaperScale,
    across: (&str, &str),
    points: &[(f64, OperationMix, f64)],
) -> Result<[Plot; 2]> {
    let subjects = [Kind::NbTree, Kind::FastFair, Kind::Roart];
    let (mut curves, mut tails) = (Vec::new(), Vec::new());
    // More threads than processors: that is where a lock shows.
    let threads = scale.most_threads();
    for subject in subjects {
        let subject = loaded(in_pool(scale, subject, MediaChoice::Eadr)?, scale)?;
        let (mut rate, mut p99) = (Vec::new(), Vec::new());
        for &(x, mix, skew) in points {
            let plan = Work { threads, choice: Choice::Zipf(skew), ..work(scale) };
            let (ns, latency) = median(&subject, mix, plan, scale.rounds)?;
            rate.push((x, mops(ns)));
            p99.push((x, exact(latency.p99 as f64)));
        }
        curves.push(series(subject.name.clone(), rate));
        tails.push(series(subject.name, p99));
    }
    let (name, unit) = across;
    Ok([
        rates("throughput", number(name, unit, false), curves),
        costs("99th percentile", number(name, unit, false), "p99 latency", "ns", tails),
    ])
}

fn setup(scale: &PaperScale) -> String {
    format!(
        "eADR on DRAM, {} threads on {} processors; {} (paper: 56 threads, 16 M keys on Optane)",
        scale.most_threads(),
        scale.cores(),
        scale_text(scale)
    )
}

pub(super) fn skew(scale: &PaperScale) -> Result<Finding> {
    let mix = OperationMix::HALVES;
    let [plot, tail] = sweep(scale, ("skew", ""), &SKEWS.map(|skew| (skew, mix, skew)))?;
    let gain = |name| growth(&heights(&plot, name));
    // From 0.8 on.
    let fall = |name| growth(&heights(&plot, name)[3..]);
    let falls = [fall("FastFair"), fall("Roart")];
    let checks = vec![
        Check::new(
            "NBTree gains from 0.5 to 0.99",
            format!("{} times", figure(gain("NbTree"))),
            gain("NbTree") > 1.0,
            "",
        ),
        Check::new(
            "the others (FastFair, ROART) fall from 0.8 to 0.99",
            format!("{} times", list(&falls)),
            falls.iter().all(|&ratio| ratio < 1.0),
            "they gain from the cache, and with two processors few threads wait for a lock at once",
        ),
    ];
    Ok(Finding { setup: setup(scale), plots: vec![plot, tail], checks })
}

pub(super) fn writes(scale: &PaperScale) -> Result<Finding> {
    let mix = |update| OperationMix {
        get: 100 - update,
        update,
        insert: 0,
        remove: 0,
        scan: 0,
        scan_length: 0,
    };
    let points = WRITES.map(|part| (f64::from(part), mix(part), 0.99));
    let [plot, tail] = sweep(scale, ("writes", "%"), &points)?;
    let last = |plot: &Plot, name: &str| heights(plot, name).last().copied().unwrap_or(f64::NAN);
    let ratio = |plot: &Plot, up: bool| {
        ["FastFair", "Roart"].map(|name| {
            let (ours, theirs) = (last(plot, "NbTree"), last(plot, name));
            if up { ours / theirs } else { theirs / ours }
        })
    };
    let (throughput, p99) = (ratio(&plot, true), ratio(&tail, false));
    let few = "the paper's figures are of 56 threads on as many processors, which all want the same leaves";
    let checks = vec![
        Check::new(
            "with writes only NBTree has the highest throughput",
            format!("{} times FastFair and ROART (paper: 11 times the others)", list(&throughput)),
            throughput.iter().all(|&ratio| ratio > 1.0),
            few,
        ),
        Check::new(
            "and the lowest p99",
            format!("theirs is {} times as high (paper: 43)", list(&p99)),
            p99.iter().all(|&ratio| ratio > 1.0),
            few,
        ),
    ];
    Ok(Finding { setup: setup(scale), plots: vec![plot, tail], checks })
}
