//! redb, a copy-on-write B-tree in one file, as a [`Store`]: each write is a transaction that is
//! committed, its fsync answered without asking the disk. What was written is then in the page cache,
//! where it survives the process, as with the other stores.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use redb::{Database, ReadOnlyTable, ReadableDatabase, StorageBackend, TableDefinition};

use super::files::size_of_files;
use super::snapshot::{Commits, Kept};
use crate::store::bytes::{ByteClient, Numbers, copy};
use crate::store::contract::{Footprint, Store};
use crate::store::shape::Shape;
use crate::{Error, Result};

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("bench");

/// What redb may keep in its own cache, in bytes. The default.
const CACHE: usize = 1 << 30;

/// A file whose fsync does nothing.
#[derive(Debug)]
struct PageCacheFile(File);

impl StorageBackend for PageCacheFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_all_at(data, offset)
    }
}

/// A database with one table.
pub struct RedbStore {
    database: Database,
    commits: Commits,
    dir: std::path::PathBuf,
    shape: Shape,
}

fn refused(error: impl Into<redb::Error>) -> Error {
    Error::Peer { store: "redb", what: error.into().to_string() }
}

impl RedbStore {
    /// Opens the database in the directory `dir`, which may be empty.
    pub fn open(dir: &Path, shape: Shape) -> Result<Self> {
        shape.check()?;
        let path = dir.join("redb");
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path);
        let failure =
            |source| Error::Io { doing: format!("cannot open {}", path.display()), source };
        let backend = PageCacheFile(file.map_err(failure)?);
        let mut builder = Database::builder();
        let database = builder.set_cache_size(CACHE).create_with_backend(backend);
        let (database, commits) = (database.map_err(refused)?, Commits::default());
        let store = Self { database, commits, dir: dir.into(), shape };
        // Readers ask for a table that is there.
        store.write(|_| Ok(()))?;
        Ok(store)
    }

    fn write<T>(&self, change: impl FnOnce(&mut Table<'_>) -> Result<T>) -> Result<T> {
        let txn = self.database.begin_write().map_err(refused)?;
        let mut table = txn.open_table(TABLE).map_err(refused)?;
        let changed = change(&mut table)?;
        drop(table);
        txn.commit().map_err(refused)?;
        self.commits.add();
        Ok(changed)
    }
}

type Table<'txn> = redb::Table<'txn, &'static [u8], &'static [u8]>;

impl Store for RedbStore {
    type Client<'s> = Numbers<RedbClient<'s>>;

    fn name(&self) -> &'static str {
        "redb"
    }

    fn client(&self) -> Result<Self::Client<'_>> {
        Ok(Numbers::new(RedbClient { store: self, reading: None }, self.shape))
    }

    fn footprint(&self) -> Result<Footprint> {
        size_of_files(&self.dir)
    }

    fn settings(&self) -> String {
        "a commit per write, fsync made a no-op, cache of 1 GiB, read transactions kept open until a commit".into()
    }
}

/// One thread's work.
pub struct RedbClient<'s> {
    store: &'s RedbStore,
    reading: Option<Kept<ReadOnlyTable<&'static [u8], &'static [u8]>>>,
}

impl RedbClient<'_> {
    /// The table as of the last commit.
    #[inline]
    fn reading(&mut self) -> Result<&ReadOnlyTable<&'static [u8], &'static [u8]>> {
        let commits = self.store.commits.count();
        if self.reading.as_ref().is_none_or(|kept| kept.commits != commits) {
            let txn = self.store.database.begin_read().map_err(refused)?;
            let snapshot = txn.open_table(TABLE).map_err(refused)?;
            self.reading = Some(Kept { commits, snapshot });
        }
        let kept = self.reading.as_ref().ok_or(Error::Config("redb gave no table"))?;
        Ok(&kept.snapshot)
    }
}

impl ByteClient for RedbClient<'_> {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.reading = None;
        self.store.write(|table| table.insert(key, value).map(drop).map_err(refused))
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<bool> {
        self.reading = None;
        self.store.write(|table| Ok(table.remove(key).map_err(refused)?.is_some()))
    }

    #[inline]
    fn get(&mut self, key: &[u8], into: &mut [u8]) -> Result<bool> {
        let found = self.reading()?.get(key).map_err(refused)?;
        Ok(found.map(|value| copy(value.value(), into)).is_some())
    }

    #[inline]
    fn scan(
        &mut self,
        from: &[u8],
        count: usize,
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let entries = self.reading()?.range::<&[u8]>(from..).map_err(refused)?;
        for entry in entries.take(count) {
            let (key, value) = entry.map_err(refused)?;
            each(key.value(), value.value());
        }
        Ok(())
    }
}
