//! Copies of whole pools, and restores from a checkpoint on request.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

use endura_engine::checkpoint::backup::ByHand;
use endura_engine::checkpoint::{Checkpoints, Restored, found};
use endura_engine::session::FileThere;
use endura_engine::session::Options;

use super::options::PoolOptions;
use super::pool::Pool;
use crate::{Error, Result};

impl PoolOptions {
    /// Creates a pool at `to` for contents of the pool `from`, lets `fill` write them, and closes the new pool. Nothing
    /// may exist at `to`. The file gets the mode of `from`'s file, and its owner if the process may change owners. From
    /// the first open of the new pool on, its checkpoints are made beside it, as often as those of `from`.
    ///
    /// The new pool appears once it is complete and durable: a failure, a kill or a crash leaves nothing. (On a file
    /// system without nameless files, a kill or a crash leaves a file with a temporary name, `.<name>.<digits>.tmp`.)
    ///
    /// # Errors
    ///
    /// [`Error::Io`], with `AlreadyExists` if something exists at `to`; those of
    /// [`open_existing`](Self::open_existing), [`close`](Pool::close) and `fill`.
    ///
    /// # Example
    ///
    /// Copies all maps to a new pool, without the free space of the old one:
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use endura::{Error, Pool};
    ///
    /// let old = Pool::open(folder.path().join("old.endura"))?;
    /// old.map::<u64, u64>("orders")?.put(1, 100)?;
    /// let to = folder.path().join("new.endura");
    /// let entries = Pool::options().create_from(&old, &to, |new| {
    ///     old.maps()?.iter().map(|map| old.copy_map(&map.name, new)).sum::<Result<u64, Error>>()
    /// })?;
    /// assert_eq!(entries, 1);
    /// assert_eq!(Pool::open(&to)?.map::<u64, u64>("orders")?.get(1)?, Some(100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_from<T, E: From<Error>>(
        &self,
        from: &Pool,
        to: impl AsRef<Path>,
        fill: impl FnOnce(&Pool) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let to = to.as_ref();
        let draft = self.session.draft(to, from.session())?;
        let new = self.clone().checkpoints(Checkpoints::off()).open_existing(draft.path())?;
        let done = fill(&new)?;
        new.close()?;
        draft.keep_schedule(from.session().schedule()?)?;
        draft.publish(to)?;
        Ok(done)
    }
}

