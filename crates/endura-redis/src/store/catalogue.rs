//! The catalogue: which keys there are, and what Redis keeps of each.
//!
//! | crash after | the next start sees |
//! | --- | --- |
//! | entries of a new number | a number without a record: its entries are swept |
//! | its record ([`write`](Catalogue::write)) | the key, with all of its first entries |
//! | a record with a name that another has (RENAME, RESTORE, COPY over a key) | the key with the higher sequence; the other is swept |
//! | the removal of that other record | the same |
//! | the removal of a record ([`remove`](Catalogue::remove): DEL, expiry, SET over it) | no key; its entries are swept |
//! | a table of spaces ([`put_spaces`](Catalogue::put_spaces): SWAPDB, FLUSHDB, FLUSHALL) | all keys of these databases in their new place, or none |

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use endura::{Map, Pool, Result};

use super::record::{Form, Record};
use super::spaces::Spaces;
use super::steps::{may_fail, step};

/// The records of all keys, and the table of spaces.
#[derive(Debug)]
pub(crate) struct Catalogue {
    keys: Map<u64, [u8]>,
    settings: Map<str, [u8]>,
    spaces: Mutex<Spaces>,
    /// Whether the table of spaces in the pool is the one here: not while a start takes over what is in a file.
    is_settled: AtomicBool,
    /// Whether no start has come to an end with this pool: then there are no keys in it.
    is_fresh: bool,
    /// Whether there was no room for the table as it is here.
    is_behind: AtomicBool,
    sequence: AtomicU64,
    /// How often the pool had been saved from when the file was that is taken over.
    saves_of_file: AtomicU64,
}

const SPACES: &str = "spaces";
const SAVES: &str = "saves";
const PARTIAL: &str = "partial";

impl Catalogue {
    pub(crate) fn open(pool: &Pool) -> Result<Self> {
        let settings: Map<str, [u8]> = pool.map("redis:settings")?;
        let bytes = settings.get(SPACES)?;
        let written = bytes.as_deref().and_then(Spaces::decode);
        if bytes.is_some() && written.is_none() {
            // Not as if there were none: keys that are in no database are swept.
            return Err(unreadable("reading the table of databases"));
        }
        Ok(Self {
            keys: pool.map("redis:keys")?,
            settings,
            is_settled: written.is_some().into(),
            is_fresh: written.is_none(),
            is_behind: AtomicBool::new(false),
            spaces: Mutex::new(written.unwrap_or_default()),
            sequence: AtomicU64::new(0),
            saves_of_file: AtomicU64::new(0),
        })
    }

    /// Whether no start had come to an end with this pool when it was opened: then there were no keys in it.
    pub(crate) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// From now on records are of another state, which replaces the one in the pool when it is complete: at
    /// [`settle`](Self::settle). A kill before that leaves the pool as it was. `saves` is what the file says of this pool.
    pub(crate) fn begin_anew(&self, saves: u64) -> Result<()> {
        self.read()?;
        self.saves_of_file.store(saves, Ordering::Relaxed);
        self.is_settled.store(false, Ordering::Relaxed);
        self.spaces().renew(-1);
        Ok(())
    }

