//! The handle of an open pool.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use endura_engine::checkpoint::{Checkpoint, Restored};
use endura_engine::media::Mapped;
use endura_engine::session::{Closed, MapInfo, Open, Report, Stats};
use endura_engine::space::Space;

use super::options::PoolOptions;
#[cfg(doc)]
use crate::Error;
use crate::Result;

/// An open pool: one file with any number of named maps.
///
/// A handle is cheap to clone; any thread may use and drop it. [`close`](Self::close) closes the pool, and so does
/// dropping the last handle of it, of its maps and of its batches.
///
/// Every write that returned survives the end of the process, however it ends. The end of the machine is another matter:
/// on a disk, a closed pool is kept, because a close syncs it. An open one goes back to its last
/// [checkpoint](crate::Checkpoints), which is made every 30 s by default, and at each close.
///
/// A forked child cannot use the pools of its parent ([`Error::Forked`]); dropping their handles in the child has no
/// effect on the pool.
///
/// # Example
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("data.endura");
/// let pool = endura::Pool::open(&path)?;
/// let users = pool.map::<str, str>("users")?;
/// users.insert("ada", "1815")?;
/// pool.close()?;
///
/// let pool = endura::Pool::open(&path)?;
/// assert_eq!(pool.map::<str, str>("users")?.get("ada")?.as_deref(), Some("1815"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pool {
    open: Arc<Open>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl Pool {
    /// Opens the pool at `path`; creates it if nothing exists there. Takes
    /// [milliseconds](crate#what-an-open-after-kill--9-costs), whatever the size of the pool. A symbolic link is
    /// followed to an existing pool; for a dangling link no pool is created.
    ///
    /// # Errors
    ///
    /// As for [`PoolOptions::open`].
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("data.endura");
    /// use endura::{Error, Pool};
    ///
    /// let pool = Pool::open(&path)?;
    /// // One process at a time has a pool open for writing, and opens it once.
    /// assert!(matches!(Pool::open(&path), Err(Error::Locked)));
    /// pool.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// Options for an open.
    pub fn options() -> PoolOptions {
        PoolOptions::default()
    }

    pub(super) fn of(open: Arc<Open>) -> Self {
        Self { open }
    }

    /// The space of the pool, for the lab.
    #[doc(hidden)]
    pub fn space(&self) -> &Arc<Space<Mapped>> {
        self.open.space()
    }

    /// The open pool that all handles share.
    pub(crate) fn session(&self) -> &Arc<Open> {
        &self.open
    }

    /// The path by which the pool was opened.
    pub fn path(&self) -> &Path {
        self.open.path()
    }

    /// What the restore did, if the open took the pool back to a checkpoint or made it from one. [`Stats`] has the same
    /// facts; this method is O(1).
    pub fn restored(&self) -> Option<&Restored> {
        self.open.restored()
    }

    /// All maps of the pool, by name.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`], [`Error::Forked`], [`Error::Poisoned`].
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// pool.map::<str, str>("users")?;
    /// for map in pool.maps()? {
    ///     println!("{}: {:?}", map.name, map.kind);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn maps(&self) -> Result<Vec<MapInfo>> {
        self.open.maps()
    }

    /// Drops the map `name` and frees its space; returns `false` if there is none. From then on its handles fail with
    /// [`Error::Dropped`]. Durable on return; O(nodes).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNodes`] if this build does not know which chunks belong to the map. Those of [`Map`](crate::Map)
    /// for methods that write.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// pool.map::<str, str>("users")?.insert("ada", "1815")?;
    /// assert!(pool.drop_map("users")?);
    /// assert!(!pool.drop_map("users")?);                    // it is not there any more
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drop_map(&self, name: &str) -> Result<bool> {
        self.open.drop_map(name)
    }

    /// Renames the map `from` to `to`; its entries are not moved. Atomic, also in a crash: at any moment exactly one of
    /// the two names exists. Durable on return; O(1), and needs no space.
    ///
    /// Handles of the map stay valid, also in running operations, and refer to the same map under its new name. A
    /// concurrent open of the old name acts as if it came before the call, and gets the map, or as if it came after the
    /// call, and creates a new map of that name.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchMap`] if there is no map `from`; [`Error::MapExists`] if there is a map `to`, also if both names
    /// are equal; [`Error::BadName`]; and those of [`Map`](crate::Map) for methods that write. Nothing is changed then.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::options().create_new(folder.path().join("data.endura"))?;
    /// let map = pool.map::<u64, u64>("draft")?;
    /// map.insert(1, 10)?;
    /// pool.rename("draft", "ids")?;
    /// map.insert(2, 20)?;
    /// assert_eq!(pool.map::<u64, u64>("ids")?.get(2)?, Some(20));
    /// assert!(pool.maps()?.iter().all(|map| map.name != "draft"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.open.rename(from, to)
    }

    /// Checks everything in the pool: every node of every map, and that no two nodes use the same bytes. Writers wait
    /// meanwhile, readers continue. O(n).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] for the first check that fails; [`Error::InsideOperation`] if the calling thread is inside an
    /// operation of this pool, as for [`close`](Self::close); [`Error::WritersStay`] if another thread stays inside an
    /// operation that writes for about a second, and then the other writers continue; and those of [`Map`](crate::Map)
    /// for methods that read.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// pool.map::<u64, u64>("hits")?.insert(7, 1)?;
    /// let report = pool.verify()?;
    /// assert_eq!(report.maps[0].entries, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(&self) -> Result<Report> {
        self.open.verify()
    }

    /// Finds the space that an unclean end has stranded. The search runs now, together with the background threads
    /// ([`PoolOptions::recovery_threads`]). Returns whether all of it has been found. Operations continue meanwhile.
    /// The call waits at most a second for a thread that stays inside an operation. O(n).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNodes`] if this build does not know the nodes of a map, so that no chunk can be known to be
    /// free. Those of [`Map`](crate::Map) for methods that write.
    pub fn recover_leaks(&self) -> Result<bool> {
        self.open.recover_leaks()
    }

    /// Facts and figures of the pool. Those about space are exact while no operation writes. Reads the state of every
    /// partly used span; operations continue meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`], [`Error::Forked`].
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let stats = pool.stats()?;
    /// println!("{} of {} bytes in use, on {}", stats.bytes_in_use, stats.file_bytes, stats.filesystem);
    /// for warning in &stats.warnings {
    ///     eprintln!("{warning}");                    // a sentence each
    /// }
    /// assert!(stats.clean_open);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stats(&self) -> Result<Stats> {
        self.open.stats()
    }

    /// Makes a checkpoint now: the state to which the pool is taken back after a power loss on an ordinary disk.
    /// Durable on return. Other threads continue, but writers wait while changed pages are copied in memory. Takes as
    /// long as the disk needs for the changed pages; the first checkpoint of a pool writes all pages in use.
    ///
    /// The checkpoint contains all that this thread has written before the call.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the pool has no checkpoints; [`Error::InsideOperation`], as for
    /// [`close`](Self::close); [`Error::WritersStay`] if writers stay inside operations for seconds; [`Error::Io`] and
    /// [`Error::BadCheckpoint`], which can also mean that this session met damage, or that a pool that had not been
    /// closed could not be verified; and those of [`Map`](crate::Map) for methods that write. The last checkpoint is
    /// unchanged then.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("data.endura");
    /// use endura::{Checkpoints, Pool};
    ///
    /// let pool = Pool::options().checkpoints(Checkpoints::on_demand()).open(&path)?;
    /// let map = pool.map::<u64, u64>("orders")?;
    /// map.put(1, 100)?;
    /// let made = pool.checkpoint()?;
    /// println!("{} bytes written, writers waited for {:?}", made.written_bytes, made.held);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checkpoint(&self) -> Result<Checkpoint> {
        self.open.checkpoint()
    }

    /// Ends the session: waits for running operations, syncs everything to the disk, marks the pool clean and unlocks
    /// it. From then on all handles of the pool and of its maps fail with [`Error::Closed`]. On return the mapping of
    /// the file, its descriptor, and the disk space of a removed file are free, even if handles still exist. The
    /// listener of [`on_event`](PoolOptions::on_event) has received all events; the call waits at most a second for a
    /// slow listener.
    ///
    /// A thread cannot wait for an operation of its own. So `close` and [`verify`](Self::verify) fail with
    /// [`Error::InsideOperation`] in all code that a method of one of the pool's maps, of any kind, runs for its
    /// caller: in closures (of `update`, `range_with`, `retain` and the like), and in the iterators given to `extend`
    /// and `get_many`. They do work there on another pool, and on this one between two entries of a `for` loop over a
    /// map.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`] if it was closed before; [`Error::Forked`] in a child; [`Error::InsideOperation`] if the
    /// calling thread is inside an operation of this pool: the pool then stays open. [`Error::Io`] if something could
    /// not be written, [`Error::Poisoned`] and [`Error::Corrupt`] if the pool is in doubt, or another file was written
    /// over it: in these cases the pool is unlocked, but not marked clean. A pool with checkpoints is in doubt if the
    /// session met damage, or, with [`Error::BadCheckpoint`], if it had not been closed before this session and could
    /// not be verified. [`Error::Displaced`] if the pool was closed, but the path no longer leads to it. The error of
    /// the close's checkpoint if everything else succeeded and the pool is in memory (tmpfs): then all writes since the
    /// newest checkpoint are lost when the machine stops. If the pool is on a disk, that error is in [`Closed`]
    /// instead.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("data.endura");
    /// use endura::{Error, Pool};
    ///
    /// let pool = Pool::open(&path)?;
    /// let hits = pool.map::<u64, u64>("hits")?;
    /// let closed = pool.close()?;
    /// if let Some(error) = &closed.checkpoint_error {
    ///     eprintln!("the pool is closed and whole, but has no new checkpoint: {error}");
    /// }
    /// assert!(matches!(hits.get(7), Err(Error::Closed { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(&self) -> Result<Closed> {
        self.open.close()
    }
}
