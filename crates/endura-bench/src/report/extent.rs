//! How much of everything a report measures.

use std::path::PathBuf;
use std::time::Duration;

use crate::paper::PaperScale;

/// How much of everything.
#[derive(Debug, Clone)]
pub struct Extent {
    /// Keys in the stores.
    pub keys: u64,
    /// Operations of a workload.
    pub operations: u64,
    /// Rounds.
    pub rounds: u32,
    /// A store whose turn takes longer has one round of a suite.
    pub patience: Duration,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Keys of the exact counts.
    pub counted: u64,
    /// Where files go.
    pub dir: PathBuf,
    /// Where the random numbers start.
    pub seed: u64,
    /// That of the papers' rows.
    pub papers: PaperScale,
    /// Rounds of the goals, which have sizes of their own; 0 leaves them out.
    pub goal_rounds: u32,
}

impl Extent {
    /// Less than three minutes on two idle cores.
    pub fn quick(dir: PathBuf) -> Self {
        let papers = PaperScale::quick(dir.clone());
        let threads = vec![1, 2];
        Self {
            keys: 100_000,
            operations: 30_000,
            rounds: 3,
            patience: Duration::from_millis(1500),
            threads,
            counted: 100_000,
            dir,
            seed: 1,
            papers,
            goal_rounds: 0,
        }
    }

    /// Less than forty minutes on two idle cores.
    pub fn full(dir: PathBuf) -> Self {
        let papers = PaperScale::full(dir.clone());
        let threads = vec![1, 2, 4];
        Self {
            keys: 500_000,
            operations: 200_000,
            rounds: 3,
            patience: Duration::from_secs(5),
            threads,
            counted: 1_000_000,
            dir,
            seed: 1,
            papers,
            goal_rounds: 5,
        }
    }

    /// In sentences.
    pub(super) fn describe(&self) -> Vec<String> {
        use crate::figures::grouped;
        let threads =
            |threads: &[usize]| threads.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        vec![
            format!(
                "workloads: {} keys, {} operations each, {} rounds (one for a store that takes more than {} s a turn), \
                 {} threads",
                grouped(self.keys),
                grouped(self.operations),
                self.rounds,
                self.patience.as_secs_f64(),
                threads(&self.threads)
            ),
            format!(
                "papers: {} keys, {} operations a point, {} rounds, {} threads",
                grouped(self.papers.keys),
                grouped(self.papers.operations),
                self.papers.rounds,
                threads(&self.papers.threads)
            ),
            format!("counts: {} keys", grouped(self.counted)),
            match self.goal_rounds {
                0 => "goals: left out, because they have two to ten million keys; endura bench goals runs \
                  them alone".into(),
                rounds => format!("goals: as many keys as they say, {rounds} rounds"),
            },
        ]
    }

    /// The part of the time that all but the goals take, about.
    pub(super) fn before_goals(&self) -> f64 {
        if self.goal_rounds > 0 { 0.6 } else { 1.0 }
    }
}
