//! fjall, a log-structured merge tree, as a [`Store`]: its journal is handed to the operating system
//! with each write and not synced, so that what returned survives the process.

use std::path::Path;

use fjall::config::{BloomConstructionPolicy, FilterPolicy, FilterPolicyEntry};
use fjall::{Database, Keyspace, KeyspaceCreateOptions};

use super::cache::CACHE;
use super::files::size_of_files;
use crate::store::bytes::{ByteClient, Numbers, copy};
use crate::store::contract::{BatchStore, Footprint, Store};
use crate::store::shape::{Buffers, Shape};
use crate::{Error, Result};

/// A database with one keyspace.
pub struct FjallStore {
    /// Its background threads work as long as it is here.
    database: Database,
    keyspace: Keyspace,
    dir: std::path::PathBuf,
    shape: Shape,
}

fn refused(error: impl std::fmt::Display) -> Error {
    Error::Peer { store: "fjall", what: error.to_string() }
}

impl FjallStore {
    /// Opens the database in the directory `dir`, which may be empty.
    pub fn open(dir: &Path, shape: Shape) -> Result<Self> {
        shape.check()?;
        let database = Database::builder(dir).cache_size(CACHE as u64).open().map_err(refused)?;
        // On all levels, as RocksDB has them. (Its default has more bits on the first one.)
        let bloom = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0));
        let options = || KeyspaceCreateOptions::default().filter_policy(FilterPolicy::all(bloom));
        let keyspace = database.keyspace("bench", options).map_err(refused)?;
        Ok(Self { database, keyspace, dir: dir.into(), shape })
    }
}

impl Store for FjallStore {
    type Client<'s> = Numbers<&'s Keyspace>;

    fn name(&self) -> &'static str {
        "fjall"
    }

    fn client(&self) -> Result<Self::Client<'_>> {
        Ok(Numbers::new(&self.keyspace, self.shape))
    }

    /// Of its files; what it keeps in DRAM does not count.
    fn footprint(&self) -> Result<Footprint> {
        size_of_files(&self.dir)
    }

    fn settings(&self) -> String {
        "journal written with each operation and not synced, Bloom filters of 10 bits, cache of 1 GiB, \
         no compression, else defaults; removes do not look"
            .into()
    }
}

impl BatchStore for FjallStore {
    fn insert_all<'s>(&'s self, _: &mut Self::Client<'s>, entries: &[(u64, u64)]) -> Result<()> {
        let (mut batch, mut buffers) = (self.database.batch(), Buffers::new(self.shape));
        for &(key, value) in entries {
            buffers.set_key(key);
            buffers.set_value(value);
            batch.insert(&self.keyspace, &buffers.key[..], &buffers.value[..]);
        }
        batch.commit().map_err(refused)
    }
}

impl ByteClient for &Keyspace {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.insert(key, value).map_err(refused)
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<bool> {
        Keyspace::remove(self, key).map_err(refused)?;
        Ok(true)
    }

    #[inline]
    fn get(&mut self, key: &[u8], into: &mut [u8]) -> Result<bool> {
        let found = Keyspace::get(self, key).map_err(refused)?;
        Ok(found.map(|value| copy(&value, into)).is_some())
    }

    #[inline]
    fn scan(&mut self, from: &[u8], count: usize, mut see: impl FnMut(&[u8], &[u8])) -> Result<()> {
        for entry in self.range(from..).take(count) {
            let (key, value) = entry.into_inner().map_err(refused)?;
            see(&key, &value);
        }
        Ok(())
    }
}
