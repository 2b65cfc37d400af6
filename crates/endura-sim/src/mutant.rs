//! Faults that are carried into a program by the medium it uses, at one place, without a rebuild.

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
