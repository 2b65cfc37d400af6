//! Figure 4: ranges of growing size on memory with a read latency of 300 ns.

use endura_engine::tree::fast_fair::LineBinary;
use endura_engine::tree::roart::Full;
use endura_variants::media::Slow;
use endura_variants::roart::WithoutArrays;

use crate::Result;
use crate::experiment::{OperationMix, Subject, Work};
use crate::figures::{Median, list};
use crate::paper::bed::{curve, emulated, loaded, scale_text, shared, time, work};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::paper::shape::{middle, nowhere_above, ratios};
use crate::results::Plot;
use crate::results::plotting::{costs, heights, number};
use crate::store::Shape;

/// Parts of all keys that a query selects, in percent.
const RATIOS: [f64; 4] = [0.01, 0.1, 1.0, 5.0];

pub(super) fn measure(scale: &PaperScale) -> Result<Finding> {
    let medium = || shared(emulated(scale, Slow { read_ns: 0, write_ns: 0, ..Slow::of(0) }, false));
    let media = [medium(), medium(), medium(), medium()];
    let [a, b, c, d] = media.each_ref().map(std::sync::Arc::clone);
    let subjects = [
        Subject::fast_fair_of::<_, 128, LineBinary>(a)?,
        Subject::nbtree(b)?,
        Subject::roart::<_, Full>(c, Shape::WORDS)?,
        Subject::roart::<_, WithoutArrays>(d, Shape::WORDS)?
            .named("radix tree without leaf arrays"),
    ];
    let mut curves = Vec::new();
    for (subject, medium) in subjects.into_iter().zip(media) {
        let subject = loaded(subject, scale)?;
        medium.set_latency(300, 300);
        curves.push(curve(&subject, RATIOS, |ratio| {
            let length = ((scale.keys as f64 * ratio / 100.0) as u64).max(1);
            // As many entries at each point.
            let queries = (scale.operations / length).clamp(3, 2000);
            let plan = Work { operations: queries, ..work(scale) };
            let ns = time(&subject, OperationMix::scan(length as usize), plan, scale)?;
            Ok((ratio, Median { median: ns.median / length as f64, ..ns }))
        })?);
        medium.set_latency(0, 0);
    }
    let plot = costs(
        "range query",
        number("selection ratio", "%", true),
        "time per entry of the result",
        "ns",
        curves,
    );
    let checks = checks(&plot);
    Ok(Finding {
        setup: format!(
            "nodes of 1 KB; emulated reads of 300 ns behind a cache of an eighth of the entries; {} \
             (paper: 10 M keys)",
            scale_text(scale)
        ),
        plots: vec![plot],
        checks,
    })
}

fn checks(plot: &Plot) -> Vec<Check> {
    let ours = heights(plot, "FastFair");
    let radix = ratios(&ours, &heights(plot, "radix tree without leaf arrays"));
    let others: Vec<f64> =
        ["NbTree", "Roart"].iter().flat_map(|name| ratios(&ours, &heights(plot, name))).collect();
    vec![
        Check::new(
            "a radix tree (in WORT's place: ROART without leaf arrays) is slower at every ratio",
            format!("{} times FastFair's time", list(&radix)),
            nowhere_above(&ours, &heights(plot, "radix tree without leaf arrays"), 0.0),
            "its records are fetched ahead of the scan, which hides the latency that the paper's WORT pays \
             for each",
        ),
        Check::new(
            "FastFair is faster than the other indexes here, NBTree and ROART, at every ratio",
            format!(
                "they take {} times as long, the median {}",
                list(&others),
                list(&[middle(&others)])
            ),
            others.iter().all(|&ratio| ratio > 1.0),
            "the first entries of a short range cost a descent, which is cheaper where inner nodes lie in \
             DRAM (NBTree)",
        ),
    ]
}
