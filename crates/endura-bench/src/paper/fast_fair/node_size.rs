//! Figure 3: how large nodes should be, and how they are searched.

use endura_engine::tree::fast_fair::Search;
use endura_variants::fast_fair::{Binary, Linear};

use crate::Result;
use crate::experiment::{OperationMix, Subject, Work, adr};
use crate::figures::{Median, figure, list};
use crate::paper::bed::{bytes, scale_text, time, work};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::paper::shape::{middle, nowhere_above, ratios, rises};
use crate::results::plotting::{number, series, times};
use crate::results::{Plot, Series};
use crate::store::Shape;

/// Nanoseconds of an insert while the tree is filled, and of a lookup.
fn point<const WORDS: usize, S: Search>(scale: &PaperScale) -> Result<(f64, Median, Median)> {
    let (mut inserts, mut gets) = (Vec::new(), Vec::new());
    for _ in 0..scale.rounds {
        let medium = adr(&scale.dir, bytes(scale, Shape::WORDS))?;
        let subject = Subject::fast_fair_of::<_, WORDS, S>(medium)?;
        let once = PaperScale { rounds: 1, ..scale.clone() };
        let fill = Work { next: 0, operations: scale.keys, ..work(scale) };
        inserts.push(time(&subject, OperationMix::INSERT, fill, &once)?.median);
        gets.push(time(&subject, OperationMix::GET, work(scale), &once)?.median);
    }
    Ok((8.0 * WORDS as f64, Median::of(inserts), Median::of(gets)))
}

fn curves<S: Search>(name: &str, scale: &PaperScale) -> Result<[Series; 2]> {
    let points = [
        point::<32, S>(scale)?,
        point::<64, S>(scale)?,
        point::<128, S>(scale)?,
        point::<512, S>(scale)?,
    ];
    let of = |pick: fn(&(f64, Median, Median)) -> Median| {
        series(name, points.iter().map(|point| (point.0, pick(point))))
    };
    Ok([of(|point| point.1), of(|point| point.2)])
}

pub(super) fn measure(scale: &PaperScale) -> Result<Finding> {
    let all = [curves::<Linear>("linear", scale)?, curves::<Binary>("binary", scale)?];
    let plot = |title, which: usize| {
        let curves = all.iter().map(|pair| pair[which].clone()).collect();
        times(title, number("node size", "bytes", true), curves)
    };
    let plots = vec![plot("insert", 0), plot("lookup", 1)];
    let checks = checks(&plots);
    Ok(Finding {
        setup: format!(
            "FastFair with nodes of one size on all levels, lines written back by clwb; {} inserted into \
             an empty tree (paper: 1 M on DRAM)",
            scale_text(scale)
        ),
        plots,
        checks,
    })
}

fn checks(plots: &[Plot]) -> Vec<Check> {
    let of = |plot: usize, curve: usize| plots[plot].series[curve].heights();
    let (insert, get, binary) = (of(0, 0), of(1, 0), of(1, 1));
    let grown = &insert[1..];
    let slower = ratios(&get[..3], &binary[..3]);
    let both: Vec<f64> = insert.iter().zip(&get).map(|(a, b)| a + b).collect();
    let best = both[1].min(both[2]);
    vec![
        Check::new(
            "inserts with linear search slow down from 512 bytes to 4 KB",
            format!("{} ns", list(grown)),
            rises(grown, 0.1),
            "longer nodes shift more, but split less often and make the tree lower",
        ),
        Check::new(
            "lookups by binary search are slower than by linear search below 4 KB",
            format!("binary takes {} times as long", list(&slower)),
            nowhere_above(&get[..3], &binary[..3], 0.05) && middle(&slower) > 1.0,
            "today's processors predict past a binary search's branches, and all lines of a node are \
             prefetched here the moment its address is known, so that no search order saves a miss",
        ),
        Check::new(
            "512 bytes or 1 KB have the least sum of insert and lookup",
            format!("{} ns for 256 to 4096 bytes", list(&both)),
            both.iter().all(|sum| best <= sum * 1.05),
            &format!("the least is {} ns", figure(both.iter().copied().fold(f64::MAX, f64::min))),
        ),
    ]
}
