//! The handle of an open pool.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::check::{self, Report};
use super::collect::Background;
use super::info::MapInfo;
use super::options::PoolOptions;
use super::warnings;
use crate::media::{Domain, Mapped, Media, Placement};
use crate::os::fork::ForkGuard;
use crate::pool::{LeakRecovery, PartlyUsed, PoolFile, Session, Space};
use crate::runtime::calls::Call;
use crate::store::index::table;
use crate::sync::Mutex;
use crate::{Error, Result};

/// An open pool: one file with any number of named maps.
///
/// A handle is cheap to clone and may be used and dropped by any thread. The pool is closed with
/// [`close`](Self::close) or by dropping the last handle of it and of its maps; then, and only
/// then, its data is synced to the disk, so that it also survives the end of the machine.
///
/// A forked child cannot use the pools of its parent ([`Error::Forked`]); dropping their handles
/// there does nothing to the pool.
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

struct Inner {
    space: Arc<Space<Mapped>>,
    background: Background,
    birthplace: ForkGuard,
    placement: Placement,
    session: Session,
    facts: Facts,
    /// None once the pool is closed. Declared last: the lock outlives the mapping.
    file: Mutex<Option<PoolFile>>,
}

/// What does not change while a pool is open.
struct Facts {
    path: PathBuf,
    uuid: [u8; 16],
    filesystem: &'static str,
    warnings: Vec<&'static str>,
}

/// Facts and figures of an open pool.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Pages of 2 MiB that are not wholly free, the one that describes the pool included.
    pub pages_in_use: u64,
    /// Bytes of those pages.
    pub page_bytes_in_use: u64,
    /// Bytes of free chunks in those pages. A chunk can be used for what has its size only, until all
    /// chunks of its page are free: [`partly_used`](Self::partly_used) has them by size. One entry in
    /// a page keeps all of it.
    pub free_chunk_bytes: u64,
    /// Of each size of chunk, the pages that have free ones, but for what threads have cached.
    pub partly_used: Vec<PartlyUsed>,
    /// Bytes that were freed but that some thread may still be reading. Where a thread stays inside an
    /// operation they grow with every update and removal, and the file with them, up to its
    /// largest size. When it has left, each update frees a few, so that they are gone after about a
    /// third as many updates as there were meanwhile.
    pub limbo_bytes: u64,
    /// How far the search has come for space that an unclean end stranded.
    pub leak_recovery: LeakRecovery,
    /// Bytes to which it may grow while it is open this time.
    pub max_bytes: u64,
    /// How often the pool was opened for writing, this time included. A read-only open counts
    /// itself, but leaves no trace.
    pub generation: u64,
    /// Whether the session before this one closed the pool.
    pub clean_open: bool,
    /// Whether nothing can be written.
    pub read_only: bool,
    /// The pool's own random number, kept by its copies.
    pub uuid: [u8; 16],
    /// The persistence domain in use.
    pub domain: Domain,
    /// Whether operations that returned survive a power loss.
    pub power_safe: bool,
    /// The kind of the file system below.
    pub filesystem: &'static str,
    /// What is not as it should be, in sentences for a person.
    pub warnings: Vec<&'static str>,
}

impl Pool {
    /// Opens the pool at `path`; makes it if there is nothing. Takes a few milliseconds, however large it is. A symbolic
    /// link is followed to a pool that is there, and no pool is made where one leads nowhere.
    ///
    /// # Errors
    ///
    /// As for [`PoolOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// How to open a pool in another way.
    pub fn options() -> PoolOptions {
        PoolOptions::default()
    }

    pub(super) fn new(
        path: &Path,
        space: Arc<Space<Mapped>>,
        file: PoolFile,
        placement: Placement,
        session: Session,
        recovery_threads: usize,
    ) -> Self {
        space.hear_of_exits();
        let background = Background::begin(&space, recovery_threads);
        let facts = Facts {
            path: path.to_owned(),
            uuid: file.superblock().uuid,
            filesystem: file.filesystem().name(),
            warnings: file.warnings().to_vec(),
        };
        let birthplace = ForkGuard::here();
        let file = Mutex::new(Some(file));
        let inner = Inner { space, background, birthplace, placement, session, facts, file };
        Self { inner: Arc::new(inner) }
    }

    /// What the handles of maps are made over.
    pub(crate) fn space(&self) -> &Arc<Space<Mapped>> {
        &self.inner.space
    }

    /// What keeps the pool open for as long as it is there.
    pub(crate) fn keep_open(&self) -> Arc<dyn Send + Sync> {
        Arc::<Inner>::clone(&self.inner)
    }

    /// By which the [calls](Call) of the pool are known.
    pub(crate) fn address(&self) -> usize {
        self.inner.address()
    }

    /// The process that opened it.
    pub(crate) fn birthplace(&self) -> ForkGuard {
        self.inner.birthplace
    }

    /// Where the pool lies: the path by which it was opened.
    pub fn path(&self) -> &Path {
        &self.inner.facts.path
    }

    /// All maps of the pool, by name.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`], [`Error::Forked`], [`Error::Poisoned`].
    pub fn maps(&self) -> Result<Vec<MapInfo>> {
        let maps = self.inner.space.named_maps()?;
        Ok(maps.into_iter().map(|(name, map)| MapInfo::of(name, &map)).collect())
    }