impl Pool {
    /// Writes a copy of the pool, as it is now, to `to`, where nothing may exist. The copy is a closed pool, which can
    /// be opened on any machine. It appears once it is complete and durable; a failure or a crash leaves nothing.
    ///
    /// If the pool has checkpoints, one is made and copied, and operations continue. Otherwise operations that write
    /// wait until the copy is complete. Writes as many bytes as the pool has.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], with `AlreadyExists` if something exists at `to`; those of [`checkpoint`](Self::checkpoint).
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("data.endura");
    /// let pool = endura::Pool::open(&path)?;
    /// pool.map::<u64, u64>("orders")?.put(1, 100)?;
    /// pool.backup(folder.path().join("monday.endura"))?;
    ///
    /// let monday = endura::Pool::open(folder.path().join("monday.endura"))?;
    /// assert_eq!(monday.map::<u64, u64>("orders")?.get(1)?, Some(100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<()> {
        self.backup_with(to, |_, _| ControlFlow::Continue(()))
    }

    /// Like [`backup`](Self::backup), but calls `progress` with the number of bytes copied and the total: about once
    /// for each MiB, or, if writers have to wait, only before and after the copy. If `progress` breaks, nothing is left
    /// at `to`. `progress` may use maps of the pool, but `close` and `checkpoint` fail in it with
    /// [`Error::InsideOperation`], and no other thread makes a checkpoint meanwhile.
    ///
    /// # Errors
    ///
    /// As for [`backup`](Self::backup); [`Error::Io`] with `Interrupted` if `progress` breaks.
    pub fn backup_with(
        &self,
        to: impl AsRef<Path>,
        mut progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut told = |done, all| as_io(progress(done, all));
        self.session().backup(to.as_ref(), &mut told)
    }

    /// Makes a [`backup`](Self::backup) at `to` and opens it read-only: a state of the pool that does not change while
    /// the pool does, for long scans, reports and tests. The file is an ordinary pool; remove it once it is closed.
    ///
    /// # Errors
    ///
    /// As for [`backup`](Self::backup); those of [`PoolOptions::open_existing`].
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("data.endura");
    /// let pool = endura::Pool::open(&path)?;
    /// let orders = pool.map::<u64, u64>("orders")?;
    /// orders.put(1, 100)?;
    /// let snapshot = pool.snapshot_to(folder.path().join("noon.endura"))?;
    /// orders.put(2, 200)?;
    ///
    /// assert_eq!(snapshot.map::<u64, u64>("orders")?.len()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot_to(&self, to: impl AsRef<Path>) -> Result<Pool> {
        self.backup(&to)?;
        let made = FileThere::at(to.as_ref());
        let opened = Self::options().read_only(true).open_existing(&to);
        // A failed open leaves nothing, like a failed backup.
        opened.inspect_err(|_| made.remove())
    }

    /// Takes the pool at `path` back to a checkpoint: the one beside it, or the one in `from`. An open does that by
    /// itself after a power loss. This function does it also for the copy of a pool that was open. If there is no pool
    /// at `path`, it is made from the checkpoint. With `keep_torn` the old file is kept as `<path>.torn`, for
    /// examination.
    ///
    /// # Errors
    ///
    /// [`Error::BadCheckpoint`] if the checkpoint does not belong to this pool, or not to its last session (unless
    /// `from` names it), or is damaged, or if the pool is intact: nothing is changed then. [`Error::Locked`], also if
    /// another process has the file open for writing by another path; [`Error::Unsupported`] on overlayfs, where that
    /// cannot be detected; [`Error::Io`].
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("data.endura");
    /// use endura::{Checkpoints, Pool};
    ///
    /// let pool = Pool::options().checkpoints(Checkpoints::on_demand()).open(&path)?;
    /// pool.map::<u64, u64>("orders")?.put(1, 100)?;
    /// pool.close()?;                                        // makes a checkpoint
    /// std::fs::remove_file(&path)?;
    ///
    /// let restored = Pool::restore(&path, None, false)?;
    /// println!("as of {:?}", restored.at);
    /// assert_eq!(Pool::open(&path)?.map::<u64, u64>("orders")?.get(1)?, Some(100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(
        path: impl AsRef<Path>,
        from: Option<&Path>,
        keep_torn: bool,
    ) -> Result<Restored> {
        let by_hand = ByHand { path: path.as_ref(), from, keep_torn };
        Options::default().restore_by_hand(&by_hand, &mut found::quietly)
    }

    /// Copies the last checkpoint of the pool at `path` to `to`, where nothing may exist; returns the time at which
    /// that checkpoint was made. This is for a pool that another process has open: writes after the checkpoint are not
    /// in the copy. (A process that has the pool open itself can copy the current state: [`backup`](Self::backup).) The
    /// checkpoint is the one beside the pool, or the one in `from`.
    ///
    /// The copy is a closed pool, which can be opened on any machine. It appears once it is complete and durable; a
    /// failure or a crash leaves nothing. Each page is checked when it is read. If the other process replaces the
    /// checkpoint meanwhile, the copy starts again, at most five times.
    ///
    /// `progress` is called with the number of bytes copied and the total, about once for each MiB. If it breaks,
    /// nothing is left at `to`.
    ///
    /// # Errors
    ///
    /// [`Error::BadCheckpoint`] if the checkpoint does not belong to this pool, or not to its last session (unless
    /// `from` names it), or is damaged, or was replaced too often; [`Error::Io`], with `AlreadyExists` if something
    /// exists at `to`, and with `Interrupted` if `progress` breaks.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let (path, to) = (folder.path().join("data.endura"), folder.path().join("monday.endura"));
    /// use std::ops::ControlFlow;
    /// use endura::{Checkpoints, Pool};
    ///
    /// let pool = Pool::options().checkpoints(Checkpoints::on_demand()).open(&path)?;
    /// pool.map::<u64, u64>("orders")?.put(1, 100)?;
    /// pool.checkpoint()?;
    /// pool.map::<u64, u64>("orders")?.put(2, 200)?;
    ///
    /// // In any process:
    /// let made = Pool::backup_of_checkpoint(&path, None, &to, |_, _| ControlFlow::Continue(()))?;
    /// println!("the state of {:?} ago", made.elapsed()?);
    /// let monday = Pool::open(&to)?.map::<u64, u64>("orders")?;
    /// assert_eq!((monday.get(1)?, monday.get(2)?), (Some(100), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup_of_checkpoint(
        path: impl AsRef<Path>,
        from: Option<&Path>,
        to: impl AsRef<Path>,
        mut progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<SystemTime> {
        let mut told = |done, all| as_io(progress(done, all));
        Options::default().backup_of_checkpoint(path.as_ref(), from, to.as_ref(), &mut told)
    }
}

/// Converts a break of `progress` to the error that stops a copy.
fn as_io(progress: ControlFlow<()>) -> io::Result<()> {
    match progress {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(io::ErrorKind::Interrupted.into()),
    }
}
