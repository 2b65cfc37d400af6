//! The handle of an open pool.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::options::PoolOptions;
use crate::Result;
use crate::checkpoint::{Checkpoint, Restored};
use crate::media::Mapped;
use crate::os::fork::ForkGuard;
use crate::session::{Closed, MapInfo, Open, Report, Stats};
use crate::space::Space;

/// An open pool: one file with any number of named maps.
///
/// A handle is cheap to clone; any thread may use and drop it. [`close`](Self::close) closes the pool, and so does
/// dropping the last handle of it and of its maps. Only then is its data synced to the disk, so that it also survives
/// the machine going down.
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
/// assert!(pool.stats()?.clean_open);
/// pool.close()?;
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
    /// Opens the pool at `path`; creates it if nothing exists there. Takes a few milliseconds, whatever the size of the
    /// pool. A symbolic link is followed to an existing pool; for a dangling link no pool is created.
    ///
    /// # Errors
    ///
    /// As for [`PoolOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// Options for an open.
    pub fn options() -> PoolOptions {
        PoolOptions::default()
    }

    pub(super) fn of(open: Open) -> Self {
        Self { open: Arc::new(open) }
    }

    /// The space of the pool, on which handles of maps are built.
    pub(crate) fn space(&self) -> &Arc<Space<Mapped>> {
        self.open.space()
    }

    /// A reference that keeps the pool open while it exists.
    pub(crate) fn keep_open(&self) -> Arc<dyn Send + Sync> {
        Arc::<Open>::clone(&self.open)
    }

    /// Identifies the pool to its [calls](crate::runtime::calls::Call).
    pub(crate) fn address(&self) -> usize {
        self.open.address()
    }

    /// The process that opened it.
    pub(crate) fn birthplace(&self) -> ForkGuard {
        self.open.birthplace()
    }

    /// The session behind the handle.
    pub(super) fn session(&self) -> &Open {
        &self.open
    }

    /// The path by which the pool was opened.
    pub fn path(&self) -> &Path {
        self.open.path()
    }

    /// What the open did, if it took the pool back to a checkpoint or made it from one: as in [`Stats`], at once.
    pub fn restored(&self) -> Option<&Restored> {
        self.open.restored()
    }

    /// All maps of the pool, by name.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`], [`Error::Forked`], [`Error::Poisoned`].
    pub fn maps(&self) -> Result<Vec<MapInfo>> {
        self.open.maps()
    }

    /// Drops the map `name` and frees its space; `false` if there is none. From then on its handles fail with
    /// [`Error::Dropped`]. Durable on return; O(nodes).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNodes`] if this build does not know which chunks belong to the map. Those of [`Map`](crate::Map)
    /// for methods that write.
    pub fn drop_map(&self, name: &str) -> Result<bool> {
        self.open.drop_map(name)
    }

    /// Renames the map `from` to `to`; its entries are not moved. Atomic, also under a crash: at any moment exactly one
    /// of the two names exists. Durable on return; O(1), and needs no space.
    ///
    /// Handles of the map stay valid, also in running operations, and refer to the same map under its new name. A
    /// concurrent open of the old name gets the map, or creates a new one of that name, as before or after the call.
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

    /// Checks everything in the pool: every node of every map, and that no two use the same bytes. Writers wait
    /// meanwhile, readers continue. O(n).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] for the first check that fails; [`Error::InsideOperation`] if the calling thread is inside an
    /// operation of this pool, as for [`close`](Self::close); [`Error::WritersStay`] if another thread stays inside an
    /// operation that writes for about a second: the other writers then continue; and those of [`Map`](crate::Map) for
    /// methods that read.
    pub fn verify(&self) -> Result<Report> {
        self.open.verify()
    }

    /// Finds the space that an unclean end stranded now, together with the background threads
    /// ([`PoolOptions::recovery_threads`]); returns whether all of it is found. Operations continue meanwhile. The call
    /// does not wait longer than a second for a thread that stays inside an operation. O(n).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNodes`] if this build does not know the nodes of a map: no chunk is known to be free then. Those
    /// of [`Map`](crate::Map) for methods that write.
    pub fn recover_leaks(&self) -> Result<bool> {
        self.open.recover_leaks()
    }

    /// Facts and figures; those about space are exact while no operation writes. Reads the state of every partly used
    /// span; operations continue meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`], [`Error::Forked`].
    pub fn stats(&self) -> Result<Stats> {
        self.open.stats()
    }

    /// Makes a checkpoint now: the state to which a power loss on an ordinary disk takes the pool back. Durable on return. Other
    /// threads go on; those that write wait while what has changed is copied in memory. Takes as long as the disk
    /// needs for the changed pages; the first one of a pool writes all that is in use.
    ///
    /// What an operation of this thread wrote before the call is in it.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the pool has no checkpoints; [`Error::InsideOperation`], as for [`close`](Self::close);
    /// [`Error::WritersStay`] if writers stay inside operations for seconds; [`Error::Io`] and [`Error::BadCheckpoint`]:
    /// the last checkpoint then is what it was, also because this session met damage, or because a pool that was found not
    /// closed could not be verified. Those of [`Map`](crate::Map) for methods that write.
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
    /// it. From then on all handles of the pool and of its maps fail with [`Error::Closed`]. The memory that maps the file, its
    /// descriptor, and the disk space of a removed file are free on return, whatever handles live on. The listener of
    /// [`on_event`](PoolOptions::on_event) has heard of all that happened; a slow one is waited for no longer than a second.
    ///
    /// A thread cannot wait for an operation of its own. So `close` and [`verify`](Self::verify) fail with
    /// [`Error::InsideOperation`] in all code that a method of one of the pool's maps, of any kind, runs for its
    /// caller: in closures (of `update`, `range_with`, `retain` and the like), and in the iterators given to `extend`
    /// and `get_many`. There they work on another pool, and between two entries of a `for` loop over a map.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`] if it was closed before; [`Error::Forked`] in a child;
    /// [`Error::InsideOperation`] if the calling thread is inside an operation of this pool: the pool then stays open.
    /// [`Error::Io`] if something could not be written, [`Error::Poisoned`] and [`Error::Corrupt`]
    /// if the pool is in doubt, or another file was written over it: it is then unlocked, but not marked clean. A pool with
    /// checkpoints is in doubt if the session met damage, or, with [`Error::BadCheckpoint`], if it was not closed before and could
    /// not be verified. [`Error::Displaced`] if all was done, and the path leads to the pool no more. The error of the close's
    /// checkpoint if all else was done, and the pool is in memory (tmpfs): what was written since the newest checkpoint is lost with
    /// the machine. Where the pool itself is kept, that error is in [`Closed`].
    pub fn close(&self) -> Result<Closed> {
        self.open.close()
    }
}
