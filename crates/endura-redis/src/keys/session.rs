//! The module from load to shutdown: its pool, and how far its start has come.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::redis::{Level, log};
use crate::store::{Store, Value};

/// Names of keys, each with its database.
type Names = BTreeSet<(i32, Vec<u8>)>;

/// Everything that lives as long as the server.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) store: Store,
    /// Whether the keys of the pool are keys of Redis.
    pub(super) attached: AtomicBool,
    /// Why they are not, once that was tried.
    refusal: Mutex<Option<Refusal>>,
    start: Mutex<Start>,
    /// An attach that a command began has to wait until it has ended.
    pub(super) waits_for_turn: AtomicBool,
    /// Numbers whose keys Redis has taken out of a database; see [`super::events`].
    unlinked: Mutex<Vec<Unlinked>>,
    /// Keys whose records could not be written, for the pool was full.
    unwritten: Mutex<Names>,
    /// Names that are maps in the append-only file and no keys here; see [`super::append_only`].
    left_out: Mutex<Names>,
    /// The pool still says that a replica gets its keys, for what takes that back could not be written.
    pub(super) says_partial: AtomicBool,
    /// The key of the last event and its database, if that was one of a string.
    pub(super) last_string: Mutex<Option<(i32, Vec<u8>)>>,
    /// For INFO: how long attaching took, and how many keys it found.
    pub(crate) attach_micros: AtomicU64,
    pub(crate) attached_keys: AtomicU64,
}

/// Why the keys of the pool are no keys of Redis, and when that was found.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) why: String,
    pub(super) at: Instant,
}

/// What is known while the server starts.
#[derive(Debug, Default)]
pub(super) struct Start {
    plan: Option<FilePlan>,
    /// A file was loaded: its end is what Redis, and who asks it, would go on from.
    pub(super) has_loaded: bool,
    /// A replica has parted from its master's past; see [`super::parting`].
    pub(super) has_parted: bool,
    /// Keys of the file that are not taken over: they are deleted once the pool's are there.
    pub(super) ghosts: Vec<(i32, Vec<u8>)>,
}

/// What becomes of the maps in the file that the server starts from.
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
    /// Whether its value was freed too. Its entries stay nevertheless until the command has said what it did: a kill
    /// before that leaves the key.
    pub(super) is_freed: bool,
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

impl Session {
    /// Begins it, once.
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
            attach_micros: AtomicU64::new(0),
            attached_keys: AtomicU64::new(0),
        });
    }

    pub(crate) fn is_attached(&self) -> bool {
        // Acquire pairs with the Release at the end of an attach; both are on the thread of the server, but for a
        // thread that frees.
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

    pub(super) fn unwritten(&self) -> MutexGuard<'_, Names> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn left_out(&self) -> MutexGuard<'_, Names> {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server begins to load a file.
    pub(super) fn loading(&self) {
        if !self.is_attached() {
            self.start().has_loaded = true;
        }
    }

    /// Whether what a file says of maps is carried out. Decided once a start, by the first who asks; `file` is the pool
    /// that the file was saved from, and how often that had been saved from by then.
    ///
    /// A file is a state at or before the moment at which the server ended; the pool is the state of that moment. So the
    /// pool wins, except:
    /// * No start has come to an end with this pool: it is new.
    /// * The pool is older than the file, for it has been saved from less often: somebody has put a copy back, or a power
    ///   loss took it back to a checkpoint.
    /// * A replica was killed in the middle of a full resync: the pool has only some of the keys.
    ///
    /// A replica that starts from an RDB would ask its master for what followed that file, and RENAME and the like would do
    /// another thing to the newer state of the pool: it [parts](super::parting) from that past.
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
            log(Level::Warning, format!("the catalogue of the pool cannot be read: {error}"));
            // Its keys cannot be told from those of the file then: none of either is served.
            plan = FilePlan::LeaveOut;
        }
        start.plan = Some(plan);
        plan == FilePlan::TakeOver
    }

    /// How often this pool was saved from, as a file says; 0 for the file of another pool.
    fn saves_in(&self, file: Option<([u8; 16], u64)>) -> u64 {
        file.filter(|(uuid, _)| *uuid == self.store.uuid).map_or(0, |(_, saves)| saves)
    }

    fn plan(&self, file: Option<([u8; 16], u64)>) -> FilePlan {
        if self.store.catalogue.is_fresh() {
            return FilePlan::TakeOver;
        }
        if self.store.catalogue.is_partial().unwrap_or(false) {
            let text = "a replica was killed while it got its keys: the maps of the file replace those of the pool";
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

    /// A key of the file that is left out.
    pub(super) fn ghost(&self, database: i32, name: Vec<u8>) {
        self.start().ghosts.push((database, name));
    }

    /// The keys of two databases have changed places: also those that are left out, were left out, or wait for room.
    pub(super) fn swap_names(&self, a: i32, b: i32) {
        let other = |database| match database {
            database if database == a => b,
            database if database == b => a,
            database => database,
        };
        self.start().ghosts.iter_mut().for_each(|(database, _)| *database = other(*database));
        for mut names in [self.unwritten(), self.left_out()] {
            let swapped = std::mem::take(&mut *names).into_iter();
            *names = swapped.map(|(database, name)| (other(database), name)).collect();
        }
    }

    /// Whether what is done to whole databases is done to those of the pool. Also where its keys could not be attached, if
    /// it can be read: FLUSHALL is a way out, and the first thing in a replica that gets everything anew.
    pub(super) fn reaches_spaces(&self) -> bool {
        self.takes_over(None) || self.is_refused() && self.store.catalogue.read().is_ok()
    }

    pub(super) fn took_over(&self) -> bool {
        self.start().plan == Some(FilePlan::TakeOver)
    }

    /// Redis does not need a value any more: the thread that sweeps gets its entries, once its key is gone for good.
    pub(super) fn freed(&self, value: &Value) {
        if value.id == 0 {
            return;
        }
        match self.unlinked().iter_mut().find(|unlinked| unlinked.id == value.id) {
            Some(unlinked) => unlinked.is_freed = true,
            None => self.store.sweeper.one(value.id),
        }
    }
}
