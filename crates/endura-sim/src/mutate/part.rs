//! Parts of a campaign, each of which can be run alone.

use std::fmt;

use super::Harness;
use crate::mutant::Mutant;
use crate::subject::Finding;

/// A part of a campaign. Its name is what it is found again by.
pub trait Part: Copy + fmt::Display + Send + Sync {
    /// What parts have in common that are run one after the other.
    type Shared: Default;

    /// Runs it.
    fn run(self, harness: &mut Harness, shared: &mut Self::Shared) -> Result<(), Finding>;

    /// Whether it can tell the fault from none, and no other part does so sooner.
    fn may_notice(self, _mutant: Mutant) -> bool {
        true
    }

    /// Equal for parts that make the same calls, about: a fault is looked for where its call is made.
    fn kind(self) -> String {
        self.to_string()
    }

    /// The same more narrowly: parts of the place where the call was made come first.
    fn place(self) -> String {
        self.kind()
    }

    /// Whether it is one of those that tell what all of their kind call.
    fn is_sample(self) -> bool {
        true
    }
}

/// Runs parts, all with one fault or none; keeps what they have in common.
pub(super) struct Runner<P: Part> {
    pub(super) harness: Harness,
    shared: P::Shared,
}

impl<P: Part> Runner<P> {
    pub(super) fn new(mutant: Option<Mutant>, counts: bool) -> Self {
        Self { harness: Harness::new(mutant, counts), shared: P::Shared::default() }
    }

    pub(super) fn run(&mut self, part: P) -> Result<(), Finding> {
        part.run(&mut self.harness, &mut self.shared)
    }
}
