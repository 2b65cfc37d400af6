//! Figure 19: the more keys are alike, the more threads meet.

use endura::{Kind, MediaChoice};

use crate::Result;
use crate::experiment::{OperationMix, Work};
use crate::figures::figure;
use crate::paper::bed::{curve, in_pool, loaded, mops, scale_text, time, work};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::paper::shape::growth;
use crate::results::plotting::{heights, number, rates};
use crate::workload::Choice;

const SKEWS: [f64; 6] = [0.5, 0.6, 0.7, 0.85, 0.9, 0.99];

pub(super) fn measure(scale: &PaperScale) -> Result<Finding> {
    let mix = OperationMix::HALVES;
    let subjects = [Kind::Roart, Kind::FastFair, Kind::NbTree];
    let mut curves = Vec::new();
    for kind in subjects {
        let subject = loaded(in_pool(scale, kind, MediaChoice::Adr)?, scale)?;
        curves.push(curve(&subject, SKEWS, |skew| {
            let threads = scale.most_threads();
            let plan = Work { threads, choice: Choice::Zipf(skew), ..work(scale) };
            Ok((skew, mops(time(&subject, mix, plan, scale)?)))
        })?);
    }
    let plot = rates("throughput", number("skew", "", false), curves);
    let change = |name| (growth(&heights(&plot, name)) - 1.0) * 100.0;
    let to_85 = growth(&heights(&plot, "Roart")[..4]);
    let checks = vec![
        Check::new(
            "ROART's throughput grows up to 0.85",
            format!("{} times from 0.5", figure(to_85)),
            to_85 > 1.0,
            "a word that a thread has just stored is tagged until it is durable, and who meets it waits",
        ),
        Check::new(
            "from 0.5 to 0.99 it loses less than FAST&FAIR (28 % to 80.3 %)",
            format!(
                "ROART {} %, FastFair {} %",
                figure(change("Roart")),
                figure(change("FastFair"))
            ),
            change("Roart") > change("FastFair"),
            "with two processors hot keys stay in the cache more than threads wait for each other; FastFair's \
             readers wait for nobody",
        ),
    ];
    Ok(Finding {
        setup: format!(
            "keys of 8 bytes, half lookups, half updates, {} threads on {} processors; {} (paper: 16 threads, \
             strings)",
            scale.most_threads(),
            scale.cores(),
            scale_text(scale)
        ),
        plots: vec![plot],
        checks,
    })
}
