//! TPC-C's mixes on many stores.

use super::collect::Rounds;
use super::settings::Settings;
use super::turn::{Progress, Turn};
use crate::Result;
use crate::results::{Measurement, Quantity, Results};
use crate::store::{Shape, StoreOptions, temporary};
use crate::tpcc::{MAPS, Tables, TpccScale, TransactionMix};
use crate::workload::{Plan, Timing};

const SUITE: &str = "tpcc";

/// Runs `transactions` of each mix, all threads together, on every contender, and adds what they
/// measured to `results`. The mixes follow each other on the same tables.
pub fn tpcc(
    scale: TpccScale,
    mixes: &[(&str, TransactionMix)],
    transactions: u64,
    settings: &Settings,
    results: &mut Results,
    observe: &mut dyn FnMut(Progress),
) -> Result<()> {
    settings.check()?;
    let mut collector = Rounds::default();
    let (mut done, total) = (0, (settings.each_turn().count() * (mixes.len() + 1)) as u64);
    for turn in settings.each_turn() {
        let Turn { round, threads, contender } = turn;
        let mut tell = |workload: &str| {
            observe(turn.progress(workload, done, total));
            done += 1;
        };
        let dir = temporary(&settings.dir)?;
        let entries = scale.entries() + 20 * transactions * mixes.len() as u64;
        let options = settings.options(dir.path(), Shape::WORDS, entries);
        let store = contender.open(&StoreOptions { maps: MAPS, ..options })?;
        let (info, tables) = (store.info(), Tables::new(scale, threads)?);
        let mut add = |workload: &str, timing: &Timing| {
            let rate = vec![timing.mops() * 1e3];
            let quantity = Quantity { unit: "Ktx/s", ..Quantity::throughput(rate) };
            let measurement = Measurement {
                threads,
                entries: scale.entries(),
                ..Measurement::new(SUITE, workload, &info.name, quantity)
            };
            collector.add_timed(&info, measurement, timing);
        };
        tell("load");
        store.tpcc_load(scale)?;
        for (&(name, mix), n) in mixes.iter().zip(1_u64..) {
            tell(name);
            let seed = settings.seed ^ (u64::from(round) << 32) ^ n;
            let plan = Plan { operations: transactions, pace: settings.pace(threads), seed };
            let warm_up = Plan { operations: transactions / 10, seed: seed ^ 1 << 16, ..plan };
            store.tpcc_run(&tables, mix, warm_up)?;
            add(name, &store.tpcc_run(&tables, mix, plan)?);
        }
    }
    collector.finish(results);
    Ok(())
}
