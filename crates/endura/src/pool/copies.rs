//! Copies of whole pools, and the way back to a checkpoint by hand.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

use super::options::PoolOptions;
use super::pool::Pool;
use crate::checkpoint::backup::ByHand;
use crate::checkpoint::{Checkpoints, Restored, found};
use crate::os::whereabouts;
use crate::session::Options;
use crate::space::Draft;
use crate::{Error, Result};

impl PoolOptions {
    /// Creates a pool at `to`, where nothing may be, for what `from` holds: with the mode of its file, and with its owner where the
    /// process may give files away. `fill` writes the new pool, which is closed then. It has no checkpoints yet.
    ///
    /// The new pool appears when it is whole and durable: a failure, a kill or a crash leaves nothing. (But for a file system
    /// without nameless files, where a kill leaves a file with a temporary name, `.<name>.<digits>.tmp`.)
    ///
    /// # Errors
    ///
    /// [`Error::Io`], with `AlreadyExists` if something is there; those of [`open_existing`](Self::open_existing),
    /// [`close`](Pool::close) and `fill`.
    ///
    /// # Example
    ///
    /// A pool without what was removed from another one:
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
        let draft = Draft::of_pool(to, self.session.access(), &*from.space().media().file()?)?;
        let new = self.clone().checkpoints(Checkpoints::off()).open_existing(draft.path())?;
        let done = fill(&new)?;
        new.close()?;
        draft.publish(to)?;
        Ok(done)
    }
}

impl Pool {
    /// Writes a copy of the pool, as it is now, to `to`, where nothing may be. The copy is a closed pool, which can be opened
    /// anywhere. It appears when it is whole and durable; a failure, or a crash, leaves nothing.
    ///
    /// If the pool has checkpoints, one is made and copied, and operations go on. Else operations that write wait until
    /// all is copied. Writes as many bytes as the pool has.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], with `AlreadyExists` if something is there; those of [`checkpoint`](Self::checkpoint).
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

    /// As [`backup`](Self::backup); calls `progress` with the bytes that are done and with all: about once for each MiB, or
    /// before and after where writers wait. If that breaks, nothing is left at `to`. It may use maps of the pool, but
    /// `close` and `checkpoint` are [`Error::InsideOperation`] in it, and no other thread makes a checkpoint meanwhile.
    ///
    /// # Errors
    ///
    /// As there; [`Error::Io`] with `Interrupted` if `progress` breaks.
    pub fn backup_with(
        &self,
        to: impl AsRef<Path>,
        mut progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut told = |done, all| as_io(progress(done, all));
        self.session().backup(to.as_ref(), &mut told)
    }

    /// A [`backup`](Self::backup) at `to`, opened for reading only: a state of the pool that stays as it is, for long
    /// scans, reports and tests, while the pool goes on. It is an ordinary file; remove it when it is closed.
    ///
    /// # Errors
    ///
    /// As there; those of [`PoolOptions::open_existing`].
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
        let made = whereabouts::at(to.as_ref()).ok();
        let opened = Self::options().read_only(true).open_existing(&to);
        // A failure leaves nothing, as one of the backup does.
        opened.inspect_err(|_| {
            if whereabouts::at(to.as_ref()).ok() == made {
                let _ = std::fs::remove_file(&to);
            }
        })
    }

    /// Takes the pool at `path` back to a checkpoint: to the one beside it, or in `from`. An open does that by itself after a
    /// power loss; this does it also with the copy of a pool that was open. If there is no pool at `path`, it is
    /// made. With `keep_torn` the file as it was is kept as `<path>.torn` (for a look at what is torn).
    ///
    /// # Errors
    ///
    /// [`Error::BadCheckpoint`] if the checkpoint is none of this pool, or not of its last session (unless `from` names
    /// it), or damaged, or if the pool is whole: nothing is changed then. [`Error::Locked`], also if another process has the file
    /// open for writing by another path; [`Error::Unsupported`] in an overlay, where that cannot be seen;
    /// [`Error::Io`].
    pub fn restore(
        path: impl AsRef<Path>,
        from: Option<&Path>,
        keep_torn: bool,
    ) -> Result<Restored> {
        let by_hand = ByHand { path: path.as_ref(), from, keep_torn };
        Options::default().restore_by_hand(&by_hand, &mut found::quietly)
    }

    /// Writes a copy of the pool at `path` as its last checkpoint has it to `to`, where nothing may be; returns when that
    /// was made. For a pool that another process has open: what was written after the checkpoint is not in the copy. (A process
    /// that has the pool open itself copies its state of now: [`backup`](Self::backup).) The checkpoint is the one beside the
    /// pool, or in `from`.
    ///
    /// The copy is a closed pool, which can be opened anywhere. It appears when it is whole and durable; a failure, or a
    /// crash, leaves nothing. Each page is checked when it is read. If the other process replaces the checkpoint meanwhile, the
    /// copy begins again, five times at most.
    ///
    /// `progress` is called with the bytes that are done and with all, about once for each MiB. If it breaks, nothing is
    /// left at `to`.
    ///
    /// # Errors
    ///
    /// [`Error::BadCheckpoint`] if the checkpoint is none of this pool, or not of its last session
    /// (unless `from` names it), or damaged, or replaced too often; [`Error::Io`], with `AlreadyExists` if
    /// something is there, and with `Interrupted` if `progress` breaks.
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

/// How a copy is told to stop.
fn as_io(progress: ControlFlow<()>) -> io::Result<()> {
    match progress {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(io::ErrorKind::Interrupted.into()),
    }
}
