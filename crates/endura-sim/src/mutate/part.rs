//! Parts of a campaign, each of which can be run alone.

use std::fmt;

use crate::mutant::Calls;
use crate::mutant::Mutant;
use crate::subject::Finding;

/// A part of a campaign. Its name is what it is found again by.
pub trait Part: Copy + fmt::Display + Send + Sync {
    /// What runs parts.
    type Runner: Runner<Part = Self>;

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
pub trait Runner {
    /// What it runs.
    type Part;

    /// Runs parts with this fault; takes down which calls they make if it `counts`.
    fn new(mutant: Option<Mutant>, counts: bool) -> Self;

    /// Runs a part.
    ///
    /// # Errors
    ///
    /// What it noticed.
    fn run(&mut self, part: Self::Part) -> Result<(), Finding>;

    /// The calls of all parts that were run.
    fn into_calls(self) -> Calls;
}
