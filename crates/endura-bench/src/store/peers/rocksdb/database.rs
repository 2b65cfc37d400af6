//! RocksDB, the log-structured merge tree that most people know, as a [`Store`]: its log is written
//! with each operation and not synced, so that what returned survives the process. The library is the
//! system's (`librocksdb-dev` on Debian and Ubuntu).

use std::path::Path;

use super::ffi;
use crate::Result;
use crate::store::bytes::{ByteClient, Numbers, copy};
use crate::store::contract::{Footprint, Store};
use crate::store::peers::files::size_of_files;
use crate::store::shape::Shape;

/// A database.
pub struct RocksDbStore {
    db: ffi::Db,
    dir: std::path::PathBuf,
    shape: Shape,
}

impl RocksDbStore {
    /// Opens the database in the directory `dir`, which may be empty.
    pub fn open(dir: &Path, shape: Shape) -> Result<Self> {
        shape.check()?;
        Ok(Self { db: ffi::Db::open(dir)?, dir: dir.into(), shape })
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
        "log written with each operation and not synced, Bloom filters of 10 bits, cache of 1 GiB, no \
         compression, a background thread per processor, else defaults; removes do not look"
            .into()
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
    fn scan(&mut self, from: &[u8], count: usize, each: impl FnMut(&[u8], &[u8])) -> Result<()> {
        self.db.scan(from, count, each)
    }
}
