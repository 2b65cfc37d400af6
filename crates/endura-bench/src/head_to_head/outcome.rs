//! What a run of both found out.

use hdrhistogram::Histogram;

use super::operation::Operation;
use crate::store::Footprint;

/// What endura's index is called beside its one peer.
pub const ENDURA: &str = "endura";

/// One store, one operation, one round.
#[derive(Clone)]
pub struct Sample {
    /// The store's name.
    pub store: &'static str,
    /// What was run.
    pub operation: Operation,
    /// By how many threads.
    pub threads: usize,
    /// How many operations, all threads together.
    pub operations: u64,
    /// From the common start to the end of the last thread, in seconds.
    pub wall_seconds: f64,
    /// CPU time of all threads together, in seconds.
    pub cpu_seconds: f64,
    /// Nanoseconds of every 64th operation.
    pub latencies: Histogram<u64>,
    /// Whether somebody else used the same core.
    pub shared: bool,
    pub(super) probe: f64,
}

/// What a store took up after its load.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct StoreSpace {
    /// The store's name.
    pub store: &'static str,
    /// The keys in it.
    pub keys: u64,
    /// What they took.
    #[serde(flatten)]
    pub footprint: Footprint,
}

/// Everything that a run found out.
pub struct Outcome {
    /// One entry per store, operation, number of threads and round.
    pub samples: Vec<Sample>,
    /// One entry per store.
    pub space: Vec<StoreSpace>,
    /// The settings of each store, by name.
    pub settings: Vec<(&'static str, String)>,
}
