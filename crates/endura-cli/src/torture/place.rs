//! The place of a campaign's pool, and whether the pool is kept.

use std::path::{Path, PathBuf};

use endura_console::interrupt::{self, Doomed};
use endura_console::outcome::{Failure, Result};
use tempfile::TempDir;

/// The place of the pool.
pub(super) enum Place {
    /// In a folder of its own, which is deleted unless a violation was found.
    Temporary(TempDir, Doomed),
    /// At a path of the user's; the pool is kept.
    Given(PathBuf),
}

impl Place {
    pub(super) fn of(pool: Option<&Path>, dir: Option<&Path>) -> Result<Self> {
        if let Some(pool) = pool {
            if pool.exists() {
                return Err(Failure::Message(format!(
                    "{} exists: torture makes its own pool, give another path",
                    pool.display()
                )));
            }
            return Ok(Self::Given(pool.to_path_buf()));
        }
        let dir = dir.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let _section = interrupt::section();
        let made = tempfile::Builder::new().prefix("endura-torture-").tempdir_in(&dir);
        // The error must not show the temporary name of the folder.
        let failure =
            |e: std::io::Error| Failure::at_path("cannot make a folder in", &dir, &e.kind().into());
        let made = made.map_err(failure)?;
        let doomed = interrupt::doomed(made.path());
        Ok(Self::Temporary(made, doomed))
    }

    pub(super) fn pool(&self) -> PathBuf {
        match self {
            Self::Temporary(dir, _) => dir.path().join("torture.endura"),
            Self::Given(pool) => pool.clone(),
        }
    }

    /// Cleans up; returns the path of the pool if it is kept.
    pub(super) fn close(self, sound: bool) -> Result<Option<PathBuf>> {
        let pool = self.pool();
        match self {
            Self::Temporary(dir, _) if sound => {
                let path = dir.path().to_path_buf();
                dir.close().map_err(|e| Failure::at_path("cannot delete", &path, &e))?;
                Ok(None)
            }
            Self::Temporary(dir, doomed) => {
                doomed.keep();
                let _kept = dir.keep();
                Ok(Some(pool))
            }
            Self::Given(_) => Ok(Some(pool)),
        }
    }
}

/// The line that reports a kept pool.
pub(super) fn kept_line(kept: Option<&Path>) -> Option<String> {
    kept.map(|path| format!("The pool is kept: {}", path.display()))
}
