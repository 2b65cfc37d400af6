//! The catalogue: a record of each key, and the table of spaces, which says in which database a key is.
//!
//! | crash after | the next start sees |
//! | --- | --- |
//! | entries of a new number (COPY, RESTORE, a file) | a number without a record: its entries are swept |
//! | its record, in a batch with entries ([`add`](Catalogue::add)) or after them ([`write`](Catalogue::write)) | the key, with all of its first entries |
//! | a record and the removal of the one that had its name, which are one batch (RENAME, RESTORE, COPY over a key) | the key that has the name now; the entries of the other are swept |
//! | the removal of a record ([`remove`](Catalogue::remove): DEL, expiry, SET over it, the removal of the last field) | no key; its entries are swept |
//! | a table of spaces ([`put_spaces`](Catalogue::put_spaces): SWAPDB, FLUSHDB, FLUSHALL) | all keys of these databases in their new place, or none |

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use endura::{Batch, Map, Pool, Result};

use super::record::{Form, Record};
use super::slots::SlotRanges;
use super::spaces::Spaces;
use super::steps::{commit, may_fail, step};

/// The records of all keys, and the table of spaces.
#[derive(Debug)]
pub(crate) struct Catalogue {
    pool: Pool,
    keys: Map<u64, [u8]>,
    /// The number of records, once they have been read.
    count: AtomicU64,
    settings: Map<str, [u8]>,
    spaces: Mutex<Spaces>,
    /// Whether the table of spaces in the pool is the one in `spaces`. The two differ while a start takes over the maps
    /// of a file.
    is_settled: AtomicBool,
    /// Whether no start has completed with this pool. If none has, the pool has no keys.
    is_fresh: bool,
    /// Whether the last write of the table of spaces has failed.
    is_behind: AtomicBool,
    /// The number of files that had been saved from the pool, according to the file that is taken over.
    saves_of_file: AtomicU64,
}

/// Where a key is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'n> {
    pub(crate) database: i32,
    pub(crate) name: &'n [u8],
    /// When the key expires, in milliseconds since 1970; negative if it does not.
    pub(crate) expires: i64,
}

const SPACES: &str = "spaces";
const SAVES: &str = "saves";
const PARTIAL: &str = "partial";
const IMPORTS: &str = "imports";

impl Catalogue {
    pub(crate) fn open(pool: &Pool) -> Result<Self> {
        let settings: Map<str, [u8]> = pool.map("redis:settings")?;
        let bytes = settings.get(SPACES)?;
        let written = bytes.as_deref().and_then(Spaces::decode);
        if bytes.is_some() && written.is_none() {
            // Without the table no key would be in a database, and all keys would be swept.
            return Err(unreadable("reading the table of databases"));
        }
        Ok(Self {
            pool: pool.clone(),
            keys: pool.map("redis:keys")?,
            count: AtomicU64::new(0),
            settings,
            is_settled: written.is_some().into(),
            is_fresh: written.is_none(),
            is_behind: AtomicBool::new(false),
            spaces: Mutex::new(written.unwrap_or_default()),
            saves_of_file: AtomicU64::new(0),
        })
    }

    /// Whether no start had completed with this pool when it was opened. If none had, the pool had no keys.
    pub(crate) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// Starts to take over another state. The records that are written from now on belong to that state. It replaces
    /// the state of the pool once it is complete, at [`settle`](Self::settle). A kill before that leaves the pool as it
    /// was. `saves` is the number of files that had been saved from this pool, according to the file that is taken
    /// over.
    pub(crate) fn begin_anew(&self, saves: u64) -> Result<()> {
        self.read()?;
        self.saves_of_file.store(saves, Ordering::Relaxed);
        self.is_settled.store(false, Ordering::Relaxed);
        self.spaces().renew(-1);
        Ok(())
    }

    /// Completes the state that was written since [`begin_anew`](Self::begin_anew): one write makes it the state of the
    /// pool.
    pub(crate) fn settle(&self) -> Result<()> {
        if self.is_settled.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.put_table()?;
        // The number of saves is written after the table: only now is the pool as new as the file, and counts on from
        // its number.
        let saves = self.saves_of_file.load(Ordering::Relaxed);
        if self.saves()? < saves {
            self.settings.put(SAVES, &saves.to_le_bytes())?;
        }
        self.is_settled.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// All records, each with its number.
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
        self.count.store(records.len() as u64, Ordering::Relaxed);
        // A space that belongs to no database may have records too. They are of a start that was killed, or of keys
        // that wait to be swept.
        let mut spaces = self.spaces();
        records.iter().for_each(|(_, record)| spaces.spare(record.space));
        drop(spaces);
        Ok(records)
    }

