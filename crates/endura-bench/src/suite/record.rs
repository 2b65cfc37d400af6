//! What one store's turn measured, on its way to the others of its suite.

use std::time::Instant;

use super::collect::Rounds;
use super::stage::{Stage, Suite, VERIFIED};
use crate::Result;
use crate::contender::{Contender, Entrant};
use crate::keys::key;
use crate::results::{CPU_TIME, Measurement, Quantity, StoreInfo, TAIL, WALL_TIME};
use crate::store::{Footprint, StoreOptions};
use crate::workload::{Population, Timing, Workload};

/// Whose measurements these are.
pub(super) struct TurnRecord<'a> {
    pub(super) suite: &'a Suite,
    pub(super) info: &'a StoreInfo,
    pub(super) threads: usize,
    pub(super) rounds: &'a mut Rounds,
    /// Whether what ratios are made of is told as well.
    pub(super) tells_all: bool,
}

impl TurnRecord<'_> {
    pub(super) fn add(&mut self, stage: &Stage, timing: Timing) {
        let quantity = Quantity::throughput(vec![timing.mops()]);
        let measurement = self.measurement(stage, quantity);
        self.rounds.add_timed(self.info, measurement, &timing);
        // The latencies are the throughput's: told twice, they would be drawn twice.
        let wall_ns = timing.wall_seconds * 1e9 / timing.operations.max(1) as f64;
        let tail = timing.latencies.value_at_quantile(0.999) as f64;
        let all = [
            (CPU_TIME, "ns/op", timing.cpu_ns()),
            (WALL_TIME, "ns/op", wall_ns),
            (TAIL, "ns", tail),
        ];
        for (name, unit, value) in all.into_iter().take(if self.tells_all { 3 } else { 1 }) {
            let measurement = self.measurement(stage, Quantity::cost(name, unit, vec![value]));
            self.rounds.add_round(self.info, measurement, timing.probe, None);
        }
    }

    fn measurement(&self, stage: &Stage, quantity: Quantity) -> Measurement {
        let (suite, store) = (self.suite, &self.info.name);
        Measurement {
            threads: self.threads,
            entries: suite.keys,
            parameter: stage.parameter.clone().or_else(|| suite.parameter.clone()),
            ..Measurement::new(&suite.name, &stage.workload.name, store, quantity)
        }
    }

    /// Of a store that does not say, nothing.
    pub(super) fn space(&mut self, store: &dyn Entrant) -> Result<()> {
        let Footprint { used_bytes, file_bytes } = store.footprint()?;
        let file = ("file", if self.tells_all { file_bytes } else { 0 });
        for (name, bytes) in [("space", used_bytes), file] {
            if bytes > 0 {
                let per_key = bytes as f64 / self.suite.keys.max(1) as f64;
                self.cost("load", Quantity::cost(name, "B/key", vec![per_key]));
            }
        }
        Ok(())
    }

    fn cost(&mut self, workload: &str, quantity: Quantity) {
        let stage = Stage::new(Workload { name: workload.into(), ..Workload::load() }, 0);
        let measurement = self.measurement(&stage, quantity);
        self.rounds.add(self.info, measurement);
    }

    /// From the call that opens a store that was closed to the first answer.
    pub(super) fn reopen(
        &mut self,
        contender: Contender,
        options: &StoreOptions,
        population: &Population,
    ) -> Result<()> {
        let begun = Instant::now();
        let store = contender.open(options)?;
        let position = population.window(0).start;
        store.client()?.get(key(population.number(0, position)))?;
        let took = begun.elapsed().as_secs_f64() * 1e3;
        store.verify(population, VERIFIED / 10)?;
        self.cost("after a close", Quantity::cost("reopen time", "ms", vec![took]));
        Ok(())
    }
}
