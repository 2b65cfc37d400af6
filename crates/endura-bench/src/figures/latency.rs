//! Percentiles of latencies.

use hdrhistogram::Histogram;

/// Percentiles in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Latency {
    /// Half are faster.
    pub p50: u64,
    /// One in ten is slower.
    pub p90: u64,
    /// One in a hundred is slower.
    pub p99: u64,
    /// One in a thousand is slower.
    pub p999: u64,
    /// One in ten thousand is slower.
    pub p9999: u64,
    /// The slowest.
    pub max: u64,
    /// How many were timed.
    pub samples: u64,
}

/// Slower samples that a percentile needs: with fewer it is hardly told from the slowest.
const SLOWER: u64 = 10;

impl Latency {
    /// The percentiles of a histogram of nanoseconds.
    pub fn of(latencies: &Histogram<u64>) -> Self {
        Self {
            p50: latencies.value_at_quantile(0.5),
            p90: latencies.value_at_quantile(0.9),
            p99: latencies.value_at_quantile(0.99),
            p999: latencies.value_at_quantile(0.999),
            p9999: latencies.value_at_quantile(0.9999),
            max: latencies.max(),
            samples: latencies.len(),
        }
    }

    /// Percentiles by name, and the slowest; none where fewer than ten samples can have been slower than the percentile.
    pub(crate) fn known(&self) -> [(&'static str, Option<u64>); 6] {
        let at = |ns, one_in: u64| (self.samples >= SLOWER * one_in).then_some(ns);
        [
            ("p50", at(self.p50, 2)),
            ("p90", at(self.p90, 10)),
            ("p99", at(self.p99, 100)),
            ("p99.9", at(self.p999, 1000)),
            ("p99.99", at(self.p9999, 10_000)),
            ("max", (self.samples > 0).then_some(self.max)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_known_where_ten_samples_were_slower() {
        let known = |samples| {
            let all =
                Latency { p50: 1, p90: 2, p99: 3, p999: 4, p9999: 5, max: 6, samples }.known();
            all.into_iter().filter(|(_, ns)| ns.is_some()).map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(known(0), [""; 0]);
        assert_eq!(known(9), ["max"]);
        assert_eq!(known(20), ["p50", "max"]);
        assert_eq!(known(5_600), ["p50", "p90", "p99", "max"]);
        assert_eq!(known(10_000), ["p50", "p90", "p99", "p99.9", "max"]);
        assert_eq!(known(100_000).len(), 6);
    }
}
