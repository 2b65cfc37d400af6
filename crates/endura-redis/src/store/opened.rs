//! The pool of a server.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use endura::{Checkpoints, Event, Pool, Result};

use super::catalogue::Catalogue;
use super::entries::Entries;
use super::failure::Outcome;
use super::record::Form;
use super::sweeper::Sweeper;
use super::value::Value;

/// How a server wants its pool.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) path: PathBuf,
    pub(crate) max_size: Option<u64>,
    pub(crate) checkpoints: Option<Checkpoints>,
    pub(crate) read_mostly: bool,
    /// Who is told of events of the pool.
    pub(crate) on_event: Option<fn(&Event)>,
}

/// A server that was killed may hold its lock until the kernel has torn it down.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The pool of a server: entries, the catalogue of keys, and the thread that sweeps.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) pool: Pool,
    pub(crate) uuid: [u8; 16],
    pub(crate) entries: Arc<Entries>,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) sweeper: Sweeper,
    /// The number of the next key, and that of the first which this session makes.
    next: AtomicU64,
    first: u64,
}

impl Store {
    pub(crate) fn open(settings: &Settings) -> Result<Self> {
        let mut options = Pool::options().lock_timeout(LOCK_TIMEOUT);
        options = options.read_mostly(settings.read_mostly);
        if let Some(bytes) = settings.max_size {
            options = options.max_size(bytes);
        }
        if let Some(checkpoints) = &settings.checkpoints {
            options = options.checkpoints(checkpoints.clone());
        }
        if let Some(on_event) = settings.on_event {
            options = options.on_event(on_event);
        }
        let pool = options.open(&settings.path)?;
        let entries = Arc::new(Entries::open(&pool)?);
        let catalogue = Arc::new(Catalogue::open(&pool)?);
        let last = catalogue.last_number()?.max(entries.last_number()?);
        let started = Sweeper::start(Arc::clone(&catalogue), Arc::clone(&entries));
        let sweeper = started.map_err(|source| endura::Error::io("starting a thread", source))?;
        let uuid = pool.stats()?.uuid;
        let first = last + 1;
        Ok(Self { pool, uuid, entries, catalogue, sweeper, next: first.into(), first })
    }

    /// Numbers below this one are of earlier sessions.
    pub(crate) fn first_of_session(&self) -> u64 {
        self.first
    }

    /// A number that no key has, nor any entry.
    pub(crate) fn fresh(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A new value, without entries.
    pub(crate) fn make(&self, form: Form) -> Outcome<Value> {
        Value::new(&self.entries, self.fresh(), form)
    }
}
