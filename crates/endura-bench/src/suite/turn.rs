//! Whose turn it is, and how far a run is.

use crate::contender::Contender;

/// One store in one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// The round, from 0.
    pub(super) round: u32,
    /// Threads at work.
    pub(super) threads: usize,
    /// The store.
    pub(super) contender: Contender,
}

impl Turn {
    pub(super) fn progress(&self, workload: &str, done: u64, total: u64) -> Progress {
        let Self { round, threads, contender } = *self;
        let (store, workload) = (contender.name(), workload.into());
        Progress { done, total, round, threads, store, workload }
    }
}

/// Where a run is, for a progress bar.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Stages done, loads among them.
    pub done: u64,
    /// Stages in all.
    pub total: u64,
    /// The round, from 0.
    pub round: u32,
    /// Threads at work.
    pub threads: usize,
    /// On which store.
    pub store: &'static str,
    /// What is about to run.
    pub workload: String,
}
