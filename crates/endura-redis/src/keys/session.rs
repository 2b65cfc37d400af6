//! `Session`: the state of the module from load to shutdown, with its pool and the progress of its start.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::redis::{Level, log};
use crate::store::{Store, Value, sentence};

/// Names of keys, each with its database.
type Names = BTreeSet<(i32, Vec<u8>)>;

/// Everything that lives as long as the server.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) store: Store,
    /// Whether the keys of the pool are keys of Redis.
    pub(super) attached: AtomicBool,
    /// Why the keys of the pool are not attached, if an attach was tried and refused.
    refusal: Mutex<Option<Refusal>>,
    start: Mutex<Start>,
    /// Whether an attach that a command has started has to wait until that command has ended.
    pub(super) waits_for_turn: AtomicBool,
    /// The keys that Redis has taken out of a database; see [`super::events`].
    unlinked: Mutex<Vec<Unlinked>>,
    /// The names of the keys whose records are to be written, in the order in which the keys came there. They wait here if
    /// the pool is full.
    unwritten: Mutex<VecDeque<(i32, Vec<u8>)>>,
    /// The names of maps that are in the append-only file and are no keys here; see [`super::append_only`].
    left_out: Mutex<Names>,
    /// Whether the pool still says that a full resync is running, because the write that clears this has failed.
    pub(super) says_partial: AtomicBool,
    /// The database and the name of the last event's key, if that was an event of a string.
    pub(super) last_string: Mutex<Option<(i32, Vec<u8>)>>,
    /// How far the keys that were attached have been counted.
    pub(super) uncounted: Uncounted,
    /// For INFO: how long attaching took, and how many keys it found.
    pub(crate) attach_micros: AtomicU64,
    pub(crate) attached_keys: AtomicU64,
}

/// Why the keys of the pool could not be attached, and when that was last tried.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) why: String,
    pub(super) at: Instant,
}

/// The state of the start: the file that is loaded, and what happens to its maps.
#[derive(Debug, Default)]
pub(super) struct Start {
    plan: Option<FilePlan>,
    /// Whether the file that is loaded was saved from this pool.
    pub(super) is_own_file: bool,
    /// Whether a file was loaded. This server and its replicas would then continue from the end of that file.
    pub(super) has_loaded: bool,
    /// Whether this replica has parted from its master; see [`super::parting`].
    pub(super) has_parted: bool,
    /// *Ghosts*: the empty keys that stand in for maps of the file that are left out, each with its database. They are
    /// deleted once the keys of the pool are attached, or refused.
    pub(super) ghosts: Vec<(i32, Vec<u8>)>,
}

/// What happens to the maps in the file that the server starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilePlan {
    /// They replace what is in the pool.
    TakeOver,
    /// They are left out: the pool has the newer state.
    LeaveOut,
}

/// The number of a key that Redis has taken out of a database.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unlinked {
    pub(super) id: u64,
    /// Whether Redis has freed the value too. Even then the entries stay until the command has reported what it did, so
    /// that a kill before that leaves the key.
    pub(super) is_freed: bool,
    /// The number of the key that has its name now, if the record of that key could not be written yet. The two records
    /// are written and removed together.
    pub(super) replaced_by: Option<u64>,
}

static SESSION: OnceLock<Session> = OnceLock::new();

/// The session, if the pool is open.
pub(super) fn begun() -> Option<&'static Session> {
    SESSION.get()
}

/// The session of this server.
pub(crate) fn session() -> &'static Session {
    SESSION.get().unwrap_or_else(|| unreachable!("Redis calls a module after it was loaded"))
}

/// How far the keys that were attached have been counted.
#[derive(Debug, Default)]
pub(super) struct Uncounted {
    /// The number of large keys that have not been counted; 0 before all keys have been looked at.
    pub(super) large: AtomicU64,
    /// The number of entries that have been counted.
    pub(super) counted: AtomicU64,
}

impl Session {
    /// Starts the session, once.
    pub(crate) fn begin(store: Store) {
        let _ = SESSION.set(Self {
            store,
            attached: AtomicBool::new(false),
            refusal: Mutex::default(),
            start: Mutex::default(),
            waits_for_turn: AtomicBool::new(false),
            unlinked: Mutex::default(),
            unwritten: Mutex::default(),
            left_out: Mutex::default(),
            says_partial: AtomicBool::new(false),
            last_string: Mutex::default(),
            uncounted: Uncounted::default(),
            attach_micros: AtomicU64::new(0),
            attached_keys: AtomicU64::new(0),
        });
    }

    pub(crate) fn is_attached(&self) -> bool {
        // Acquire pairs with the Release at the end of an attach. Both the store and this load are on the main thread
        // of the server, except that a thread which frees values may load it too.
        self.attached.load(Ordering::Acquire)
    }

    pub(super) fn is_refused(&self) -> bool {
        self.refusal().is_some()
    }

    /// Why the keys of the pool are not served, if they are not.
    pub(crate) fn refused(&self) -> Option<String> {
        self.refusal().as_ref().map(|refusal| refusal.why.clone())
    }

