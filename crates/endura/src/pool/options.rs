//! [`PoolOptions`]: options for opening a pool.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use endura_engine::checkpoint::Checkpoints;
use endura_engine::media::MediaChoice;
use endura_engine::session::Options;
use endura_engine::space::Event;

/// Options for opening or creating a [`Pool`](crate::Pool).
///
/// # Example
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("data.endura");
/// let pool = endura::Pool::options().max_size(64 << 30).open(&path)?;
/// pool.close()?;
/// let reader = endura::Pool::options().read_only(true).open_existing(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct PoolOptions {
    pub(super) session: Options,
    pub(super) listener: Option<Listener>,
}

/// The closure that is called with events.
#[derive(Clone)]
pub(super) struct Listener(pub(super) Arc<dyn Fn(&Event) + Send + Sync>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

impl PoolOptions {
    /// The largest size in bytes to which the pool may grow while it is open; 1 TiB by default, at most 64 TiB. The
    /// size counts in steps of 64 KiB, and reserves address space, not memory or disk. It may differ between opens, and
    /// is never less than the size of the file.
    ///
    /// The default takes at most an eighth of the largest gap in the address space. If 1 TiB does not fit, the default
    /// is smaller, down to 1 GiB. [`Stats::warnings`](crate::Stats::warnings) then says so, and
    /// [`max_bytes`](crate::Stats::max_bytes) has the size. A program that opens more than about a hundred pools at
    /// once should choose a size.
    #[must_use]
    pub fn max_size(mut self, bytes: u64) -> Self {
        self.session.max_size = Some(bytes);
        self
    }

    /// The persistence domain to use; detected by default.
    #[must_use]
    pub fn media(mut self, choice: MediaChoice) -> Self {
        self.session.media = choice;
        self
    }

    /// Whether to open the pool only for reading, and to write nothing at all. Any number of processes may do this at
    /// once, while none has the pool open for writing. The file is mapped shared and read-only: the session copies no
    /// page of it, and limits on data (`ulimit -d`) do not count it.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.session.read_only = read_only;
        self
    }

    /// Whether to open a pool that would be refused with [`Error::NeedsRestore`](crate::Error::NeedsRestore), if a
    /// verification of everything in it finds no damage. The verification reads the whole pool. The last writes may be
    /// missing even if it finds no damage.
    #[must_use]
    pub fn accept_unclean(mut self, accept: bool) -> Self {
        self.session.accept_unclean = accept;
        self
    }

    /// When and where checkpoints are made, from this session on. The pool records this choice, except for the path. By
    /// default the recorded choice stays. If the pool has no recorded choice, because it is new or was made in memory,
    /// a checkpoint is made every 30 seconds in a file beside the pool; but on tmpfs and on persistent memory no
    /// checkpoints are made in that case.
    #[must_use]
    pub fn checkpoints(mut self, how: Checkpoints) -> Self {
        self.session.checkpoints = Some(how);
        self
    }

    /// Whether an open restores a pool from its last checkpoint; `true` by default. It does so if a power loss has torn
    /// the pool, or if the pool is missing and its checkpoint is not. With `false`, a torn pool is refused with
    /// [`Error::NeedsRestore`](crate::Error::NeedsRestore). A missing pool is then not found, and creating a new one in
    /// its place is refused with [`Error::BadCheckpoint`](crate::Error::BadCheckpoint), because the checkpoint of the
    /// empty pool would replace the old checkpoint.
    #[must_use]
    pub fn restore(mut self, restore: bool) -> Self {
        self.session.restore = restore;
        self
    }

    /// Whether to open pools on file systems on which they are not safe (network file systems, FUSE).
    #[must_use]
    pub fn allow_any_filesystem(mut self, allow: bool) -> Self {
        self.session.any_filesystem = allow;
        self
    }

    /// Whether the pool is read far more often than written, and is stored on a disk. Its pages are then read from disk
    /// in pieces of up to 2 MiB instead of one by one. This makes the first lookups after an open cheaper, and later
    /// ones too, because fewer and larger pages cost less.
    ///
    /// Writes pay for this: an update of 8 bytes makes 2 MiB dirty instead of 4 KiB, which the kernel later writes back
    /// to the disk. `false` by default. It has no effect on tmpfs and on persistent memory, where pages are large in
    /// any case and nothing is written back. Pages that are already in the page cache keep their size.
    #[must_use]
    pub fn read_mostly(mut self, read_mostly: bool) -> Self {
        self.session.read_mostly = read_mostly;
        self
    }

    /// The number of threads that look for the space stranded by an unclean end; 1 by default. The threads end when all
    /// of it is found, or with the pool. With 0, the search runs only when a write finds no free space, and in
    /// [`Pool::recover_leaks`](crate::Pool::recover_leaks). Its first half, which verifies the maps, also runs before
    /// the first checkpoint.
    #[must_use]
    pub fn recovery_threads(mut self, threads: usize) -> Self {
        self.session.recovery_threads = threads;
        self
    }

    /// How long an open waits for a pool that is open elsewhere, before it fails with
    /// [`Error::Locked`](crate::Error::Locked); by default it does not wait. Handles of this process count too: a
    /// thread that itself has the pool open waits in vain. Waiters are not served in order.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("data.endura");
    /// use std::time::Duration;
    ///
    /// // A process that was killed a moment ago may still hold its lock.
    /// let pool = endura::Pool::options().lock_timeout(Duration::from_secs(5)).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.session.lock_timeout = timeout;
        self
    }

    /// Calls `listen` with the events of the pool while it is open, for example an earlier unclean end, a leak
    /// recovery, growth, a checkpoint, memory that waits for a thread, or poisoning ([`Event`]). Without a listener
    /// events cost nothing.
    ///
    /// `listen` runs in a thread of its own, which ends with the last handle of the pool and of its maps. It may use
    /// the pool; a handle that it owns keeps the pool open until [`Pool::close`](crate::Pool::close). No operation
    /// waits for `listen`: if more than 1,024 events are in the queue, later ones are lost.
    /// [`Pool::close`](crate::Pool::close) waits, for at most a second, until `listen` has returned from all earlier
    /// events. Events that are still in the queue then, or when the last handle is dropped, are delivered too, unless
    /// the process ends first.
    ///
    /// If the closure panics, its thread ends. Neither the closure nor the feature `tracing` then receives a further
    /// event. The pool continues to work, and can be closed.
    ///
    /// With the feature `tracing` of this crate all pools also report these events to `tracing`, under the target
    /// `endura`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("data.endura");
    /// let (sender, events) = std::sync::mpsc::channel();
    /// let options = endura::Pool::options().on_event(move |event| {
    ///     let _ = sender.send(*event);
    /// });
    /// let pool = options.open(&path)?;
    /// pool.map::<u64, u64>("hits")?.insert(7, 1)?;
    /// assert!(matches!(events.recv()?, endura::Event::Grew { .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_event(mut self, listen: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.listener = Some(Listener(Arc::new(listen)));
        self
    }
}
