//! redb, a copy-on-write B-tree in one file: each write is a transaction that is committed, its fsync answered without
//! asking the disk unless a power loss is to be survived. What was written is then in the page cache, where it survives the process, as with the other
//! stores.

use std::fs::{File, OpenOptions};
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use redb::{Key, ReadOnlyTable, ReadableDatabase, StorageBackend, Table, TableDefinition, Value};

use crate::store::contract::Footprint;
use crate::store::options::Survives;
use crate::store::peers::cache::CACHE;
use crate::store::peers::files::size_of_files;
use crate::store::peers::snapshot::{Commits, Kept};
use crate::{Error, Result};

/// The settings that matter for a comparison.
pub(super) const SETTINGS: &str = "a commit per write, fsync made a no-op unless a power loss is to be survived, cache of 1 GiB, read transactions kept open until a commit";

/// A file whose fsync does something only if a power loss is to be survived.
#[derive(Debug)]
struct PageCacheFile {
    file: File,
    is_synced: bool,
}

impl StorageBackend for PageCacheFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.is_synced { self.file.sync_data() } else { Ok(()) }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }
}

/// A database with one table.
pub(super) struct Database<K: Key + 'static, V: Value + 'static> {
    database: redb::Database,
    commits: Commits,
    dir: PathBuf,
    types: PhantomData<fn() -> (K, V)>,
}

pub(super) fn refused(error: impl Into<redb::Error>) -> Error {
    Error::Peer { store: "redb", what: error.into().to_string() }
}

impl<K: Key + 'static, V: Value + 'static> Database<K, V> {
    const TABLE: TableDefinition<'static, K, V> = TableDefinition::new("bench");

    /// Opens the database in the directory `dir`, which may be empty.
    pub(super) fn open(dir: &Path, survives: Survives) -> Result<Self> {
        if survives == Survives::PowerLossASecondLater {
            return Err(Error::Config("redb here syncs each commit or none"));
        }
        let path = dir.join("redb");
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path);
        let failure =
            |source| Error::Io { doing: format!("cannot open {}", path.display()), source };
        let (file, is_synced) = (file.map_err(failure)?, survives == Survives::PowerLoss);
        let backend = PageCacheFile { file, is_synced };
        let mut builder = redb::Database::builder();
        let database = builder.set_cache_size(CACHE).create_with_backend(backend);
        let (database, commits) = (database.map_err(refused)?, Commits::default());
        let store = Self { database, commits, dir: dir.into(), types: PhantomData };
        // Readers ask for a table that is there.
        store.write(|_| Ok(()))?;
        Ok(store)
    }

    pub(super) fn write<T>(
        &self,
        change: impl FnOnce(&mut Table<'_, K, V>) -> Result<T>,
    ) -> Result<T> {
        let txn = self.database.begin_write().map_err(refused)?;
        let mut table = txn.open_table(Self::TABLE).map_err(refused)?;
        let changed = change(&mut table)?;
        drop(table);
        txn.commit().map_err(refused)?;
        self.commits.add();
        Ok(changed)
    }

    pub(super) fn footprint(&self) -> Result<Footprint> {
        size_of_files(&self.dir)
    }
}

/// One thread's transactions: one for each write, and one for reads that stays open until the next commit of any
/// thread.
pub struct Transactions<'s, K: Key + 'static, V: Value + 'static> {
    store: &'s Database<K, V>,
    reading: Option<Kept<ReadOnlyTable<K, V>>>,
}

impl<'s, K: Key + 'static, V: Value + 'static> Transactions<'s, K, V> {
    pub(super) fn new(store: &'s Database<K, V>) -> Self {
        Self { store, reading: None }
    }

    #[inline]
    pub(super) fn write<T>(
        &mut self,
        change: impl FnOnce(&mut Table<'_, K, V>) -> Result<T>,
    ) -> Result<T> {
        self.reading = None;
        self.store.write(change)
    }

    /// The table as of the last commit.
    #[inline]
    pub(super) fn reading(&mut self) -> Result<&ReadOnlyTable<K, V>> {
        let commits = self.store.commits.count();
        if self.reading.as_ref().is_none_or(|kept| kept.commits != commits) {
            let txn = self.store.database.begin_read().map_err(refused)?;
            let snapshot = txn.open_table(Database::<K, V>::TABLE).map_err(refused)?;
            self.reading = Some(Kept { commits, snapshot });
        }
        let kept = self.reading.as_ref().ok_or(Error::Config("redb gave no table"))?;
        Ok(&kept.snapshot)
    }
}
