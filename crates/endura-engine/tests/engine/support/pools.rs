//! Pools in files, and how they end.

use std::path::{Path, PathBuf};

use endura::Pool;

use crate::killed_file::leave_as_killed;

/// A pool in a folder of its own.
pub(crate) fn pool() -> (tempfile::TempDir, PathBuf, Pool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pool");
    let pool = Pool::options().max_size(1 << 30).open(&path).unwrap();
    (folder, path, pool)
}

/// Leaves the file as a killed process does.
pub(crate) fn killed(pool: Pool, path: &Path) {
    leave_as_killed(path, || pool.close().unwrap());
}
