//! Figure 8: lookups, inserts and the mix, by threads.

use endura::{Kind, MediaChoice};

use crate::Result;
use crate::experiment::{OperationMix, Subject};
use crate::paper::bed::{in_pool, loaded, scale_text};
use crate::paper::row::Finding;
use crate::paper::scale::PaperScale;
use crate::paper::scaling::{efficiency_check, keeps_up, scaling};

pub(super) fn lookups(scale: &PaperScale) -> Result<Finding> {
    measure(scale, "lookups", OperationMix::GET, 11.7)
}

pub(super) fn inserts(scale: &PaperScale) -> Result<Finding> {
    measure(scale, "inserts", OperationMix::INSERT, 12.5)
}

pub(super) fn mixed(scale: &PaperScale) -> Result<Finding> {
    let mix = OperationMix { insert: 4, get: 16, remove: 1, ..OperationMix::NONE };
    measure(scale, "4 inserts, 16 lookups, 1 remove", mix, 11.44)
}

fn measure(scale: &PaperScale, what: &str, mix: OperationMix, of_16: f64) -> Result<Finding> {
    let fast_fair =
        || -> Result<Subject> { loaded(in_pool(scale, Kind::FastFair, MediaChoice::Adr)?, scale) };
    let nbtree =
        || -> Result<Subject> { loaded(in_pool(scale, Kind::NbTree, MediaChoice::Adr)?, scale) };
    let plot = scaling(scale, what, (mix, scale.operations), &[&fast_fair, &nbtree])?;
    let checks =
        vec![efficiency_check(&plot, "FastFair", of_16, scale), keeps_up(&plot, "FastFair", scale)];
    Ok(Finding {
        setup: format!(
            "{what}, uniform, lines written back by clwb; {}; {} processors (paper: 16 hardware threads, 50 M \
             keys)",
            scale_text(scale),
            scale.cores()
        ),
        plots: vec![plot],
        checks,
    })
}