    /// The highest number that has a record.
    pub(crate) fn last_number(&self) -> Result<u64> {
        Ok(self.keys.last_key_value()?.map_or(0, |(id, _)| id))
    }

    /// Writes the record which says that this number is the key in this place, and removes the records of `gone`, which had
    /// its name, all at once.
    pub(crate) fn write(&self, id: u64, form: Form, place: Place<'_>, gone: &[u64]) -> Result<()> {
        let record = self.encoded(form, place)?;
        let old = self.keys.get(id)?;
        if old.as_deref() == Some(&record) {
            // The others are gone, or were moved away before they were replaced.
            return gone.iter().try_for_each(|id| self.remove(*id));
        }
        if gone.is_empty() {
            may_fail()?;
            self.keys.put(id, &record)?;
            step();
        } else {
            let mut batch = self.pool.batch();
            batch.put(&self.keys, id, &record)?;
            let mut removed = 0;
            for id in gone {
                removed += u64::from(self.keys.contains_key(*id)?);
                batch.delete(&self.keys, *id)?;
            }
            commit(&mut batch)?;
            self.count.fetch_sub(removed, Ordering::Relaxed);
        }
        if old.is_none() {
            self.is_added();
        }
        Ok(())
    }

    /// Counts a key whose record a batch has added.
    pub(super) fn is_added(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the record to a batch.
    pub(super) fn add(
        &self,
        batch: &mut Batch,
        id: u64,
        form: Form,
        place: Place<'_>,
    ) -> Result<()> {
        batch.put(&self.keys, id, &self.encoded(form, place)?).map(drop)
    }

    /// A record, whose space is in the table in the pool.
    fn encoded(&self, form: Form, place: Place<'_>) -> Result<Vec<u8>> {
        let (space, is_new) = self.spaces().space(place.database);
        if is_new || self.is_behind.load(Ordering::Relaxed) {
            self.put_spaces()?;
        }
        let (expires, name) = (place.expires, place.name.to_vec());
        Ok(Record { space, expires, form, name }.encode())
    }

    /// The record of a number, if it has one.
    pub(crate) fn record(&self, id: u64) -> Result<Option<Record>> {
        Ok(self.keys.get(id)?.and_then(|bytes| Record::decode(&bytes)))
    }

    /// Removes the record of a number: the key is gone.
    pub(crate) fn remove(&self, id: u64) -> Result<()> {
        if self.keys.delete(id)? {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
        step();
        Ok(())
    }

    pub(crate) fn spaces(&self) -> MutexGuard<'_, Spaces> {
        self.spaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the table of spaces, for all databases in one step. While another state is being taken over, nothing is
    /// written before [`settle`](Self::settle).
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

    /// Writes the table of spaces if the last write of it has failed.
    pub(crate) fn catch_up(&self) -> Result<()> {
        if self.is_behind.load(Ordering::Relaxed) { self.put_spaces() } else { Ok(()) }
    }

    /// The number of keys: of records that have been read or written.
    pub(crate) fn keys(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether a full resync has started and has not ended: the pool has only some of the keys.
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

    /// The slots that are being imported, or were when the server ended.
    pub(crate) fn imports(&self) -> Result<SlotRanges> {
        let bytes = self.settings.get(IMPORTS)?.unwrap_or_default();
        let number =
            |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
        Ok(bytes.chunks_exact(4).map(|range| (number(range), number(&range[2..]))).collect())
    }

    /// Records which slots are being imported.
    pub(crate) fn set_imports(&self, ranges: &[(u16, u16)]) -> Result<()> {
        if ranges.is_empty() {
            return self.settings.delete(IMPORTS).map(drop);
        }
        let bytes: Vec<u8> = ranges
            .iter()
            .flat_map(|(first, last)| [first.to_le_bytes(), last.to_le_bytes()])
            .flatten()
            .collect();
        self.settings.put(IMPORTS, &bytes).map(drop)
    }

    /// The number of files that were saved from this pool.
    pub(crate) fn saves(&self) -> Result<u64> {
        let bytes = self.settings.get(SAVES)?;
        Ok(bytes.and_then(|bytes| Some(u64::from_le_bytes(*bytes.first_chunk()?))).unwrap_or(0))
    }

    /// Counts a file before it is saved, and returns the new number. A pool that is older than the file has a smaller
    /// number.
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
