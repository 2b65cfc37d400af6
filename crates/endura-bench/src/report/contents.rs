//! Everything that goes into the page.

use serde::Serialize;

use crate::figures::{grouped, threads};
use crate::goals::Judged;
use crate::paper::Rerun;
use crate::probes::counts::PerOperation;
use crate::probes::floor::{Chase, Floor};
use crate::probes::instructions::InstructionCounts;
use crate::probes::recovery::{CrashPlan, Timeline};
use crate::results::Results;

/// Exact counts of an index on a medium.
#[derive(Debug, Clone, Serialize)]
pub struct CountTable {
    /// The index.
    pub index: String,
    /// The persistence domain of the medium.
    pub domain: String,
    /// Per operation.
    pub rows: Vec<PerOperation>,
}

/// Everything that goes into the page.
#[derive(Serialize)]
pub struct BenchReport {
    /// Workloads on our indexes and on others.
    pub results: Results,
    /// What the scales are, in sentences.
    pub scales: Vec<String>,
    /// The papers' figures.
    pub papers: Vec<Rerun>,
    /// Whether the papers' claims show at these sizes: see [`PaperScale::is_large`](crate::paper::PaperScale::is_large).
    pub tests_papers: bool,
    /// What we have set ourselves, and what was reached; empty if the goals did not run.
    pub goals: Vec<Judged>,
    /// Exact counts.
    pub counts: Vec<CountTable>,
    /// Instructions.
    pub instructions: InstructionCounts,
    /// What the hardware takes.
    pub floor: Floor,
    /// Whether emulated memory is as slow as set.
    pub chases: Vec<Chase>,
    /// Requests through a crash, with its plan in a sentence.
    pub timeline: (Timeline, String),
    /// How long each part took that ran, in seconds.
    pub took: Vec<(&'static str, f64)>,
}

/// The plan of a timeline, in a sentence.
pub(super) fn describe(plan: &CrashPlan) -> String {
    format!(
        "{} keys of 24 bytes with values of 100 in a ROART map; {} of lookups and updates, half each, zipfian \
         0.99; {} to reclaim after the restart.",
        grouped(plan.keys),
        threads(plan.threads),
        threads(plan.collectors)
    )
}
