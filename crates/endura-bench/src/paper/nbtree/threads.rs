//! Figures 6 and 8: all threads, and what each technique is worth.

use endura::media::Eadr;
use endura::tree::nbtree::Design;
use endura::tree::roart::Full;

use crate::Result;
use crate::ablations::{LockedReaders, LockedWriters, SingleLayer};
use crate::drive::{Choice, Mix, Work, median};
use crate::paper::bed::{
    bytes, costs, groups, loaded, mops, number, rates, scale_text, series, work,
};
use crate::paper::scaling::{at_threads, efficiency_check};
use crate::paper::shape::{figure, list, middle};
use crate::paper::{Check, Finding, Scale};
use crate::store::Shape;
use crate::subject::{Subject, mapped};

/// An index, and how it is made.
type Maker<'s> = (&'static str, Box<dyn Fn() -> Result<Subject> + 's>);

fn design<D: Design>(scale: &Scale) -> Result<Subject> {
    Subject::nbtree_of::<_, D>(mapped::<Eadr>(&scale.dir, bytes(scale, Shape::WORDS))?)
}

fn others(scale: &Scale) -> Vec<Maker<'_>> {
    let medium = || mapped::<Eadr>(&scale.dir, bytes(scale, Shape::WORDS));
    vec![
        ("FastFair", Box::new(move || Subject::fast_fair(medium()?, None))),
        ("Roart", Box::new(move || Subject::roart::<_, Full>(medium()?, Shape::WORDS))),
    ]
}

fn nbtree(scale: &Scale) -> Maker<'_> {
    let medium = || mapped::<Eadr>(&scale.dir, bytes(scale, Shape::WORDS));
    ("NbTree", Box::new(move || Subject::nbtree(medium()?)))
}

const OPERATIONS: [(&str, Mix, [f64; 2]); 4] = [
    ("insert", Mix::INSERT, [1.6, 7.5]),
    ("update", Mix::UPDATE, [1.5, 5.0]),
    ("remove", Mix::REMOVE, [2.0, 4.9]),
    ("lookup", Mix::GET, [1.6, 5.1]),
];

pub(super) fn uniform(scale: &Scale) -> Result<Finding> {
    let threads = scale.cores();
    let mut makers = vec![nbtree(scale)];
    makers.extend(others(scale));
    makers.push(("leaves of one layer", Box::new(|| design::<SingleLayer>(scale))));
    let mut bars = Vec::new();
    for (name, make) in &makers {
        let subject = loaded(make()?, scale)?;
        let mut points = Vec::new();
        for (x, (_, mix, _)) in OPERATIONS.into_iter().enumerate() {
            let most = scale.keys / u64::from(scale.rounds.max(1));
            let plan = Work { threads, operations: scale.operations.min(most), ..work(scale) };
            points.push((x as f64, mops(median(&subject, mix, plan, scale.rounds)?.0)));
        }
        bars.push(series(*name, points));
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
    let gains: Vec<f64> = (0..4).map(|x| height(0, x) / height(3, x)).collect();
    checks.push(Check::new(
        "leaves of two layers give 2.4 times the inserts of leaves of one",
        format!("{} times (update, remove, lookup: {})", figure(gains[0]), list(&gains[1..])),
        gains[0] >= 2.4 * 0.8,
        "on DRAM a block that is read costs what a line in DRAM costs: the tags save reads of a slower medium",
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

pub(super) fn zipfian(scale: &Scale) -> Result<Finding> {
    let mix = Mix { get: 1, update: 1, insert: 0, remove: 0, scan: 0, scan_length: 0 };
    let mut makers = vec![nbtree(scale)];
    makers.extend(others(scale));
    makers.push(("locked writers", Box::new(|| design::<LockedWriters>(scale))));
    makers.push(("locked readers too", Box::new(|| design::<LockedReaders>(scale))));
    let (mut curves, mut tails) = (Vec::new(), Vec::new());
    for (name, make) in &makers {
        let subject = loaded(make()?, scale)?;
        let (mut points, mut p99) = (Vec::new(), Vec::new());
        for &threads in &scale.threads {
            let plan = Work { threads, choice: Choice::Zipf(0.99), ..work(scale) };
            let (ns, latency) = median(&subject, mix, plan, scale.rounds)?;
            points.push((threads as f64, mops(ns)));
            p99.push((threads as f64, crate::paper::bed::exact(latency.p99 as f64)));
        }
        curves.push(series(*name, points));
        tails.push(series(*name, p99));
    }
    let across = || number("threads", "", true);
    let plot = rates("throughput", across(), curves);
    let tail = costs("99th percentile", across(), "p99 latency", "ns", tails);
    let most = scale.most_threads();
    let of = |name| at_threads(&plot, name, most);
    let others = [of("NbTree") / of("FastFair"), of("NbTree") / of("Roart")];
    let (writers, readers) =
        (of("NbTree") / of("locked writers"), of("locked writers") / of("locked readers too"));
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
