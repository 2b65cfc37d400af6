//! How long to wait for a collection.

/// How long a thread that needs the space waits in a row for other threads to let the collection continue.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    /// About a second: the operation would fail else.
    Long,
    /// A few milliseconds: the pool would grow else.
    Short,
}

impl Patience {
    /// How often it looks, with a yield or a pause in between.
    pub(crate) fn looks(self) -> usize {
        match self {
            Self::Long => 4_000,
            Self::Short => 16,
        }
    }

    /// How often with a yield.
    pub(crate) fn yields(self) -> usize {
        self.looks() / 10
    }
}