    pub(super) fn refusal(&self) -> MutexGuard<'_, Option<Refusal>> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn start(&self) -> MutexGuard<'_, Start> {
        self.start.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn unlinked(&self) -> MutexGuard<'_, Vec<Unlinked>> {
        self.unlinked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn unwritten(&self) -> MutexGuard<'_, VecDeque<(i32, Vec<u8>)>> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn left_out(&self) -> MutexGuard<'_, Names> {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the server starts to load a file.
    pub(super) fn loading(&self) {
        if !self.is_attached() {
            self.start().has_loaded = true;
        }
    }

    /// Whether the maps of a file replace those of the pool. The first call of a start decides for the whole start;
    /// once the keys are attached, maps of a file are always taken over. `file` has the identifier of the pool that the
    /// file was saved from, and how many files had been saved from that pool by then.
    ///
    /// A file has the state of the moment at which the server ended, or of an earlier one. The pool has the state of
    /// the moment at which the server ended. So the pool wins, except in three cases:
    /// * No start has completed with this pool: it is new.
    /// * The pool is older than the file, because fewer files had been saved from it: a copy was put back, or a power
    ///   loss took the pool back to a checkpoint.
    /// * A replica was killed in the middle of a full resync: the pool has only some of the keys.
    ///
    /// A replica that starts from an RDB would ask its master for the commands that followed that file. Commands such as
    /// RENAME would have another effect on the newer state of the pool, so the replica [parts](super::parting) from its
    /// master.
    pub(super) fn takes_over(&self, file: Option<([u8; 16], u64)>) -> bool {
        if self.is_attached() {
            return true;
        }
        let mut start = self.start();
        let mut plan = start.plan.unwrap_or_else(|| self.plan(file));
        if start.plan.is_none()
            && plan == FilePlan::TakeOver
            && let Err(error) = self.store.catalogue.begin_anew(self.saves_in(file))
        {
            log(
                Level::Warning,
                format!("the catalogue of the pool cannot be read: {}", sentence(&error)),
            );
            // The keys of the pool could not be distinguished from those of the file, so neither are served.
            plan = FilePlan::LeaveOut;
        }
        start.plan = Some(plan);
        start.is_own_file |= file.is_some_and(|(uuid, _)| uuid == self.store.uuid);
        plan == FilePlan::TakeOver
    }

    /// The number of files that had been saved from this pool, according to a file; 0 if that file is of another pool.
    fn saves_in(&self, file: Option<([u8; 16], u64)>) -> u64 {
        file.filter(|(uuid, _)| *uuid == self.store.uuid).map_or(0, |(_, saves)| saves)
    }

    fn plan(&self, file: Option<([u8; 16], u64)>) -> FilePlan {
        if self.store.catalogue.is_fresh() {
            return FilePlan::TakeOver;
        }
        if self.store.catalogue.is_partial().unwrap_or(false) {
            let text = "a full resync was cut short, so the pool has only some of the keys: the maps of the file replace them";
            log(Level::Warning, text);
            return FilePlan::TakeOver;
        }
        let Some((uuid, saves)) = file else { return FilePlan::LeaveOut };
        if uuid != self.store.uuid {
            let text = "the file was saved from another pool: its maps are left out, for this pool has maps of its \
                        own. To have those of the file, move the pool away and start again";
            log(Level::Notice, text);
            return FilePlan::LeaveOut;
        }
        match self.store.catalogue.saves() {
            Ok(of_pool) if of_pool < saves => {
                let text = "the pool is older than the file: the maps of the file replace those of the pool";
                log(Level::Warning, text);
                FilePlan::TakeOver
            }
            _ => FilePlan::LeaveOut,
        }
    }

    /// Notes an empty key that stands in for a map of the file.
    pub(super) fn ghost(&self, database: i32, name: Vec<u8>) {
        self.start().ghosts.push((database, name));
    }

    /// Exchanges two databases, as SWAPDB did, in the names of ghosts, of keys that were left out, and of records that wait
    /// to be written.
    pub(super) fn swap_names(&self, a: i32, b: i32) {
        let other = |database| match database {
            database if database == a => b,
            database if database == b => a,
            database => database,
        };
        self.start().ghosts.iter_mut().for_each(|(database, _)| *database = other(*database));
        self.unwritten().iter_mut().for_each(|(database, _)| *database = other(*database));
        let mut left_out = self.left_out();
        let swapped = std::mem::take(&mut *left_out).into_iter();
        *left_out = swapped.map(|(database, name)| (other(database), name)).collect();
    }

    /// Whether commands on whole databases apply to the pool. If the keys of the pool could not be attached, such
    /// commands apply as long as the pool can be read: FLUSHALL is a way out, and the first step of a full resync.
    pub(super) fn reaches_spaces(&self) -> bool {
        self.takes_over(None) || self.is_refused() && self.store.catalogue.read().is_ok()
    }

    pub(super) fn took_over(&self) -> bool {
        self.start().plan == Some(FilePlan::TakeOver)
    }

    /// Called when Redis no longer needs a value. The sweeper gets its entries, once the key is gone for good.
    pub(super) fn freed(&self, value: &Value) {
        if value.id == 0 {
            return;
        }
        let mut unlinked = self.unlinked();
        if let Some(unlinked) = unlinked.iter_mut().find(|unlinked| unlinked.id == value.id) {
            unlinked.is_freed = true;
            return;
        }
        let replaced = unlinked.iter_mut().filter(|other| other.replaced_by == Some(value.id));
        replaced.for_each(|unlinked| unlinked.replaced_by = None);
        self.store.sweeper.one(value.id);
    }
}
