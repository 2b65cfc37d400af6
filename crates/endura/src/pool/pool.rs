//! The handle of an open pool.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::check::{self, Report};
use super::info::MapInfo;
use super::inner::{Closed, Facts, Inner};
use super::options::PoolOptions;
use super::warnings;
use crate::checkpoint::keeper::Keeper;
use crate::checkpoint::{Checkpoint, CheckpointStats, Restored};
use crate::index::Background;
use crate::index::table;
use crate::media::{Domain, Mapped, Placement};
use crate::os::fork::ForkGuard;
use crate::runtime::calls::Call;
use crate::space::{LeakRecovery, OwnPath, PoolFile, Session, SizeUse, Space, Superblock};
use crate::sync::Mutex;
use crate::{Error, Result};

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
    inner: Arc<Inner>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("path", &self.path()).finish_non_exhaustive()
    }
}

/// A session that has begun.
pub(super) struct Begun {
    pub(super) space: Arc<Space<Mapped>>,
    pub(super) placement: Placement,
    pub(super) session: Session,
    pub(super) keeper: Option<Keeper>,
    pub(super) kept: Option<CheckpointStats>,
    pub(super) restored: Option<Restored>,
    pub(super) own_path: OwnPath,
}

/// Facts and figures of an open pool.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of the file that are in use, in units of 4 KiB, those that describe the pool among them. The rest is free
    /// for any purpose.
    pub bytes_in_use: u64,
    /// Bytes of free chunks in what is in use. Chunks of one size lie in spans of 16 KiB to 2 MiB. A free chunk can
    /// be reused only for its own size until all chunks of its span are free: [`sizes`](Self::sizes) lists
    /// them by size. One entry in a span keeps the whole span.
    pub free_chunk_bytes: u64,
    /// For each size of chunk, its spans, and what is free in them.
    pub sizes: Vec<SizeUse>,
    /// Bytes that are freed, but that a thread may still be reading. If a thread stays inside an operation, they grow
    /// with every update and removal, and so does the file, up to its largest size. When the thread has left, each
    /// update frees a few of them: all are gone after about a third as many updates as ran meanwhile.
    pub limbo_bytes: u64,
    /// The progress of the search for space stranded by an unclean end.
    pub leak_recovery: LeakRecovery,
    /// Bytes to which the pool may grow while it is open this time.
    pub max_bytes: u64,
    /// How often the pool was opened for writing, including this time. A read-only open counts itself, but does not
    /// record this.
    pub generation: u64,
    /// Whether the session before this one closed the pool.
    pub clean_open: bool,
    /// Whether the pool is open read-only.
    pub read_only: bool,
    /// The pool's random identifier. Its copies keep it.
    pub uuid: [u8; 16],
    /// The persistence domain in use.
    pub domain: Domain,
    /// Whether operations that returned survive a power loss.
    pub power_safe: bool,
    /// The kind of the file system below.
    pub filesystem: &'static str,
    /// The checkpoints of the pool, if it has any.
    pub checkpoints: Option<CheckpointStats>,
    /// What this open did if a power loss had torn the pool.
    pub restored: Option<Restored>,
    /// Problems of the pool, in sentences for a person.
    pub warnings: Vec<&'static str>,
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

    pub(super) fn new(path: &Path, begun: Begun, file: PoolFile, recovery_threads: usize) -> Self {
        let Begun { space, placement, session, mut keeper, kept, restored, own_path } = begun;
        space.hear_of_exits();
        let background = Background::begin(&space, recovery_threads);
        keeper.iter_mut().for_each(Keeper::start);
        let facts = Facts {
            path: path.to_owned(),
            uuid: file.superblock().uuid,
            filesystem: file.filesystem().name(),
            warnings: file.warnings().to_vec(),
            own_path,
            kept,
            restored,
        };
        let birthplace = ForkGuard::here();
        let file = Mutex::new(Some(file));
        let inner =
            Inner { space, background, keeper, birthplace, placement, session, facts, file };
        Self { inner: Arc::new(inner) }
    }

    /// The space of the pool, on which handles of maps are built.
    pub(crate) fn space(&self) -> &Arc<Space<Mapped>> {
        &self.inner.space
    }

    /// A reference that keeps the pool open while it exists.
    pub(crate) fn keep_open(&self) -> Arc<dyn Send + Sync> {
        Arc::<Inner>::clone(&self.inner)
    }

    /// Identifies the pool to its [calls](Call).
    pub(crate) fn address(&self) -> usize {
        self.inner.address()
    }

    /// The process that opened it.
    pub(crate) fn birthplace(&self) -> ForkGuard {
        self.inner.birthplace
    }

    /// Fails in a forked child, and where the thread is inside an operation of the pool.
    pub(super) fn expect_outside(&self) -> Result<()> {
        // This check is first: a forked child inherits the calls of its parent's thread.
        if self.inner.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        match Call::is_inside(self.address()) {
            true => Err(Error::InsideOperation),
            false => Ok(()),
        }
    }

    /// What makes its checkpoints, if there are any.
    pub(super) fn keeper(&self) -> Option<&Keeper> {
        self.inner.keeper.as_ref()
    }

    /// The superblock of the session.
    pub(super) fn superblock(&self) -> Result<Superblock> {
        Ok(*self.inner.file.lock().as_ref().ok_or(Error::Closed)?.superblock())
    }

    /// The path by which the pool was opened.
    pub fn path(&self) -> &Path {
        &self.inner.facts.path
    }

    /// What the open did, if it took the pool back to a checkpoint or made it from one: as in [`Stats`], at once.
    pub fn restored(&self) -> Option<&Restored> {
        self.inner.facts.restored.as_ref()
    }

    /// All maps of the pool, by name.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`], [`Error::Forked`], [`Error::Poisoned`].
    pub fn maps(&self) -> Result<Vec<MapInfo>> {
        let maps = self.inner.space.told(self.inner.space.named_maps())?;
        Ok(maps.into_iter().map(|(name, map)| MapInfo::of(name, &map)).collect())
    }

    /// Drops the map `name` and frees its space; `false` if there is none. From then on its handles fail with
    /// [`Error::Dropped`]. Durable on return; O(nodes).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNodes`] if this build does not know which chunks belong to the map. Those of [`Map`](crate::Map)
    /// for methods that write.
    pub fn drop_map(&self, name: &str) -> Result<bool> {
        let space = &self.inner.space;
        space.told(space.drop_map(name, |map| Ok(table::of(map)?.inventory())))
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
        self.inner.space.told(self.inner.space.rename_map(from, to))
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
        self.expect_outside()?;
        self.inner.space.told(check::verify(&self.inner.space))
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
        drop(self.inner.space.pin_mut()?);
        if self.inner.space.collection().is_done() {
            return Ok(true);
        }
        for map in self.inner.space.maps()? {
            table::of::<Mapped>(&map)?;
        }
        self.inner.space.told(self.inner.background.finish())
    }

    /// Facts and figures; those about space are exact while no operation writes. Reads the state of every partly used
    /// span; operations continue meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`], [`Error::Forked`].
    pub fn stats(&self) -> Result<Stats> {
        let (inner, space) = (&*self.inner, &self.inner.space);
        if inner.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        // While the caller is inside an operation the pool is still open, because a close waits for that operation.
        if space.is_closed() && !space.is_inside() {
            return Err(Error::Closed);
        }
        let mut warnings = inner.facts.warnings.clone();
        warnings.extend(space.warnings());
        warnings.extend(inner.keeper.iter().flat_map(Keeper::warnings));
        let figures = space.stats();
        warnings.extend(warnings::of(&figures));
        Ok(Stats {
            file_bytes: figures.file_bytes,
            bytes_in_use: figures.bytes_in_use,
            free_chunk_bytes: figures.free_chunk_bytes,
            sizes: space.sizes(),
            limbo_bytes: figures.limbo_bytes,
            leak_recovery: space.collection(),
            max_bytes: space.media().limit(),
            generation: inner.session.generation,
            clean_open: inner.session.clean,
            read_only: inner.session.read_only,
            uuid: inner.facts.uuid,
            domain: inner.placement.domain,
            power_safe: inner.placement.is_power_safe(),
            filesystem: inner.facts.filesystem,
            checkpoints: inner
                .keeper
                .as_ref()
                .map(Keeper::stats)
                .or_else(|| inner.facts.kept.clone()),
            restored: inner.facts.restored.clone(),
            warnings,
        })
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
        self.expect_outside()?;
        drop(self.inner.space.pin_mut()?);
        match &self.inner.keeper {
            Some(keeper) => keeper.checkpoint(),
            None => Err(Error::Unsupported {
                what: "the pool has no checkpoints: open it with `checkpoints` among its options",
            }),
        }
    }

    /// Ends the session: waits for running operations, syncs everything to the disk, marks the pool clean and unlocks
    /// it. From then on all handles of the pool and of its maps fail with [`Error::Closed`]. The memory that maps the file, its
    /// descriptor, and the disk space of a removed file are free on return, whatever handles live on.
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
        self.inner.close()
    }
}
