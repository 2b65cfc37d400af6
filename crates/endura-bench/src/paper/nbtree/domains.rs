//! Figures 11 to 13: ADR, eADR and DRAM alone.

use std::sync::Arc;

use endura::{Kind, MediaChoice};
use endura_engine::media::Heap;
use endura_engine::tree::fast_fair::LineBinary;
use endura_engine::tree::roart::Full;
use endura_variants::media::{Emulated, Slow};

use crate::Result;
use crate::experiment::{OperationMix, Subject, Work, drive};
use crate::figures::{figure, grouped, list};
use crate::paper::bed::{
    charging, emulated, in_pool, loaded, mops, scale_text, shared, time, work,
};
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::paper::shape::is_least;
use crate::results::plotting::{costs, exact, groups, rates, series, times};
use crate::store::Shape;
use crate::workload::Choice;

const NAMES: [&str; 3] = ["NbTree", "FastFair", "Roart"];

const KINDS: [Kind; 3] = [Kind::NbTree, Kind::FastFair, Kind::Roart];

/// Nanoseconds that fences wait, and lines that reach the medium, per insert or update.
fn written(scale: &PaperScale, flushes: bool) -> Result<Vec<[f64; 2]>> {
    let medium = || shared(emulated(scale, charging(300, 300), flushes));
    let media: [Arc<Emulated<Heap>>; 3] = [medium(), medium(), medium()];
    let [a, b, c] = media.each_ref().map(Arc::clone);
    let subjects = [
        Subject::nbtree(a)?,
        Subject::fast_fair_of::<_, 64, LineBinary>(b)?,
        Subject::roart::<_, Full>(c, Shape::WORDS)?,
    ];
    let mut all = Vec::new();
    let mix = OperationMix { insert: 1, update: 1, ..OperationMix::NONE };
    for (subject, medium) in subjects.into_iter().zip(media) {
        let subject = loaded(subject, scale)?;
        medium.empty_cache();
        let before = medium.charges();
        drive(&subject, mix, work(scale))?;
        // What is still in the cache will have to go as well.
        medium.empty_cache();
        let cost = medium.charges().since(before);
        let per = |n: u64| n as f64 / scale.operations as f64;
        all.push([per(cost.write_stall_ns), per(cost.lines_written)]);
    }
    Ok(all)
}

pub(super) fn media_cost(scale: &PaperScale) -> Result<Finding> {
    let (adr, eadr) = (written(scale, true)?, written(scale, false)?);
    let bars = |pick: usize| {
        NAMES
            .iter()
            .enumerate()
            .map(|(i, name)| {
                series(*name, [(0.0, exact(adr[i][pick])), (1.0, exact(eadr[i][pick]))])
            })
            .collect::<Vec<_>>()
    };
    let across = || groups(["ADR", "eADR"]);
    let plots = vec![
        costs("flushes", across(), "stall per write at 300 ns", "ns", bars(0)),
        costs("medium", across(), "lines written per write", "lines", bars(1)),
    ];
    let of = |plot: usize, x: usize| -> Vec<f64> {
        plots[plot].series.iter().map(|series| series.heights()[x]).collect()
    };
    let check = |what: &str, heights: Vec<f64>, why: &str| {
        let ours = format!("NBTree, FastFair, ROART: {}", list(&heights));
        Check::new(&format!("NBTree has the least {what}"), ours, is_least(&heights, 0, 0.05), why)
    };
    let why = "a block is filled in the order of its inserts, in whole lines; what is updated lies anywhere";
    let checks = vec![
        check("stall of flushes on ADR", of(0, 0), ""),
        check("lines written on ADR", of(1, 0), why),
        check("lines written on eADR, where they leave the cache", of(1, 1), why),
    ];
    Ok(Finding {
        setup: format!(
            "half inserts, half updates, uniform; emulated, latencies of 300 ns charged, not waited for: the same \
             figures on every run; {} keys, {} operations, a cache of an eighth of the entries",
            grouped(scale.keys),
            grouped(scale.operations)
        ),
        plots,
        checks,
    })
}

