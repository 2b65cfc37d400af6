//! RocksDB, the log-structured merge tree that most people know, as a [`Store`]: its log is written
//! with each operation and not synced, so that what returned survives the process, or synced each second. The library is the
//! system's (`librocksdb-dev` on Debian and Ubuntu).

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use super::ffi;
use crate::store::bytes::{ByteClient, Numbers, copy};
use crate::store::contract::{BatchStore, Footprint, Store};
use crate::store::options::{SECOND, Survives};
use crate::store::peers::files::size_of_files;
use crate::store::shape::{Buffers, Shape};
use crate::{Error, Result};

/// A database.
pub struct RocksDbStore {
    db: Arc<ffi::Db>,
    dir: std::path::PathBuf,
    shape: Shape,
    syncs: Option<Syncs>,
}

impl RocksDbStore {
    /// Opens the database in the directory `dir`, which may be empty.
    pub fn open(dir: &Path, shape: Shape, survives: Survives) -> Result<Self> {
        shape.check()?;
        let db = Arc::new(ffi::Db::open(dir)?);
        let syncs = match survives {
            Survives::Kill => None,
            Survives::PowerLossASecondLater => Some(Syncs::begin(Arc::clone(&db))),
            Survives::PowerLoss => {
                return Err(Error::Config("RocksDB here syncs its log each second or never"));
            }
        };
        Ok(Self { db, dir: dir.into(), shape, syncs })
    }
}

/// A thread that syncs the log each second, until this is dropped.
struct Syncs(Option<(mpsc::Sender<()>, JoinHandle<()>)>);

impl Syncs {
    /// An error ends the process: what is measured would be worth nothing.
    fn begin(db: Arc<ffi::Db>) -> Self {
        let (alive, end) = mpsc::channel();
        let work = move || {
            while end.recv_timeout(SECOND) == Err(mpsc::RecvTimeoutError::Timeout) {
                if let Err(error) = db.sync_log() {
                    eprintln!("RocksDB cannot sync its log: {error}");
                    std::process::abort();
                }
            }
        };
        Self(Some((alive, std::thread::spawn(work))))
    }
}

impl Drop for Syncs {
    fn drop(&mut self) {
        if let Some((alive, thread)) = self.0.take() {
            drop(alive);
            // It has the database until it ends. Where it panicked, that was told.
            let _ = thread.join();
        }
    }
}

impl Store for RocksDbStore {
    type Client<'s> = Numbers<&'s RocksDbStore>;

    fn name(&self) -> &'static str {
        "RocksDB"
    }

    fn client(&self) -> Result<Self::Client<'_>> {
        Ok(Numbers::new(self, self.shape))
    }

    /// Of its files; what it keeps in DRAM does not count.
    fn footprint(&self) -> Result<Footprint> {
        size_of_files(&self.dir)
    }

    fn settings(&self) -> String {
        let synced = if self.syncs.is_some() { "synced each second" } else { "not synced" };
        format!(
            "log written with each operation and {synced}, Bloom filters of 10 bits, cache of 1 GiB, no \
             compression, a background thread per processor, else defaults; removes do not look"
        )
    }
}

impl BatchStore for RocksDbStore {
    fn insert_all<'s>(&'s self, _: &mut Self::Client<'s>, entries: &[(u64, u64)]) -> Result<()> {
        let (mut batch, mut buffers) = (ffi::WriteBatch::new()?, Buffers::new(self.shape));
        for &(key, value) in entries {
            buffers.set_key(key);
            buffers.set_value(value);
            batch.put(&buffers.key, &buffers.value);
        }
        self.db.write(&batch)
    }
}

impl ByteClient for &RocksDbStore {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.db.put(key, value)
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<bool> {
        self.db.delete(key)?;
        Ok(true)
    }

    #[inline]
    fn get(&mut self, key: &[u8], into: &mut [u8]) -> Result<bool> {
        Ok(self.db.get(key, |value| copy(value, into))?.is_some())
    }

    #[inline]
    fn scan(&mut self, from: &[u8], count: usize, see: impl FnMut(&[u8], &[u8])) -> Result<()> {
        self.db.scan(from, count, see)
    }
}
