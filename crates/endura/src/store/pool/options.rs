//! How a pool is to be opened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::media::MediaChoice;
use crate::pool::Event;

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
#[derive(Debug, Clone)]
pub struct PoolOptions {
    pub(super) max_size: Option<u64>,
    pub(super) media: MediaChoice,
    pub(super) read_only: bool,
    pub(super) accept_unclean: bool,
    pub(super) any_filesystem: bool,
    pub(super) read_mostly: bool,
    pub(super) recovery_threads: usize,
    pub(super) lock_timeout: Duration,
    pub(super) listener: Option<Listener>,
}

/// What is called with events.
#[derive(Clone)]
pub(super) struct Listener(pub(super) Arc<dyn Fn(&Event) + Send + Sync>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            max_size: None,
            media: MediaChoice::default(),
            read_only: false,
            accept_unclean: false,
            any_filesystem: false,
            read_mostly: false,
            recovery_threads: 1,
            lock_timeout: Duration::ZERO,
            listener: None,
        }
    }
}

impl PoolOptions {
    /// The largest size in bytes to which the pool may grow while it is open; 1 TiB by default. It costs
    /// addresses, neither memory nor disk, may differ from open to open, and is never less than what the
    /// file has. At most 64 TiB.
    ///
    /// The default takes at most an eighth of the largest free piece of the address space, and less than
    /// 1 TiB where that is not enough, down to 1 GiB: [`Stats::warnings`](crate::Stats::warnings) says so,
    /// and [`max_bytes`](crate::Stats::max_bytes) how much it is. Whoever opens more than about a hundred pools
    /// at once chooses a size.
    #[must_use]
    pub fn max_size(mut self, bytes: u64) -> Self {
        self.max_size = Some(bytes);
        self
    }

    /// Which persistence domain to use; found out by default.
    #[must_use]
    pub fn media(mut self, choice: MediaChoice) -> Self {
        self.media = choice;
        self
    }

    /// Whether to write nothing at all. Any number of processes may read a pool at once, while
    /// nobody writes it. The file is mapped shared and read-only: the session copies no page of it, and limits on
    /// data (`ulimit -d`) do not count it.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Whether to open a pool that would be refused with [`Error::NeedsRestore`](crate::Error::NeedsRestore), if a verification
    /// of everything in it finds nothing. This reads the whole pool. What was stored last may be
    /// missing all the same.
    #[must_use]
    pub fn accept_unclean(mut self, accept: bool) -> Self {
        self.accept_unclean = accept;
        self
    }

    /// Whether to open pools on file systems where they are not safe (network file systems, FUSE).
    #[must_use]
    pub fn allow_any_filesystem(mut self, allow: bool) -> Self {
        self.any_filesystem = allow;
        self
    }

    /// Whether the pool is read far more often than written, and lies on a disk: its pages are then read from
    /// there in pieces of up to 2 MiB instead of one by one, which makes the first lookups after an open
    /// cheaper, and later ones by what fewer and larger pages cost less.
    ///
    /// The price is paid by writes: an update of 8 bytes makes 2 MiB dirty, which the kernel writes to
    /// the disk some time later, instead of 4 KiB. `false` by default. Without effect on tmpfs and on
    /// persistent memory, where pages are large in any case and nothing is written back. Pages that are
    /// in the page cache stay as large as they are.
    #[must_use]
    pub fn read_mostly(mut self, read_mostly: bool) -> Self {
        self.read_mostly = read_mostly;
        self
    }

    /// How many threads look for the space that an unclean end stranded; 1 by default. They end when
    /// all is found, or with the pool. With 0 it is looked for only when a write finds no room, and by
    /// [`Pool::recover_leaks`](crate::Pool::recover_leaks).
    #[must_use]
    pub fn recovery_threads(mut self, threads: usize) -> Self {
        self.recovery_threads = threads;
        self
    }

    /// How long to wait for a pool that is open elsewhere before [`Error::Locked`](crate::Error::Locked) is the answer; not at
    /// all by default. The wait is for handles of this process too: a thread that still has one open
    /// itself waits in vain. Waiters are not served in order.
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// Calls `listen` with what happens to the pool while it is open: unclean ends before it, collections, growth, memory
    /// that waits for a thread, poisoning ([`Event`]). Without a listener nothing of this costs anything.
    ///
    /// It runs in a thread of its own, which ends with the last handle of the pool and of its maps, and may use the pool;
    /// a handle that it owns keeps the pool open until [`Pool::close`](crate::Pool::close). No operation waits for it:
    /// of more than 1,024 events that it has not come to, the later ones are lost. Events that are left when the pool
    /// is closed are still told, unless the process ends before.
    ///
    /// If the closure panics, its thread ends and hears of no later event; the feature `tracing` hears of none either.
    /// The pool works on, and can be closed.
    ///
    /// With the feature `tracing` of this crate all pools also tell these events to `tracing`, under the target `endura`.
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
