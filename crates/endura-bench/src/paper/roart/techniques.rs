//! Figures 16 and 17: each technique taken away.

use endura_engine::tree::roart::Full;
use endura_variants::roart::{FullyOrdered, WithoutArrays, WithoutCompression, WithoutSelection};

use super::trees::{KEYS, OPERATIONS, bars, roart};
use crate::Result;
use crate::experiment::{OperationMix, Work};
use crate::figures::{Median, figure, list};
use crate::paper::bed::{curve, scale_text, time, work};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::paper::shape::ratios;
use crate::results::plotting::{costs, number};

pub(super) fn each(scale: &PaperScale) -> Result<Finding> {
    let subjects = vec![
        roart::<Full>(scale, KEYS)?.named("all techniques"),
        roart::<WithoutSelection>(scale, KEYS)?.named("without selective persistence"),
        roart::<WithoutCompression>(scale, KEYS)?.named("without entry compression"),
        roart::<FullyOrdered>(scale, KEYS)?.named("without the minimally ordered split"),
        roart::<WithoutArrays>(scale, KEYS)?.named("without leaf compaction"),
    ];
    let plot = bars(subjects, scale, 1)?;
    let at = |name: &str| OPERATIONS.iter().position(|operation| operation.0 == name).unwrap_or(0);
    let all = plot.series[0].heights();
    // How many percent the technique adds to the throughput of the operation.
    let gain = |series: usize, operation: &str| {
        let x = at(operation);
        (all[x] / plot.series[series].heights()[x] - 1.0) * 100.0
    };
    let check = |name: &str, series: usize, claims: &[(&str, f64)]| {
        let ours: Vec<_> =
            claims.iter().map(|(o, _)| format!("{o} {} %", figure(gain(series, o)))).collect();
        let theirs: Vec<_> = claims.iter().map(|(o, p)| format!("{o} {p} %")).collect();
        Check::new(
            &format!("{name} adds to {}", theirs.join(", ")),
            ours.join(", "),
            claims.iter().all(|(operation, percent)| gain(series, operation) > percent / 2.0),
            "a line more in the cache of a machine with DRAM costs far less than one on Optane; gains below the \
             spread of the figures count as none",
        )
    };
    let checks = vec![
        check("selective persistence", 1, &[("insert", 13.0), ("remove", 10.1)]),
        check("entry compression", 2, &[("insert", 9.7), ("remove", 10.8)]),
        check("the minimally ordered split", 3, &[("insert", 4.8)]),
        check(
            "leaf compaction",
            4,
            &[
                ("lookup", 17.2),
                ("insert", 13.5),
                ("update", 14.7),
                ("remove", 8.4),
                ("scan 100", 64.8),
            ],
        ),
    ];
    Ok(Finding {
        setup: format!(
            "keys of 4 to 128 bytes, values of 8, one thread, lines written back by clwb; each technique taken away from \
             all (the paper adds them one after the other, 4 threads); {}",
            scale_text(scale)
        ),
        plots: vec![plot],
        checks,
    })
}

const LENGTHS: [usize; 5] = [10, 50, 100, 500, 1000];

pub(super) fn scans(scale: &PaperScale) -> Result<Finding> {
    let mut curves = Vec::new();
    for which in 0..2 {
        let subject = match which {
            0 => roart::<Full>(scale, KEYS)?.named("with leaf compaction"),
            _ => roart::<WithoutArrays>(scale, KEYS)?.named("without"),
        };
        curves.push(curve(&subject, LENGTHS, |length| {
            let operations = (scale.operations / length as u64).max(20);
            let plan = Work { operations, ..work(scale) };
            let ns = time(&subject, OperationMix::scan(length), plan, scale)?;
            Ok((length as f64, Median { median: ns.median / length as f64, ..ns }))
        })?);
    }
    let plot =
        costs("scan", number("scan length", "entries", true), "time per entry", "ns", curves);
    let gains = ratios(&plot.series[0].heights(), &plot.series[1].heights());
    let why = "leaves are prefetched ahead of a scan in both trees here, which hides part of what scattered \
               records cost";
    let checks = vec![
        Check::new(
            "scans of any length are at least 1.07 times as fast",
            format!("{} times at {LENGTHS:?}", list(&gains)),
            gains.iter().all(|&gain| gain >= 1.07),
            why,
        ),
        Check::new(
            "those of 100 keys and more at least 1.65 times",
            format!("{} times", list(&gains[2..])),
            gains[2..].iter().all(|&gain| gain >= 1.65),
            why,
        ),
    ];
    Ok(Finding {
        setup: format!("keys of 4 to 128 bytes, values of 8, one thread; {}", scale_text(scale)),
        plots: vec![plot],
        checks,
    })
}
