//! The methods that open and create pools.

use std::io;
use std::path::Path;
use std::time::Instant;

use endura_engine::session::{LONGEST_PAUSE, Locked, is_io};

use super::listen;
use super::options::PoolOptions;
use super::pool::Pool;
use crate::{Error, Result};

impl PoolOptions {
    /// Opens the pool at `path`, which must exist. Takes [milliseconds](crate#what-an-open-after-kill--9-costs), whatever the
    /// size of the pool.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if another handle or process has it open, and keeps it open for the
    /// [`lock_timeout`](Self::lock_timeout); [`Error::NotAPool`], [`Error::Truncated`], [`Error::Version`],
    /// [`Error::UnknownFeatures`] and [`Error::Corrupt`] if the file is not a pool of this build;
    /// [`Error::NeedsRestore`] if the machine stopped, or the file was copied, while the pool was open, or if that
    /// cannot be known; [`Error::NeedsRecovery`] if a writer has to open it first; [`Error::Unsupported`] if the file
    /// system or the machine lacks something that the pool needs; [`Error::Io`], also with `NotFound`. A refused file
    /// is not changed.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("data.endura");
    /// use endura::{Error, Pool};
    ///
    /// let missing = Pool::options().open_existing(&path);
    /// assert!(matches!(missing, Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound));
    /// Pool::options().create_new(&path)?.close()?;
    /// let reader = Pool::options().read_only(true).open_existing(&path)?;
    /// assert!(matches!(reader.drop_map("users"), Err(Error::ReadOnly)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_existing(&self, path: impl AsRef<Path>) -> Result<Pool> {
        let (path, begun) = (path.as_ref(), Instant::now());
        loop {
            let opened = Locked::existing(&self.session, path);
            match opened.and_then(|locked| self.begin(path, locked)) {
                // Another process has opened the file by a path whose lock this one does not see.
                Err(Error::Locked) if begun.elapsed() < self.session.lock_timeout => {
                    std::thread::sleep(LONGEST_PAUSE);
                }
                outcome => return outcome,
            }
        }
    }

    /// Creates an empty pool at `path` and opens it. A crash leaves no pool or a complete one; a failure leaves none.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] with `AlreadyExists` if something exists at `path`, also a dangling link; [`Error::Full`];
    /// otherwise as for [`open_existing`](Self::open_existing).
    pub fn create_new(&self, path: impl AsRef<Path>) -> Result<Pool> {
        let path = path.as_ref();
        self.begin(path, Locked::new(&self.session, path)?)
    }

    /// Opens the pool at `path`. If nothing exists there, creates the pool first, unless it is to be read-only. Of
    /// several processes that do this at once, one creates the pool. A symbolic link is followed to an existing pool.
    /// For a dangling link no pool is created, neither in its place nor at its target: the call fails with
    /// [`Error::Io`] (`NotFound`), whose text says so.
    ///
    /// # Errors
    ///
    /// As for [`open_existing`](Self::open_existing) and [`create_new`](Self::create_new).
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Pool> {
        match self.open_existing(&path) {
            Err(error) if is_io(&error, io::ErrorKind::NotFound) && !self.session.read_only => {}
            outcome => return outcome,
        }
        match self.create_new(&path) {
            Err(error) if is_io(&error, io::ErrorKind::AlreadyExists) => self.open_existing(&path),
            outcome => outcome,
        }
    }

    fn begin(&self, path: &Path, locked: Locked<'_>) -> Result<Pool> {
        let events = listen::events(self, path)?;
        locked.open(events).map(Pool::of)
    }
}
