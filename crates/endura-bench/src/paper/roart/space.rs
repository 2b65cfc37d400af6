//! Figure 20: bytes by number of keys.

use endura_engine::tree::roart::Full;
use endura_variants::roart::WithoutArrays;

use super::trees::{KEYS, roart};
use crate::Result;
use crate::figures::list;
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::results::plotting::{costs, exact, number, series};

pub(super) fn measure(scale: &PaperScale) -> Result<Finding> {
    let mut curves = [const { Vec::new() }; 2];
    for part in [8, 4, 2, 1] {
        let scale = PaperScale { keys: (scale.keys / part).max(1), operations: 0, ..scale.clone() };
        let subjects = [roart::<Full>(&scale, KEYS)?, roart::<WithoutArrays>(&scale, KEYS)?];
        for (subject, curve) in subjects.into_iter().zip(&mut curves) {
            curve.push((
                scale.keys as f64,
                exact(subject.medium_bytes() as f64 / scale.keys as f64),
            ));
        }
    }
    let [with, without] = curves;
    let names = ["ROART", "radix tree without leaf arrays"];
    let curves = vec![series(names[0], with), series(names[1], without)];
    let plot = costs("space", number("keys", "", true), "space per key", "B", curves);
    let (ours, theirs) = (plot.series[0].heights(), plot.series[1].heights());
    let checks = vec![
        Check::new(
            "with many keys ROART takes less than a radix tree without leaf arrays (in P-ART's place)",
            format!("{} to {} bytes per key", list(&ours), list(&theirs)),
            ours.last() <= theirs.last(),
            "an array takes the same room whatever it holds: where few records meet in one, the nodes in its place are as small",
        ),
        Check::unknown(
            "more than P-ART below 8 M keys, less above",
            "smaller numbers of keys only",
            "P-ART's allocator and volatile nodes do not stand here",
        ),
    ];
    Ok(Finding {
        setup: "keys of 4 to 128 bytes, values of 8; spans of 16 KiB to 2 MiB count whole".into(),
        plots: vec![plot],
        checks,
    })
}
