//! Figure 5: single operations, one after the other.

use endura::{Kind, MediaChoice};

use crate::Result;
use crate::experiment::{OperationMix, Work};
use crate::figures::figure;
use crate::paper::bed::{curve, in_pool, loaded, scale_text, time, work};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::paper::shape::is_least;
use crate::results::plotting::{groups, times};

const OPERATIONS: [(&str, OperationMix); 4] = [
    ("lookup", OperationMix::GET),
    ("insert", OperationMix::INSERT),
    ("update", OperationMix::UPDATE),
    ("remove", OperationMix::REMOVE),
];

pub(super) fn measure(scale: &PaperScale) -> Result<Finding> {
    let subjects = [Kind::NbTree, Kind::FastFair, Kind::Roart];
    let mut bars = Vec::new();
    for subject in subjects {
        let subject = loaded(in_pool(scale, subject, MediaChoice::Eadr)?, scale)?;
        // Removes take what was loaded: fewer, that there is enough for all rounds.
        let plan = Work { operations: scale.operations_on_loaded(), ..work(scale) };
        bars.push(curve(&subject, OPERATIONS.iter().enumerate(), |(x, (_, mix))| {
            Ok((x as f64, time(&subject, *mix, plan, scale)?))
        })?);
    }
    let plot = times("one thread", groups(OPERATIONS.map(|(name, _)| name)), bars);
    let check = |(x, (name, _)): (usize, (&str, OperationMix))| {
        let heights: Vec<f64> = plot.series.iter().map(|series| series.heights()[x]).collect();
        let texts: Vec<_> = plot
            .series
            .iter()
            .zip(&heights)
            .map(|(s, ns)| format!("{} {}", s.name, figure(*ns)))
            .collect();
        Check::new(
            &format!("NBTree has the lowest latency of {name}"),
            format!("{} ns", texts.join(", ")),
            is_least(&heights, 0, 0.05),
            "the index ahead is one that the paper's figure does not have in this form: FastFair here \
             prefetches whole nodes and searches them by lines; ROART decides by whole bytes of random keys",
        )
    };
    let checks = OPERATIONS.into_iter().enumerate().map(check).collect();
    Ok(Finding {
        setup: format!(
            "keys and values of 8 bytes, fences but no flushes (eADR) on DRAM; {} (paper: 16 M keys on \
                        Optane)",
            scale_text(scale)
        ),
        plots: vec![plot],
        checks,
    })
}
