//! What a medium was asked to do.

use crate::aftermath::Aftermath;
use crate::site::Site;

/// One thing that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A word was written.
    Store {
        /// Byte offset of the word.
        at: u64,
        /// What it was given.
        value: u64,
        /// Whether earlier stores come first within the line.
        release: bool,
    },
    /// A word was replaced by an exchange that succeeded.
    Exchange {
        /// Byte offset of the word.
        at: u64,
        /// What it was given.
        value: u64,
    },
    /// A word was read that another thread had written.
    See {
        /// Byte offset of the word.
        at: u64,
    },
    /// The write-back of a line was started.
    Flush {
        /// The line's number.
        line: u64,
    },
    /// The thread's flushes were waited for.
    Fence,
    /// The medium became longer.
    Grow {
        /// Its length in bytes.
        len: u64,
    },
    /// The medium became shorter: what was behind is zero, also once it is longer again.
    Cut {
        /// Its length in bytes.
        len: u64,
    },
    /// A chunk was handed out; its contents are arbitrary.
    Fresh {
        /// Byte offset of the chunk.
        at: u64,
        /// Its bytes.
        bytes: u64,
        /// What each of its words reads as.
        poison: u64,
    },
    /// A numbered step of the structure's protocol.
    Step(&'static str),
    /// Operation number so and so begins.
    Begin(usize),
    /// Operation number so and so has returned.
    Acknowledge(usize),
    /// Everything was read.
    Observed,
    /// No thread is inside a pin that may write: a checkpoint may be made here.
    Quiet,
}

impl Action {
    /// The line of the word that it wrote, if it wrote one.
    pub fn line(self) -> Option<u64> {
        match self {
            Self::Store { at, .. } | Self::Exchange { at, .. } => Some(at / 64),
            _ => None,
        }
    }
}

/// One thing that happened, with who did it and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The thread's number.
    pub by: u32,
    /// The call.
    pub site: Site,
    /// What it did.
    pub action: Action,
}

impl Event {
    /// Whether others read other words after it than before it.
    pub fn changes_words(&self) -> bool {
        matches!(self.action, Action::Store { .. } | Action::Exchange { .. } | Action::Fresh { .. })
    }
}

/// What happened to a medium from a certain state of it on.
#[derive(Debug, Clone)]
pub struct Trace {
    /// What there was at the start, after an earlier crash perhaps.
    pub start: Aftermath,
    /// What happened, in order.
    pub events: Vec<Event>,
}