    /// What was written since [`begin_anew`](Self::begin_anew) is what there is.
    pub(crate) fn settle(&self) -> Result<()> {
        if self.is_settled.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.put_table()?;
        // Behind the table: the pool is no older than the file any more, and goes on from here.
        let saves = self.saves_of_file.load(Ordering::Relaxed);
        if self.saves()? < saves {
            self.settings.put(SAVES, &saves.to_le_bytes())?;
        }
        self.is_settled.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The records, each with its number. What is written from now on has a higher sequence than they have.
    pub(crate) fn read(&self) -> Result<Vec<(u64, Record)>> {
        let mut records = Vec::new();
        let mut are_whole = true;
        self.keys.range_with(.., |id, bytes| match Record::decode(bytes) {
            Some(record) => records.push((id, record)),
            None => are_whole = false,
        })?;
        if !are_whole {
            return Err(unreadable("reading the records of keys"));
        }
        let last = records.iter().map(|(_, record)| record.sequence).max().unwrap_or(0);
        self.sequence.fetch_max(last, Ordering::Relaxed);
        // Also a space that no database has may have records: of a start that was killed, of keys that wait to be swept.
        let mut spaces = self.spaces();
        records.iter().for_each(|(_, record)| spaces.spare(record.space));
        drop(spaces);
        Ok(records)
    }

    /// The highest number that has a record.
    pub(crate) fn last_number(&self) -> Result<u64> {
        Ok(self.keys.last_key_value()?.map_or(0, |(id, _)| id))
    }

    /// Says that this number is the key `name` of a database. It is the last word on that name.
    pub(crate) fn write(
        &self,
        id: u64,
        form: Form,
        database: i32,
        expires: i64,
        name: &[u8],
    ) -> Result<()> {
        let (space, is_new) = self.spaces().space(database);
        if is_new || self.is_behind.load(Ordering::Relaxed) {
            self.put_spaces()?;
        }
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed) + 1;
        let record = Record { space, sequence, expires, form, name: name.to_vec() };
        self.keys.put(id, &record.encode())?;
        step();
        Ok(())
    }

    /// The record of a number, if it has one.
    pub(crate) fn record(&self, id: u64) -> Result<Option<Record>> {
        Ok(self.keys.get(id)?.and_then(|bytes| Record::decode(&bytes)))
    }

    /// There is no such key any more.
    pub(crate) fn remove(&self, id: u64) -> Result<()> {
        self.keys.delete(id)?;
        step();
        Ok(())
    }

    pub(crate) fn spaces(&self) -> MutexGuard<'_, Spaces> {
        self.spaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the table of spaces, at once for all databases; later, if it is not [settled](Self::settle).
    pub(crate) fn put_spaces(&self) -> Result<()> {
        if !self.is_settled.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.put_table()
    }

    fn put_table(&self) -> Result<()> {
        let bytes = self.spaces().encode();
        let put = may_fail().and_then(|()| self.settings.put(SPACES, &bytes));
        self.is_behind.store(put.is_err(), Ordering::Relaxed);
        put?;
        step();
        Ok(())
    }

    /// Writes the table of spaces if there was no room for it.
    pub(crate) fn catch_up(&self) -> Result<()> {
        if self.is_behind.load(Ordering::Relaxed) { self.put_spaces() } else { Ok(()) }
    }

    /// About how many keys there are.
    pub(crate) fn keys(&self) -> Result<usize> {
        self.keys.approximate_len()
    }

    /// Whether the keys are some of those that a replica was getting from its master when it was killed.
    pub(crate) fn is_partial(&self) -> Result<bool> {
        Ok(self.settings.get(PARTIAL)?.is_some())
    }

    pub(crate) fn set_partial(&self, is_partial: bool) -> Result<()> {
        may_fail()?;
        if is_partial {
            return self.settings.put(PARTIAL, &[]).map(drop);
        }
        self.settings.delete(PARTIAL).map(drop)
    }

    /// How many files were saved from this pool.
    pub(crate) fn saves(&self) -> Result<u64> {
        let bytes = self.settings.get(SAVES)?;
        Ok(bytes.and_then(|bytes| Some(u64::from_le_bytes(*bytes.first_chunk()?))).unwrap_or(0))
    }

    /// Counts one more, before it is saved: a pool that is older than the file has a smaller number.
    pub(crate) fn count_save(&self) -> Result<u64> {
        let saves = self.saves()? + 1;
        self.settings.put(SAVES, &saves.to_le_bytes())?;
        Ok(saves)
    }
}

fn unreadable(what: &'static str) -> endura::Error {
    let source = "the bytes are of another version of the module, or damaged";
    endura::Error::io(what, std::io::Error::new(std::io::ErrorKind::InvalidData, source))
}
