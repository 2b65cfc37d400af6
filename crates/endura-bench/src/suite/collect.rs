//! Rounds put together.

use hdrhistogram::Histogram;

use crate::figures::{Latency, Median, empty_histogram, is_shared};
use crate::results::{Measurement, Results, StoreInfo};
use crate::workload::Timing;

struct Measured {
    one: Measurement,
    /// The probe of each round.
    probes: Vec<f64>,
    latencies: Option<Histogram<u64>>,
}

/// What was measured so far.
#[derive(Default)]
pub(super) struct Rounds {
    stores: Vec<StoreInfo>,
    measured: Vec<Measured>,
}

impl Rounds {
    /// Adds one round of a measurement that took no time of its own to speak of.
    pub(super) fn add(&mut self, info: &StoreInfo, one: Measurement) {
        self.add_round(info, one, 0.0, None);
    }

    /// Adds one round of a measurement of what was timed.
    pub(super) fn add_timed(&mut self, info: &StoreInfo, one: Measurement, timing: &Timing) {
        self.add_round(info, one, timing.probe, Some(&timing.latencies));
    }

    /// Adds one round, with the probe of its neighbours and, if it has any, its latencies.
    pub(super) fn add_round(
        &mut self,
        info: &StoreInfo,
        one: Measurement,
        probe: f64,
        latencies: Option<&Histogram<u64>>,
    ) {
        if !self.stores.iter().any(|known| known.name == info.name) {
            self.stores.push(info.clone());
        }
        let known = self.measured.iter_mut().find(|known| known.one.key() == one.key());
        let Some(known) = known else {
            let latencies = latencies.cloned();
            self.measured.push(Measured { one, probes: vec![probe], latencies });
            return;
        };
        known.one.rounds.extend(one.rounds);
        known.probes.push(probe);
        if let Some(latencies) = latencies {
            *known.latencies.get_or_insert_with(empty_histogram) += latencies;
        }
    }

    /// Adds everything to `results`, with medians over the rounds.
    pub(super) fn finish(self, results: &mut Results) {
        let mut own = Results::new(String::new(), 0);
        own.stores = self.stores;
        own.measurements = self.measured.into_iter().map(Measured::finish).collect();
        results.merge(own);
    }
}

impl Measured {
    fn finish(self) -> Measurement {
        let shared: Vec<bool> = self.probes.into_iter().map(is_shared).collect();
        Measurement {
            median: Median::of(self.one.rounds.clone()),
            shared: if shared.contains(&true) { shared } else { Vec::new() },
            latency_ns: self.latencies.filter(|l| !l.is_empty()).map(|l| Latency::of(&l)),
            ..self.one
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::probe;
    use crate::results::{Promise, Quantity, Role};

    #[test]
    fn rounds_beside_a_neighbour_are_named() {
        let (alone, beside) = (0.0, 10.0 * probe());
        let mut collector = Rounds::default();
        for (name, mops, probe) in [
            ("ours", 9.0, alone),
            ("ours", 5.0, beside),
            ("ours", 8.0, alone),
            ("other", 2.0, beside),
            ("other", 4.0, beside),
        ] {
            let (role, promise) = (Role::Peer, Promise::Sigkill);
            let info = StoreInfo { name: name.into(), role, promise, setting: String::new() };
            let one = Measurement::new("", "", name, Quantity::throughput(vec![mops]));
            collector.add_round(&info, one, probe, None);
        }
        let mut results = Results::new(String::new(), 0);
        collector.finish(&mut results);
        let medians: Vec<f64> = results.measurements.iter().map(|m| m.median.median).collect();
        assert_eq!(medians, [8.0, 3.0]);
        assert_eq!(results.measurements[0].shared, [false, true, false]);
        assert_eq!(results.shared_rounds(), (3, 5));
    }
}
