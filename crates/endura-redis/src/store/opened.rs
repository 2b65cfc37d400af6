//! `Store`: the open pool of a server.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use endura::{Pool, PoolOptions, Result};

use super::catalogue::{Catalogue, Place};
use super::entries::{Entries, Pair};
use super::failure::Outcome;
use super::record::Form;
use super::sweeper::Sweeper;
use super::value::Value;
use super::wording::in_words;

/// How long an open waits for the lock of the pool. A server that was killed may hold it until the kernel has torn down
/// the process.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The pool of a server: entries, the catalogue of keys, and the thread that sweeps.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) pool: Pool,
    pub(crate) uuid: [u8; 16],
    pub(crate) entries: Arc<Entries>,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) sweeper: Sweeper,
    /// The number of the next key.
    next: AtomicU64,
    /// The number of the first key of this session.
    first: u64,
}

impl Store {
    pub(crate) fn open(path: &Path, options: PoolOptions) -> Result<Self> {
        let pool = options.lock_timeout(LOCK_TIMEOUT).open(path)?;
        let entries = Arc::new(Entries::open(&pool)?);
        let catalogue = Arc::new(Catalogue::open(&pool)?);
        let last = catalogue.last_number()?.max(entries.last_number()?);
        let started = Sweeper::start(Arc::clone(&catalogue), Arc::clone(&entries));
        let sweeper = started.map_err(|source| endura::Error::io("starting a thread", source))?;
        let uuid = pool.stats()?.uuid;
        let first = last + 1;
        Ok(Self { pool, uuid, entries, catalogue, sweeper, next: first.into(), first })
    }

    /// A sentence for the operator if the open took the pool back to its checkpoint, or made it from its checkpoint.
    pub(crate) fn restored(&self) -> Result<Option<String>> {
        let Some(restored) = self.pool.stats()?.restored else { return Ok(None) };
        let age = restored.at.elapsed().unwrap_or_default().as_secs();
        let text = match restored.reason {
            None => format!("the file was missing: made anew from its checkpoint of {age} s ago"),
            Some(reason) => format!(
                "taken back to its checkpoint of {age} s ago, because {}; later writes are lost",
                in_words(reason)
            ),
        };
        Ok(Some(match &restored.kept {
            Some(kept) => format!("{text}; the pool as it was found is {}", kept.display()),
            None => text,
        }))
    }

    /// Numbers below this one are of earlier sessions.
    pub(crate) fn first_of_session(&self) -> u64 {
        self.first
    }

    /// The number that the next new key gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// A new number, which no key and no entry has.
    pub(crate) fn fresh(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A new value, without entries.
    pub(crate) fn make(&self, form: Form) -> Outcome<Value> {
        Value::new(&self.entries, self.fresh(), form)
    }

    /// Makes a new value the key in this place, with its first entries, all at once. Returns their number.
    pub(crate) fn create(
        &self,
        value: &Value,
        place: Place<'_>,
        pairs: &[Pair<'_>],
    ) -> Outcome<i64> {
        let mut batch = self.pool.batch();
        self.catalogue.add(&mut batch, value.id, value.form, place)?;
        let added = self.entries.put_with(batch, value, pairs)?;
        self.catalogue.is_added();
        Ok(added)
    }
}
