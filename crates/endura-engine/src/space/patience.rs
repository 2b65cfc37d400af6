//! How long to wait for a leak recovery.

/// How long a thread that needs space waits in a row for other threads to let the leak recovery continue.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    /// About a second: otherwise the operation would fail.
    Long,
    /// A few milliseconds: otherwise the pool would grow.
    Short,
}

impl Patience {
    /// How many times the thread looks, with a yield or a pause in between.
    pub(crate) fn looks(self) -> usize {
        match self {
            Self::Long => 4_000,
            Self::Short => 16,
        }
    }

    /// How many of the thread's looks are followed by a yield, and not by a pause.
    pub(crate) fn yields(self) -> usize {
        self.looks() / 10
    }
}
