//! Why a measurement ended early.

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(feature = "command")]
impl From<Error> for endura_console::outcome::Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Config(what) => Self::Usage(what.into()),
            error @ Error::Shape { .. } => Self::Usage(error.to_string()),
            other => Self::Message(other.to_string()),
        }
    }
}

/// Why a measurement ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// endura refused.
    #[error("endura: {0}")]
    Endura(#[from] endura::Error),
    /// LMDB refused.
    #[error("LMDB: {0}")]
    Lmdb(#[from] heed::Error),
    /// A peer refused.
    #[error("{store}: {what}")]
    Peer {
        /// The store.
        store: &'static str,
        /// What it said.
        what: String,
    },
    /// A peer is not in this build.
    #[error("this build has no {store}: build it with `--features {feature}`")]
    NotBuilt {
        /// The store.
        store: &'static str,
        /// The feature that it needs.
        feature: &'static str,
    },
    /// A store does not hold such keys and values.
    #[error("{store} holds no {shape}")]
    Shape {
        /// The store.
        store: &'static str,
        /// The keys and values.
        shape: String,
    },
    /// A store gave a wrong answer: its figures would be worth nothing.
    #[error("{store} answered {wrong} of {of} operations of `{operation}` wrongly: no figures")]
    Wrong {
        /// The store.
        store: &'static str,
        /// The operation.
        operation: String,
        /// How many answers were wrong.
        wrong: u64,
        /// Out of how many.
        of: u64,
    },
    /// The operating system refused.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The configuration cannot be run.
    #[error("{0}")]
    Config(&'static str),
    /// A worker thread panicked; its message went to standard error.
    #[error("a worker thread panicked")]
    Panicked,
}
