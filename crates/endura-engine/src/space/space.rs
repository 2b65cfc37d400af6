//! `Space`: an open pool over any medium. It owns every byte and decides when one may be reused.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use crate::Result;
use crate::media::{LINE, Media, Ordering, Region, STEP};
use crate::os::barrier::Barriers;
use crate::os::fork::ForkGuard;
use crate::runtime::epoch::{Epochs, RetireTag};
use crate::runtime::thread::Heir;
use crate::space::alloc::allocator::Allocator;
use crate::space::alloc::events::{Event, Events, LeakRecoveryState};
use crate::space::alloc::marks::LeakRecovery;
use crate::space::alloc::page::table;
use crate::space::alloc::page::table::{Header, SpanKind};
use crate::space::alloc::slab::SizeUse;
use crate::space::alloc::thread_cache::ThreadCache;
use crate::space::batch::batches::Batches;
use crate::space::directory::registry::Directory;
use crate::space::layout::{
    DIRECTORY_NEXT, LENGTH, LOCK_TURN, LOCK_TURN_SESSIONS, NEXT_PAGE, SAVED_FREE, UNITS, first_unit,
};
use crate::space::lock_stamps::Stamps;
use crate::space::patience::Patience;
use crate::space::session::READ_ONLY;
use crate::space::session::{Inspected, Session};
use crate::sync::{AtomicBool, AtomicU64, Mutex, OnceLock};

/// An open pool over any medium. It decides which thread may use which bytes, and until when.
///
/// Trees reach all of it through a [`Guard`](super::Guard), which [`pin`](Self::pin) and [`pin_mut`](Self::pin_mut)
/// return for the time of one operation.
///
/// ```
/// use endura_engine::media::Heap;
/// use endura_engine::space::{PAGE, Session, Space};
///
/// let medium = Heap::new(8 * PAGE);
/// Space::format(&medium)?;
/// let session = Session { generation: 1, clean: true, read_only: false };
/// let space = Space::mount(medium, session)?;
///
/// let guard = space.pin_mut()?;
/// let node = guard.alloc(512)?;
/// assert_eq!(node % 512, 0);
/// guard.retire(node, 512); // free again when no thread can be reading it
/// # Ok::<(), endura_engine::Error>(())
/// ```
pub struct Space<M: Media> {
    pub(crate) media: M,
    pub(crate) session: Session,
    pub(crate) epochs: Epochs<Mutex<ThreadCache>>,
    pub(crate) birthplace: ForkGuard,
    pub(crate) allocator: Allocator,
    pub(crate) directory: Directory<M>,
    stamps: Stamps,
    /// The first damage that poisoned the pool: its offset, and what it is.
    pub(crate) damage: OnceLock<(u64, &'static str)>,
    /// The first damage of any kind: see [`met_damage`](Self::met_damage).
    pub(crate) met: OnceLock<(u64, &'static str)>,
    /// A lock that a thread holds while it keeps writers out.
    pub(crate) quiescing: Mutex<()>,
    /// The number of writers that wait until the pool is no longer quiesced, held or slowed down.
    pub(crate) kept_out: AtomicU64,
    /// Whether the session makes checkpoints.
    pub(crate) has_checkpoints: AtomicBool,
    /// The commits of several changes at once; made by the first.
    batches: OnceLock<Box<Batches>>,
    /// 1 while writers are held or slowed down. They sleep on this word in the kernel, so it is not a word of a model.
    pub(crate) held: AtomicU32,
    /// Finishes a pending leak recovery. Returns whether the leak recovery is done.
    pub(crate) finish_leak_recovery: OnceLock<Box<Finish>>,
    /// Finishes the walks of a pending leak recovery. Returns whether all that they met is sound.
    pub(crate) finish_walks: OnceLock<Box<Walk>>,
    /// The path by which the pool was opened, for errors.
    name: OnceLock<Box<Path>>,
    /// Receives events, if the program has set a listener.
    pub(crate) events: OnceLock<Events>,
    /// Called with the number of a thread that exits.
    pub(crate) heir: OnceLock<Arc<Heir>>,
}

type Walk = dyn Fn(u64) -> Result<bool> + Send + Sync;
type Finish = dyn Fn(Patience) -> Result<bool> + Send + Sync;

/// How the bytes of an open pool are used. The numbers are exact while no thread writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpaceStats {
    /// Bytes of the medium.
    pub file_bytes: u64,
    /// Bytes of the medium that the pool has taken.
    pub length: u64,
    /// Bytes of units of 4 KiB that are in use, including those that describe the pool.
    pub bytes_in_use: u64,
    /// Bytes of free chunks in units that are in use, including chunks in caches of threads.
    pub free_chunk_bytes: u64,
    /// Bytes of unlinked chunks that some thread may still be reading.
    pub limbo_bytes: u64,
}

impl<M: Media> Space<M> {
    /// Writes an empty pool, all but the superblocks, to a fresh medium, whose bytes are zero.
    ///
    /// # Errors
    ///
    /// [`Error::Full`](crate::Error::Full) if the medium cannot hold [`STEP`] bytes.
    pub fn format(media: &M) -> Result<()> {
        media.grow(STEP)?;
        let rest = Header { kind: SpanKind::Free, units: UNITS - first_unit(0) };
        table::write(media, first_unit(0), rest)?;
        for (word, value) in [(NEXT_PAGE, 1), (LENGTH, STEP), (SAVED_FREE, 0), (DIRECTORY_NEXT, 0)]
        {
            let word = Region::new(media, word, 1)?;
            // Relaxed: the fence follows.
            word.store(0, value, Ordering::Relaxed);
            word.flush(0, 1);
        }
        // Before the superblock says that there is a pool.
        media.fence();
        Ok(())
    }