pub(super) fn throughput(scale: &PaperScale) -> Result<Finding> {
    let mix = OperationMix::HALVES;
    let plan = Work { threads: scale.cores(), choice: Choice::Zipf(0.99), ..work(scale) };
    let mut points = [const { Vec::new() }; 3];
    for (x, media) in [MediaChoice::Adr, MediaChoice::Eadr].into_iter().enumerate() {
        for (kind, points) in KINDS.into_iter().zip(&mut points) {
            let subject = loaded(in_pool(scale, kind, media)?, scale)?;
            points.push((x as f64, mops(time(&subject, mix, plan, scale)?)));
        }
    }
    let bars: Vec<_> =
        NAMES.iter().zip(points).map(|(name, points)| series(*name, points)).collect();
    let plot = rates(&format!("{} threads", scale.cores()), groups(["ADR", "eADR"]), bars);
    let at = |i: usize, x: usize| plot.series[i].heights()[x];
    let gains: Vec<f64> = (0..3).map(|i| at(i, 1) / at(i, 0)).collect();
    let first = |x| (1..3).all(|i| at(0, x) >= at(i, x) * 0.95);
    let checks = vec![
        Check::new(
            "NBTree is first on ADR and on eADR",
            format!(
                "ADR {}; eADR {} Mop/s (NBTree, FastFair, ROART)",
                list(&[at(0, 0), at(1, 0), at(2, 0)]),
                list(&[at(0, 1), at(1, 1), at(2, 1)])
            ),
            first(0) && first(1),
            "two processors: the others' locks are seldom wanted by two threads at once",
        ),
        Check::new(
            "and gains most from eADR",
            format!("{} times (NBTree, FastFair, ROART)", list(&gains)),
            gains[0] >= gains[1].max(gains[2]) * 0.98,
            "it flushes least on ADR, so that it has the least to gain where nothing else holds it up",
        ),
    ];
    Ok(Finding {
        setup: format!(
            "DRAM, clwb and sfence executed on ADR, sfence on eADR; {}",
            scale_text(scale)
        ),
        plots: vec![plot],
        checks,
    })
}

pub(super) fn dram(scale: &PaperScale) -> Result<Finding> {
    let slow = shared(emulated(scale, Slow::of(0), false));
    let plain = |kind| in_pool(scale, kind, MediaChoice::PageCache);
    let subjects = [
        Subject::nbtree(Arc::clone(&slow))?.named("NbTree on memory of 300 ns"),
        plain(Kind::NbTree)?.named("NbTree on DRAM"),
        plain(Kind::Roart)?.named("radix tree on DRAM"),
    ];
    let mut bars = Vec::new();
    for (subject, read_ns) in subjects.into_iter().zip([300, 0, 0]) {
        let subject = loaded(subject, scale)?;
        slow.set_latency(read_ns, read_ns);
        let get = time(&subject, OperationMix::GET, work(scale), scale)?;
        let insert = time(&subject, OperationMix::INSERT, work(scale), scale)?;
        slow.set_latency(0, 0);
        bars.push(series(subject.name, [(0.0, get), (1.0, insert)]));
    }
    let plot = times("one thread", groups(["lookup", "insert"]), bars);
    let of = |i: usize| plot.series[i].heights();
    let gains: Vec<f64> = of(0).iter().zip(of(1)).map(|(slow, fast)| slow / fast).collect();
    let art: Vec<f64> = of(2).iter().zip(of(1)).map(|(art, ours)| art / ours).collect();
    let checks = vec![
        Check::new(
            "DRAM gives more lookups and inserts than memory of 300 ns",
            format!("{} times (paper: 1.7 and 1.8, against Optane)", list(&gains)),
            gains.iter().all(|&gain| gain > 1.2),
            "the one line that an operation needs is asked for early, so that little is left to wait for",
        ),
        Check::new(
            "on DRAM it is comparable with a radix tree (ROART, in ART's place)",
            format!("the radix tree takes {} times as long", list(&art)),
            art.iter().all(|&ratio| ratio > 0.67),
            &format!("random keys of 8 bytes suit a radix tree: {} times", figure(art[0])),
        ),
    ];
    Ok(Finding {
        setup: format!(
            "slow memory emulated behind a cache of an eighth of the entries, the model's work included; {}",
            scale_text(scale)
        ),
        plots: vec![plot],
        checks,
    })
}
