//! Figure 7: TPC-C's transactions as operations on eleven maps.

use endura::MediaChoice;

use crate::contender::Contender;
use crate::figures::list;
use crate::paper::row::{Check, Finding};
use crate::paper::scale::PaperScale;
use crate::results::plotting::{groups, rates, series};
use crate::results::{Plot, Results};
use crate::store::measured_pool;
use crate::suite::Settings;
use crate::{Result, suite, tpcc};

pub(super) fn measure(scale: &PaperScale) -> Result<Finding> {
    let tables = match scale.keys {
        0..1_000_000 => tpcc::TpccScale::hundredth(1),
        _ => tpcc::TpccScale { warehouses: 1, items: 20_000, customers: 600 },
    };
    let settings = Settings {
        rounds: scale.rounds,
        pool: measured_pool().media(MediaChoice::Adr),
        ..Settings::new(Contender::ours().collect(), scale.dir.clone(), scale.seed)
    };
    let mut results = Results::new(String::new(), scale.seed);
    let transactions = (scale.operations / 40).max(50);
    let mixes = &tpcc::TransactionMix::PAPER;
    suite::tpcc(tables, mixes, transactions, &settings, &mut results, &mut |_| {})?;
    let curve = |contender: Contender| {
        let of = |name: &str| {
            let found = results
                .measurements
                .iter()
                .find(|m| m.store == contender.name() && m.workload == name);
            found.map(|measurement| measurement.median)
        };
        let points = mixes.iter().enumerate().filter_map(|(x, mix)| Some((x as f64, of(mix.0)?)));
        series(contender.name(), points)
    };
    let names = groups(mixes.iter().map(|mix| mix.0));
    let plot = rates("transactions", names, Contender::ours().map(curve).collect());
    let plot = Plot { unit: "Ktx/s".into(), ..plot };
    let checks = checks(&plot);
    Ok(Finding {
        setup: format!(
            "one warehouse with {} items and {} customers in a district, one thread, {transactions} transactions of \
             each mix, lines written back by clwb on DRAM; medians of {} (paper: latencies of 300 ns)",
            tables.items, tables.customers, scale.rounds
        ),
        plots: vec![plot],
        checks,
    })
}

fn checks(plot: &Plot) -> Vec<Check> {
    let heights: Vec<Vec<f64>> = plot.series.iter().map(|series| series.heights()).collect();
    let ratio = |other: usize| -> Vec<f64> {
        heights[0].iter().zip(&heights[other]).map(|(ours, theirs)| ours / theirs).collect()
    };
    let (nbtree, roart) = (ratio(1), ratio(2));
    vec![
        Check::new(
            "FastFair is ahead of the radix tree (ROART, in WORT's place) in every mix",
            format!("{} times for W1 to W4", list(&roart)),
            roart.iter().all(|&ratio| ratio > 1.0),
            "with leaf arrays a radix tree scans well, and its lookups of numbers are short",
        ),
        Check::new(
            "FastFair is ahead of NBTree, which the paper does not have, in every mix",
            format!("{} times", list(&nbtree)),
            nbtree.iter().all(|&ratio| ratio > 1.0),
            "most of a transaction are lookups and inserts, which wait for fewer lines in NBTree",
        ),
    ]
}