    /// Mounts a formatted medium. Writes nothing if the session is read-only. The time it takes grows with the number
    /// of maps and of partly used spans, not with the entries.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) or
    /// [`Error::Truncated`](crate::Error::Truncated) if the pool cannot have come from a correct
    /// run.
    pub fn mount(media: M, session: Session) -> Result<Self> {
        let barriers =
            if media.is_modelled() { Barriers::symmetric() } else { Barriers::cheapest() };
        Self::mount_with(media, session, barriers)
    }

    /// Does what [`mount`](Self::mount) does, with a choice of barriers.
    pub(crate) fn mount_with(media: M, session: Session, barriers: Barriers) -> Result<Self> {
        let allocator = Allocator::load(&media, session)?;
        let directory = Directory::load(&media, session, allocator.pages())?;
        Ok(Self {
            epochs: Epochs::new(barriers, if session.read_only { READ_ONLY } else { 0 }),
            birthplace: ForkGuard::here(),
            stamps: Stamps::new(),
            damage: OnceLock::new(),
            met: OnceLock::new(),
            quiescing: Mutex::new(()),
            kept_out: AtomicU64::new(0),
            has_checkpoints: AtomicBool::new(false),
            batches: OnceLock::new(),
            held: AtomicU32::new(0),
            finish_leak_recovery: OnceLock::new(),
            finish_walks: OnceLock::new(),
            name: OnceLock::new(),
            events: OnceLock::new(),
            heir: OnceLock::new(),
            media,
            session,
            allocator,
            directory,
        })
    }

    /// Reads all on which the result of [`mount`](Self::mount) depends, and writes nothing, so that a pool that cannot
    /// be mounted is refused before a session begins.
    ///
    /// # Errors
    ///
    /// As for [`mount`](Self::mount).
    pub(crate) fn inspect(media: &M, session: Session) -> Result<Inspected> {
        let session = Session { read_only: true, ..session };
        let allocator = Allocator::load(media, session)?;
        Directory::load(media, session, allocator.pages()).map(|_| Inspected(()))
    }

    /// Lets errors name the pool as `path`.
    pub(crate) fn set_name(&self, path: &Path) {
        let _ = self.name.set(path.into());
    }

    /// The path by which the pool was opened, if it has one.
    #[cold]
    pub(crate) fn name(&self) -> Option<Box<Path>> {
        self.name.get().cloned()
    }

    /// Reports events to `events` from now on.
    pub(crate) fn set_listener(&self, events: Events) {
        self.allocator.pages().set_listener(events.clone());
        // This is called once in a session, by the thread that opens the pool.
        let _ = self.events.set(events);
    }

    /// Reports an event if there is a listener. A forked child has none.
    #[cold]
    pub fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(events) = self.events.get().filter(|_| !self.birthplace.is_elsewhere()) {
            events.tell(event);
        }
    }

    /// Waits, for a limited time, until the listener has handled all events that were reported before.
    pub(crate) fn wait_for_listener(&self) {
        self.events.get().into_iter().for_each(Events::wait_for_listener);
    }

    /// The medium.
    pub fn media(&self) -> &M {
        &self.media
    }

