//! Rounds put together.

use hdrhistogram::Histogram;

use crate::result::{Measurement, Results, StoreInfo};
use crate::summary::{Latency, Median};
use crate::timing::empty_histogram;

/// What was measured so far.
#[derive(Default)]
pub(super) struct Collector {
    stores: Vec<StoreInfo>,
    measured: Vec<(Measurement, Option<Histogram<u64>>)>,
}

impl Collector {
    /// Adds one round of a measurement.
    pub(super) fn add(
        &mut self,
        info: &StoreInfo,
        one: Measurement,
        latencies: Option<&Histogram<u64>>,
    ) {
        if !self.stores.iter().any(|known| known.name == info.name) {
            self.stores.push(info.clone());
        }
        let known = self.measured.iter_mut().find(|(known, _)| known.key() == one.key());
        let Some((known, sum)) = known else {
            self.measured.push((one, latencies.cloned()));
            return;
        };
        known.rounds.extend(one.rounds);
        if let Some(latencies) = latencies {
            *sum.get_or_insert_with(empty_histogram) += latencies;
        }
    }

    /// Adds everything to `results`, with medians over the rounds.
    pub(super) fn finish(self, results: &mut Results) {
        let mut own = Results::new(String::new(), 0);
        own.stores = self.stores;
        own.measurements = self
            .measured
            .into_iter()
            .map(|(measurement, latencies)| Measurement {
                median: Median::of(measurement.rounds.clone()),
                latency_ns: latencies.filter(|l| !l.is_empty()).map(|l| Latency::of(&l)),
                ..measurement
            })
            .collect();
        results.merge(own);
    }
}
