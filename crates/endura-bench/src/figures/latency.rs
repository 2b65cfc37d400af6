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
}
