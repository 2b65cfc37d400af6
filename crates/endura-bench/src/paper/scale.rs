//! How much of everything the rows measure.

use std::path::PathBuf;

use serde::Serialize;

/// How much of everything.
#[derive(Debug, Clone, Serialize)]
pub struct PaperScale {
    /// Keys that are loaded.
    pub keys: u64,
    /// Operations of a measurement, all threads together.
    pub operations: u64,
    /// How often a time is measured; medians count.
    pub rounds: u32,
    /// Numbers of threads in sweeps.
    pub threads: Vec<usize>,
    /// Where files go.
    pub dir: PathBuf,
    /// Where the random numbers start.
    pub seed: u64,
}

/// Keys of a full run: more than the caches hold.
const MANY: u64 = 700_000;

impl PaperScale {
    /// Seconds per row.
    pub fn quick(dir: PathBuf) -> Self {
        Self { keys: 100_000, operations: 50_000, rounds: 3, threads: vec![1, 2, 4], dir, seed: 1 }
    }

    /// A minute or less per row, beyond the caches.
    pub fn full(dir: PathBuf) -> Self {
        let threads = vec![1, 2, 4, 8];
        Self { keys: MANY, operations: 200_000, rounds: 3, threads, dir, seed: 1 }
    }

    /// Whether what the papers claim of large indexes can show: at least as many keys as in a full run.
    pub fn is_large(&self) -> bool {
        self.keys >= MANY
    }

    /// The most of these threads that have a processor each.
    pub(super) fn cores(&self) -> usize {
        let have = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.iter().copied().filter(|&threads| threads <= have).max().unwrap_or(1)
    }

    /// Operations of which each takes a loaded key of its own in every round.
    pub(super) fn operations_on_loaded(&self) -> u64 {
        self.operations.min(self.keys / u64::from(self.rounds.max(1)))
    }

    pub(super) fn most_threads(&self) -> usize {
        self.threads.iter().copied().max().unwrap_or(1)
    }
}
