//! The handle of an open pool.

use std::sync::Arc;

use super::any::{AnyIndex, AnyMap};
use super::check::{self, Report};
use super::collect::Background;
use super::fast_fair::{FastFair, FastFairIndex, NodeLayout};
use super::figures;
use super::kind::{Kind, inventory};
use super::nbtree::{NbTree, NbTreeIndex};
use super::roart::{Roart, RoartIndex};
use super::{ByteMap, Map, MapInfo, PoolOptions};
use crate::media::{Domain, Mapped, Media, Placement};
use crate::os::fork::ForkGuard;
use crate::pool::{Collection, PartlyUsed, PoolFile, Session, Space};
use crate::sync::Mutex;
use crate::tree::Index;
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
/// let pool = endura::Pool::options().open_or_create(&path)?;
/// assert!(pool.stats()?.clean_open);
/// pool.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
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
    pub collection: Collection,
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
    /// How to open a pool.
    pub fn options() -> PoolOptions {
        PoolOptions::default()
    }

    pub(super) fn new(
        space: Arc<Space<Mapped>>,
        file: PoolFile,
        placement: Placement,
        session: Session,
        collectors: usize,
    ) -> Self {
        space.hear_of_exits();
        let background = Background::begin(&space, collectors);
        let facts = Facts {
            uuid: file.superblock().uuid,
            filesystem: file.filesystem().name(),
            warnings: file.warnings().to_vec(),
        };
        let birthplace = ForkGuard::here();
        let file = Mutex::new(Some(file));
        let inner = Inner { space, background, birthplace, placement, session, facts, file };
        Self { inner: Arc::new(inner) }
    }

    /// The FAST & FAIR map `name`; made if there is none, with the nodes that suit the medium.
    ///
    /// Any number of handles may be open at once; they share one map. A crash while a map is being
    /// made leaves no map, or an empty one.
    ///
    /// # Errors
    ///
    /// [`Error::BadName`]; [`Error::WrongKind`] if `name` is another kind of map, [`Error::UnknownNodes`] if it
    /// has nodes that this build does not know; [`Error::NoSuchMap`] if the pool is read-only; [`Error::Full`]; and those of
    /// [`Map`].
    pub fn fast_fair(&self, name: &str) -> Result<FastFair> {
        self.open_fast_fair(name, None)
    }

    /// As [`fast_fair`](Self::fast_fair), with a choice of node sizes.
    ///
    /// # Errors
    ///
    /// As there, and [`Error::WrongKind`] if the map exists with other node sizes.
    pub fn fast_fair_with(&self, name: &str, layout: NodeLayout) -> Result<FastFair> {
        self.open_fast_fair(name, Some(layout))
    }

    fn open_fast_fair(&self, name: &str, layout: Option<NodeLayout>) -> Result<FastFair> {
        Ok(self.keeping_open(self.fast_fair_index(name, layout)?))
    }

    fn fast_fair_index(&self, name: &str, layout: Option<NodeLayout>) -> Result<FastFairIndex> {
        let opened = FastFairIndex::open(&self.inner.space, name, layout);
        opened.map_err(|error| self.naming_kind(error, Kind::FastFair))
    }

    /// The error with what the map is, where it is of another kind than `want`.
    fn naming_kind(&self, error: Error, want: Kind) -> Error {
        let Error::WrongKind { name, .. } = &error else { return error };
        let Ok(Some(map)) = self.inner.space.find_map(name) else {
            return error;
        };
        match Kind::of(&map) {
            // Of other sizes: the tree has said so.
            Some(kind) if kind == want => error,
            kind => Error::WrongKind {
                name: name.clone(),
                found: kind.map_or("map of a kind that this build does not know", Kind::name),
                want: want.name(),
            },
        }
    }

    /// A handle that keeps the pool open.
    fn keeping_open<I: Index>(&self, index: I) -> Map<I> {
        let pool: Arc<dyn Send + Sync> = Arc::<Inner>::clone(&self.inner);
        Map::in_pool(index, pool)
    }

    /// The NBTree map `name`; made if there is none.
    ///
    /// As with [`fast_fair`](Self::fast_fair), all handles share one map. After an open the first
    /// operation on each eighth of the keys makes what the map keeps of it in DRAM.
    ///
    /// # Errors
    ///
    /// As there, and [`Error::Unsupported`] where the processor cannot exchange 16 bytes at once.
    pub fn nbtree(&self, name: &str) -> Result<NbTree> {
        Ok(self.keeping_open(self.nbtree_index(name)?))
    }

    fn nbtree_index(&self, name: &str) -> Result<NbTreeIndex> {
        let opened = NbTreeIndex::open(&self.inner.space, name);
        opened.map_err(|error| self.naming_kind(error, Kind::NbTree))
    }

    /// The map `name`, of whichever kind it is; made if there is none, as the kind asked for or as a
    /// [`FastFair`].
    ///
    /// # Errors
    ///
    /// As for [`fast_fair`](Self::fast_fair) and [`nbtree`](Self::nbtree); [`Error::WrongKind`] if
    /// the map is of another kind than the one asked for.
    pub fn any_map(&self, name: &str, kind: Option<Kind>) -> Result<AnyMap> {
        loop {
            let found = self.kind_of(name)?;
            match self.open_as(name, kind.or(found).unwrap_or(Kind::FastFair)) {
                // Another thread made it meanwhile, or made another one of it.
                Err(Error::WrongKind { .. }) if kind.is_none() && self.kind_of(name)? != found => {}
                index => return Ok(self.keeping_open(index?)),
            }
        }
    }

    fn kind_of(&self, name: &str) -> Result<Option<Kind>> {
        let found = self.inner.space.find_map(name)?;
        Ok(found.as_ref().and_then(|map| Kind::of(map)))
    }

    fn open_as(&self, name: &str, kind: Kind) -> Result<AnyIndex> {
        Ok(match kind {
            Kind::FastFair => AnyIndex::FastFair(self.fast_fair_index(name, None)?),
            Kind::NbTree => AnyIndex::NbTree(self.nbtree_index(name)?),
            Kind::Roart => {
                let (found, want) = (Kind::Roart.name(), "map of numbers");
                return Err(Error::WrongKind { name: name.to_owned(), found, want });
            }
        })
    }

    /// The ROART map `name`, from byte strings to byte strings; made if there is none.
    ///
    /// # Errors
    ///
    /// As for [`fast_fair`](Self::fast_fair).
    pub fn roart(&self, name: &str) -> Result<Roart> {
        let index = RoartIndex::open(&self.inner.space, name);
        let index = index.map_err(|error| self.naming_kind(error, Kind::Roart))?;
        let pool: Arc<dyn Send + Sync> = Arc::<Inner>::clone(&self.inner);
        Ok(ByteMap::in_pool(index, pool))
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
    /// [`Error::UnknownNodes`]: which chunks are its own is not known. Those of [`Map`] for methods that
    /// write.
    pub fn drop_map(&self, name: &str) -> Result<bool> {
        if let Some(map) = self.inner.space.find_map(name)? {
            NodeLayout::check(&map)?;
        }
        self.inner.space.drop_map(name, inventory())
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
    /// one name; [`Error::BadName`]; and those of [`Map`] for methods that write. Nothing is changed then.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::options().create(folder.path().join("data.endura"))?;
    /// let map = pool.fast_fair("draft")?;
    /// map.insert(1, 10)?;
    /// pool.rename_map("draft", "ids")?;
    /// map.insert(2, 20)?;
    /// assert_eq!(pool.fast_fair("ids")?.get(2)?, Some(20));
    /// assert!(pool.maps()?.iter().all(|map| map.name != "draft"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rename_map(&self, from: &str, to: &str) -> Result<()> {
        self.inner.space.rename_map(from, to)
    }

    /// Checks everything in the pool: every node of every map, and that no two use the same bytes.
    /// Writers wait meanwhile, readers go on. O(n).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] at the first claim that does not hold; [`Error::InsideOperation`] if the
    /// calling thread is inside one; [`Error::WritersStay`] if another one stays inside an operation that writes
    /// for about a second: the other writers then go on; and those of [`Map`] for methods that read.
    pub fn verify(&self) -> Result<Report> {
        check::verify(&self.inner.space)
    }

    /// Finds the space that an unclean end stranded now, together with the threads that look for it
    /// ([`PoolOptions::collectors`]); whether all is found. Operations go on meanwhile; a thread that
    /// stays inside one for a second is not waited for. O(n).
    ///
    /// # Errors
    ///
    /// Those of [`Map`] for methods that write.
    pub fn collect(&self) -> Result<bool> {
        drop(self.inner.space.pin_mut()?);
        Ok(self.inner.space.collection().is_done() || self.inner.background.finish()?)
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
        warnings.extend(figures::warnings(&figures));
        Ok(Stats {
            file_bytes: figures.file_bytes,
            pages_in_use: figures.pages_in_use,
            page_bytes_in_use: figures.page_bytes_in_use,
            free_chunk_bytes: figures.free_chunk_bytes,
            partly_used: space.partly_used(),
            limbo_bytes: figures.limbo_bytes,
            collection: space.collection(),
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
    /// # Errors
    ///
    /// [`Error::Closed`] if it was closed before; [`Error::Forked`] in a child;
    /// [`Error::InsideOperation`] if the calling thread is inside one: the pool then stays open.
    /// [`Error::Io`] if something could not be written, [`Error::Poisoned`] and [`Error::Corrupt`]
    /// if the pool is in doubt: it is then unlocked, but not marked clean.
    pub fn close(&self) -> Result<()> {
        self.inner.close()
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("session", &self.inner.session).finish_non_exhaustive()
    }
}

impl Inner {
    fn close(&self) -> Result<()> {
        if self.birthplace.is_elsewhere() {
            return Err(Error::Forked);
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
