//! The tortured pool, and how it is opened.

use std::path::Path;

use endura::{Checkpoints, Error, Kind, Pool, Result};
use endura_console::args::MediaArgs;

use super::subject::Subject;
use crate::pool::checkpoint_args::forget_checkpoints;
use crate::pool::pool_args::with_checkpoints;

/// An open map, with its pool.
pub(super) struct Open {
    pub(super) map: Subject,
    pool: Pool,
}

/// Creates an empty map in a new pool at `path`.
pub(super) fn create(
    (kind, strings): (Kind, bool),
    path: &Path,
    media: MediaArgs,
    checkpoints: Option<Checkpoints>,
) -> Result<()> {
    // The pool keeps the choice of checkpoints, and each writer inherits it.
    let pool = with_checkpoints(media.options(), checkpoints).create_new(path)?;
    let made = Subject::create(&pool, kind, strings).and_then(|_| pool.close().map(drop));
    if made.is_err() {
        // A pool without a map is useless.
        forget_checkpoints(&pool);
        let _ = std::fs::remove_file(path);
    }
    made
}

/// Whether kills are expected to leave states to repair that can be counted. Nearly every change of a ROART is one
/// store, so a kill rarely comes between two stores of a change. A kind is listed here once its kills are known to
/// leave such states.
pub(super) fn repairs_expected(kind: Kind) -> bool {
    matches!(kind, Kind::FastFair | Kind::NbTree)
}

impl Open {
    /// Opens the map at `path`, whose kind the pool records; read-only if that is requested and possible.
    pub(super) fn at(path: &Path, media: MediaArgs, read_only: bool) -> Result<Self> {
        let options = media.options();
        let pool = match options.clone().read_only(read_only).open_existing(path) {
            Err(Error::NeedsRecovery) => options.open_existing(path)?,
            other => other?,
        };
        Ok(Self { map: Subject::open(&pool)?, pool })
    }

    /// Verifies everything; returns the number of pending repairs.
    pub(super) fn repairs_pending(&self) -> Result<u64> {
        Ok(self.pool.verify()?.repairs_pending())
    }

    /// Bytes of the file.
    pub(super) fn file_bytes(&self) -> Result<u64> {
        Ok(self.pool.stats()?.file_bytes)
    }

    pub(super) fn close(self) -> Result<()> {
        self.pool.close().map(drop)
    }
}
