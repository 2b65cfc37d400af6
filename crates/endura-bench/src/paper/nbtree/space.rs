//! Figure 7: bytes in DRAM and on the medium.

use endura::{Kind, MediaChoice};

use crate::Result;
use crate::figures::{figure, grouped, list};
use crate::paper::bed::{in_pool, loaded};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::results::Plot;
use crate::results::plotting::{costs, exact, groups, series};

pub(super) fn measure(scale: &PaperScale) -> Result<Finding> {
    let (mut names, mut dram, mut medium) = (Vec::new(), Vec::new(), Vec::new());
    for keys in [scale.keys, 2 * scale.keys] {
        for kind in [Kind::NbTree, Kind::FastFair] {
            let subject = in_pool(scale, kind, MediaChoice::PageCache)?;
            let subject = loaded(subject, &PaperScale { keys, ..scale.clone() })?;
            let (x, per_key) = (names.len() as f64, |bytes: u64| exact(bytes as f64 / keys as f64));
            names.push(format!("{}, {} keys", subject.name, grouped(keys)));
            dram.push((x, per_key(subject.dram_bytes())));
            medium.push((x, per_key(subject.medium_bytes())));
        }
    }
    let ratios: Vec<f64> = [0, 2].map(|x: usize| medium[x].1.median / dram[x].1.median).to_vec();
    let bars = vec![series("on the medium", medium), series("in DRAM", dram)];
    let plot = Plot { stacked: true, ..costs("space", groups(names), "space per key", "B", bars) };
    let checks = vec![Check::new(
        "NBTree takes at least 7 times as many bytes on the medium as in DRAM",
        format!("1 to {} at both sizes; spans count whole", list(&ratios)),
        ratios.iter().all(|&ratio| ratio >= 7.0 * 0.85),
        &format!("a byte of each key and the inner nodes are in DRAM: 1 to {}", figure(ratios[0])),
    )];
    Ok(Finding {
        setup: "after a load of uniform keys (paper: 16 M and 32 M)".into(),
        plots: vec![plot],
        checks,
    })
}
