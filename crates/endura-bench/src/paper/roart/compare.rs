//! Figures 14, 15 and 18: ROART beside a plain radix tree and beside FAST & FAIR.

use endura::{Kind, MediaChoice};
use endura_engine::tree::roart::Full;
use endura_variants::roart::WithoutArrays;

use super::trees::{KEYS, bars, full, roart};
use crate::Result;
use crate::experiment::OperationMix;
use crate::figures::{figure, list};
use crate::paper::bed::{in_pool, loaded, scale_text};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::paper::scaling::scaling;
use crate::paper::shape::{middle, ratios};
use crate::store::Shape;

const RADIX: &str = "radix tree without leaf arrays";

fn setup(scale: &PaperScale, what: &str) -> String {
    format!("{what}, uniform, lines written back by clwb; {}", scale_text(scale))
}

pub(super) fn operations(scale: &PaperScale) -> Result<Finding> {
    let subjects =
        vec![roart::<Full>(scale, KEYS)?, roart::<WithoutArrays>(scale, KEYS)?.named(RADIX)];
    let plot = bars(subjects, scale, scale.cores())?;
    let gains = ratios(&plot.series[1].heights(), &plot.series[0].heights());
    let check = |what: &str, gain: f64, theirs: f64| {
        Check::new(
            &format!(
                "{what}: {} times a radix tree without leaf arrays (in P-ART's place)",
                figure(theirs)
            ),
            format!("{} times", figure(gain)),
            gain >= theirs * 0.9,
            "the tree in P-ART's place has all other techniques of ROART; P-ART has none",
        )
    };
    let checks = vec![
        check("lookup", gains[0], 2.562 / 2.129),
        check("insert", gains[1], 1.3),
        check("scan", gains[3], 1.65),
        Check::unknown(
            "2.29 times FAST&FAIR's lookups and 4.15 times its inserts with strings",
            "not measured",
            "FastFair has keys of 8 bytes here (fig 18)",
        ),
    ];
    Ok(Finding {
        setup: setup(
            scale,
            "keys of 4 to 128 bytes, values of 8 (paper: 30 M keys, 4 threads, Optane)",
        ),
        plots: vec![plot],
        checks,
    })
}

pub(super) fn mixes(scale: &PaperScale) -> Result<Finding> {
    const NONE: OperationMix = OperationMix::NONE;
    let mixes = [
        ("(a) half lookups, half inserts", OperationMix { get: 1, insert: 1, ..NONE }, 1.27),
        ("(b) 95 % lookups", OperationMix { get: 19, insert: 1, ..NONE }, 1.17),
        ("(c) lookups", OperationMix::GET, 1.15),
        ("(d) inserts", OperationMix::INSERT, 1.3),
        (
            "(e) 95 % scans of 100",
            OperationMix { scan: 19, insert: 1, scan_length: 100, ..NONE },
            1.52,
        ),
    ];
    let (mut plots, mut checks) = (Vec::new(), Vec::new());
    for (name, mix, theirs) in mixes {
        let operations = scale.operations / if mix.scan > 0 { 20 } else { 2 };
        let with = || roart::<Full>(scale, KEYS);
        let without = || Ok(roart::<WithoutArrays>(scale, KEYS)?.named(RADIX));
        let plot = scaling(scale, name, (mix, operations), &[&with, &without])?;
        let gains = ratios(&plot.series[1].heights(), &plot.series[0].heights());
        checks.push(Check::new(
            &format!("{name}: {theirs} times a radix tree without leaf arrays (in P-ART's place)"),
            format!("{} times with {:?} threads", list(&gains), scale.threads),
            middle(&gains) >= theirs * 0.9,
            "the tree in P-ART's place has all other techniques of ROART; P-ART has none",
        ));
        plots.push(plot);
    }
    Ok(Finding {
        setup: setup(scale, "keys of 4 to 128 bytes, values of 8 (paper: 30 M keys, 36 threads)"),
        plots,
        checks,
    })
}

pub(super) fn words(scale: &PaperScale) -> Result<Finding> {
    let subjects = vec![
        full(scale, Shape::WORDS)?,
        loaded(in_pool(scale, Kind::FastFair, MediaChoice::Adr)?, scale)?,
    ];
    let plot = bars(subjects, scale, scale.cores())?;
    let gains = ratios(&plot.series[1].heights(), &plot.series[0].heights());
    let checks = vec![
        Check::new(
            "ROART is ahead of FAST&FAIR on lookups",
            format!("{} times", figure(gains[0])),
            gains[0] > 1.0,
            "FastFair here prefetches whole nodes and searches them by lines: it waits for fewer lines than the \
             original",
        ),
        Check::new(
            "ROART is not ahead on updates",
            format!("{} times", figure(gains[2])),
            gains[2] <= 1.05,
            "it is, here: an update replaces a record of one line",
        ),
        Check::new(
            "FAST&FAIR is first on scans",
            format!("ROART has {} times its scans", figure(gains[3])),
            gains[3] < 1.0,
            "",
        ),
    ];
    Ok(Finding { setup: setup(scale, "keys and values of 8 bytes"), plots: vec![plot], checks })
}
