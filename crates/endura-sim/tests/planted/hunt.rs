//! A campaign that is the same for the flawed and for the sound form of a structure.

use std::fmt::Debug;

use endura_engine::media::Span;
use endura_sim::explore::Explorer;
use endura_sim::model::Model;
use endura_sim::mutant::Mutant;
use endura_sim::sim::Sim;
use endura_sim::subject::{Finding, Subject};
use endura_sim::tally::{Effort, Tally};

/// How a campaign ended.
pub(crate) struct Hunt {
    /// What was found first, if anything was.
    pub(crate) failure: Option<String>,
    /// How much had been looked at by then.
    pub(crate) tally: Tally,
}

/// What is explored: each of `runs` from each of `starts`, crashed at every moment, also while the
/// structure is opened again.
pub(crate) struct Campaign<Op> {
    pub(crate) model: Model,
    /// The medium's bytes.
    pub(crate) bytes: u64,
    pub(crate) effort: Effort,
    pub(crate) starts: Vec<Vec<Op>>,
    pub(crate) runs: Vec<Vec<Op>>,
}

impl<Op: Clone + Debug> Campaign<Op> {
    /// Opening alone and all runs of one operation, from an empty structure, on the weakest hardware.
    pub(crate) fn of(ops: &[Op]) -> Self {
        let runs = [vec![]].into_iter().chain(ops.iter().map(|op| vec![op.clone()])).collect();
        let (model, effort) = (Model::WEAKEST_ADR, Effort::EXHAUSTIVE);
        Self { model, bytes: 4096, effort, starts: vec![Vec::new()], runs }
    }

    /// From these states as well.
    pub(crate) fn from(mut self, starts: impl IntoIterator<Item = Vec<Op>>) -> Self {
        self.starts.extend(starts);
        self
    }

    /// These runs as well.
    pub(crate) fn and(mut self, runs: impl IntoIterator<Item = Vec<Op>>) -> Self {
        self.runs.extend(runs);
        self
    }

    /// Explores until something is found.
    pub(crate) fn hunt<S: Subject<Op = Op>>(&self, subject: &S, mutant: Option<Mutant>) -> Hunt {
        let mut explorer = Explorer::new(subject, self.model, self.bytes, self.effort, 1);
        explorer.plant(mutant);
        let failure = self.starts.iter().find_map(|before| match explorer.start(before) {
            Err(failure) => Some(failure.to_string()),
            Ok(start) => self
                .runs
                .iter()
                .find_map(|ops| explorer.explore(&start, ops, 0).err())
                .map(|failure| failure.to_string()),
        });
        Hunt { failure, tally: explorer.tally }
    }
}

/// `N` words at `at`.
pub(crate) fn words<const N: usize>(medium: &Sim, at: u64) -> Result<Span<'_, Sim, N>, Finding> {
    Span::new(medium, at).map_err(|error| error.to_string())
}