    /// How the pool was opened.
    pub fn session(&self) -> Session {
        self.session
    }

    /// The state of commits of several changes. The first call makes it.
    #[cold]
    pub(crate) fn batches(&self) -> &Batches {
        self.batches.get_or_init(Box::default)
    }

    /// The tag of a node in DRAM that the caller has just made unreachable. By it the [arena](crate::runtime::arena)
    /// knows when the node may be reused.
    pub(crate) fn tag(&self) -> RetireTag {
        self.epochs.tag()
    }

    /// The reclamation epoch, for statistics and for nodes in DRAM. No other decision may depend on it: places that are
    /// remembered after a pin are kept in a `Seat`, which knows how long they are valid.
    pub fn now(&self) -> u64 {
        self.epochs.now()
    }

    /// Makes it look as if the calling thread's pin had slept between reading the epoch and writing its slot; see
    /// [`Slot::fall_behind`](crate::runtime::epoch::Slot::fall_behind).
    #[cfg(all(test, not(loom)))]
    pub(crate) fn fall_behind(&self, epochs: u64) {
        self.epochs.slot(crate::runtime::thread::current()).fall_behind(epochs);
    }

    /// The session's generation.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.session.generation
    }

    /// The turn of this session's generation: its upper bits. Lock words have only the lower ones.
    pub(crate) fn lock_turn(&self) -> u64 {
        self.session.generation >> LOCK_TURN_SESSIONS
    }

    /// Whether the lock words of earlier turns are void ([`LOCK_TURN`]).
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if the medium has no such word.
    pub(crate) fn has_voided_locks(&self) -> Result<bool> {
        // Acquire: pairs with the Release of the open that voided them.
        let turn = Region::new(&self.media, LOCK_TURN, 1)?.load(0, Ordering::Acquire);
        Ok(turn == self.lock_turn())
    }

    /// Notes that a lock word at the start of the line at `at` is about to be made, or to be set for the first time in
    /// this session.
    pub(crate) fn note_lock(&self, at: u64) {
        self.stamps.note(at);
    }

    /// Whether the lock word at `at`, which has this session's generation, was set in this session, and did not have
    /// that generation before. It must be called after the word was loaded.
    pub(crate) fn has_set_lock(&self, at: u64) -> bool {
        at.is_multiple_of(LINE) && self.stamps.has(at)
    }

    /// The progress of the leak recovery of what the last session stranded.
    pub fn leak_recovery(&self) -> LeakRecovery {
        self.allocator.marks().map_or(LeakRecovery::NOT_NEEDED, |marks| marks.progress())
    }

    /// Records that there will be no leak recovery in this session.
    pub(crate) fn give_up_leak_recovery(&self) {
        if let Some(marks) = self.allocator.marks() {
            marks.give_up();
            self.tell(|| Event::LeakRecoveryEnded {
                state: LeakRecoveryState::Failed,
                freed_bytes: 0,
            });
        }
    }

    /// Warnings about work that damage has stopped although no operation failed, in sentences for a person.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &'static str> {
        let spoiled = self.allocator.is_spoiled().then_some(
            "the headers of pages and spans contradict each other, or the list of free space, so that free space was not taken \
             over: the pool is damaged; run `endura check` on a copy of it",
        );
        let gave_up = (self.leak_recovery().state == LeakRecoveryState::Failed).then_some(
            "the search for space that an unclean end stranded met damage, or a map of an unknown kind, and \
             was given up: run `endura check` on a copy of the pool",
        );
        spoiled.into_iter().chain(gave_up)
    }

    /// For each chunk size that has spans: the bytes of the spans, and of the free chunks in them.
    pub fn sizes(&self) -> Vec<SizeUse> {
        self.allocator.sizes()
    }

    /// How the bytes of the pool are used. Looks at every partly used span.
    pub fn stats(&self) -> SpaceStats {
        let (bytes_in_use, mut free_chunk_bytes) = self.allocator.usage();
        let mut limbo_bytes = 0;
        for slot in self.epochs.slots() {
            let cache = slot.contents.lock();
            limbo_bytes += cache.limbo_bytes();
            free_chunk_bytes += cache.cached().map(|(class, _)| class.size()).sum::<u64>();
        }
        SpaceStats {
            file_bytes: self.media.len(),
            length: self.allocator.pages().length(),
            bytes_in_use,
            free_chunk_bytes,
            limbo_bytes,
        }
    }
}
