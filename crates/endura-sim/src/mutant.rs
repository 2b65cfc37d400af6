//! Faults that are carried into a program by the medium it uses, at one place, without a rebuild.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::site::Site;

/// What a medium was called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Use {
    /// To read a word.
    Load,
    /// To write a word.
    Store,
    /// To replace a word.
    Exchange,
    /// To start the write-back of lines.
    Flush,
    /// To wait for flushes.
    Fence,
    /// To end an operation.
    Drain,
}

/// A call of a medium in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Call {
    /// Where it stands.
    pub site: Site,
    /// What it is for.
    pub what: Use,
}

/// A fault at one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mutant {
    /// The call does nothing. (An exchange that does nothing claims to have succeeded.)
    Drop(Call),
    /// A `Release` store is `Relaxed`: it may become durable before earlier stores to its line.
    Weaken(Call),
    /// A load gives what the thread knew of the word already, as if nobody had looked again.
    Stale(Call),
}

impl Mutant {
    /// The call that is at fault.
    pub fn call(self) -> Call {
        match self {
            Self::Drop(call) | Self::Weaken(call) | Self::Stale(call) => call,
        }
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Drop(_) => "without",
            Self::Weaken(_) => "relaxed",
            Self::Stale(_) => "stale",
        };
        let Call { site, what: of } = self.call();
        write!(f, "{what} {of:?} at {site}")
    }
}

/// The calls that a campaign makes when nothing is wrong.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    /// How often each was made.
    pub made: BTreeMap<Call, u64>,
    /// Stores that come after everything before them in their line.
    pub releases: BTreeSet<Call>,
}

impl Calls {
    /// Takes others in.
    pub fn add(&mut self, other: Self) {
        for (call, count) in other.made {
            *self.made.entry(call).or_default() += count;
        }
        self.releases.extend(other.releases);
    }

    /// The faults of those calls that one thread can notice: every flush, fence, drain, store and
    /// exchange left out, and every `Release` relaxed.
    pub fn mutants(&self) -> impl Iterator<Item = Mutant> + '_ {
        let dropped = self.made.keys().filter(|call| call.what != Use::Load);
        let dropped = dropped.map(|&call| Mutant::Drop(call));
        dropped.chain(self.releases.iter().map(|&call| Mutant::Weaken(call)))
    }

    /// The faults that take another thread to be noticed: every load that gives what was known.
    pub fn stale(&self) -> impl Iterator<Item = Mutant> + '_ {
        let loads = self.made.keys().filter(|call| call.what == Use::Load);
        loads.map(|&call| Mutant::Stale(call))
    }
}