    /// Drops the map `name` and frees its space; `false` if there is none. Handles of it answer
    /// [`Error::Dropped`] from now on. Durable on return; O(nodes).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNodes`]: which chunks are its own is not known. Those of [`Map`](crate::Map) for methods that
    /// write.
    pub fn drop_map(&self, name: &str) -> Result<bool> {
        self.inner.space.drop_map(name, |map| Ok(table::of(map)?.inventory()))
    }

    /// Gives the map `from` the name `to`; its entries stay where they are. Atomic, also under a crash: there is
    /// exactly one of the two names at any moment. Durable on return; O(1), and needs no space.
    ///
    /// Handles of the map are not concerned: they go on, also in operations that are under way, and the map is
    /// the same one under its new name. Who asks for the old name beside the call gets the map, or makes a new one
    /// of that name, as before and after it.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchMap`] if there is no map `from`; [`Error::MapExists`] if there is a map `to`, also if both are
    /// one name; [`Error::BadName`]; and those of [`Map`](crate::Map) for methods that write. Nothing is changed then.
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
        self.inner.space.rename_map(from, to)
    }

    /// Checks everything in the pool: every node of every map, and that no two use the same bytes.
    /// Writers wait meanwhile, readers go on. O(n).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] at the first claim that does not hold; [`Error::InsideOperation`] if the calling thread is
    /// inside an operation of this pool, as for [`close`](Self::close); [`Error::WritersStay`] if another one stays inside an operation that writes
    /// for about a second: the other writers then go on; and those of [`Map`](crate::Map) for methods that read.
    pub fn verify(&self) -> Result<Report> {
        // First: a child has the calls of its parent's thread.
        if self.inner.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        if Call::is_inside(self.address()) {
            return Err(Error::InsideOperation);
        }
        check::verify(&self.inner.space)
    }

    /// Finds the space that an unclean end stranded now, together with the threads that look for it
    /// ([`PoolOptions::recovery_threads`]); whether all is found. Operations go on meanwhile; a thread that
    /// stays inside one for a second is not waited for. O(n).
    ///
    /// # Errors
    ///
    /// [`Error::UnknownNodes`] if this build does not know the nodes of a map: nothing is known to be free then. Those
    /// of [`Map`](crate::Map) for methods that write.
    pub fn recover_leaks(&self) -> Result<bool> {
        drop(self.inner.space.pin_mut()?);
        if self.inner.space.collection().is_done() {
            return Ok(true);
        }
        for map in self.inner.space.maps()? {
            table::of::<Mapped>(&map)?;
        }
        self.inner.background.finish()
    }

    /// Facts and figures; those about space are exact while nobody writes. Looks at every partly
    /// used page; operations go on meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`], [`Error::Forked`].
    pub fn stats(&self) -> Result<Stats> {
        let (inner, space) = (&*self.inner, &self.inner.space);
        if inner.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        // Asked inside an operation, for which whoever closes the pool waits, it is still open.
        if space.is_closed() && !space.is_inside() {
            return Err(Error::Closed);
        }
        let mut warnings = inner.facts.warnings.clone();
        warnings.extend(space.warnings());
        let figures = space.stats();
        warnings.extend(warnings::of(&figures));
        Ok(Stats {
            file_bytes: figures.file_bytes,
            pages_in_use: figures.pages_in_use,
            page_bytes_in_use: figures.page_bytes_in_use,
            free_chunk_bytes: figures.free_chunk_bytes,
            partly_used: space.partly_used(),
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
            warnings,
        })
    }

    /// Ends the session: lets running operations finish, syncs everything to the disk, marks the
    /// pool clean and unlocks it. All handles of the pool and of its maps answer
    /// [`Error::Closed`] from now on.
    ///
    /// A thread cannot wait for an operation of its own. So `close` and [`verify`](Self::verify) fail with
    /// [`Error::InsideOperation`] in all code that a method of one of the pool's maps, of any kind, runs for its caller:
    /// in closures (of `update`, `range_with`, `retain` and the like), and in the iterators given to `extend` and
    /// `get_many`. They work there on another pool, and between two entries of a `for` loop over a map.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`] if it was closed before; [`Error::Forked`] in a child;
    /// [`Error::InsideOperation`] if the calling thread is inside an operation of this pool: the pool then stays open.
    /// [`Error::Io`] if something could not be written, [`Error::Poisoned`] and [`Error::Corrupt`]
    /// if the pool is in doubt: it is then unlocked, but not marked clean.
    pub fn close(&self) -> Result<()> {
        self.inner.close()
    }
}

impl Inner {
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn close(&self) -> Result<()> {
        if self.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        if Call::is_inside(self.address()) {
            return Err(Error::InsideOperation);
        }
        // Fails where an operation may go on; the pool then stays open, and locked. No lock is held while it
        // waits for them but the turn to do so.
        self.space.close()?;
        self.background.join();
        // Nobody is inside any more. Another one that closes the pool waits here until it is.
        let mut open = self.file.lock();
        let mut file = open.take().ok_or(Error::Closed)?;
        if self.session.read_only {
            return Ok(());
        }
        self.space.save()?;
        // The data must be on the disk before anything says that it is.
        self.space.media().sync().inspect_err(|_| self.space.poison())?;
        file.end()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Nobody is left to tell: an error leaves the pool unclean, which the next open notices.
        let _ = self.close();
    }
}
