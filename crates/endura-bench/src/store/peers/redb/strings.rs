//! Byte strings in redb, as a [`Store`].

use std::path::Path;

use super::database::{Database, SETTINGS, Transactions, refused};
use crate::Result;
use crate::store::bytes::{ByteClient, Numbers, copy};
use crate::store::contract::{Footprint, Store};
use crate::store::options::Survives;
use crate::store::shape::Shape;

type Bytes = &'static [u8];

/// A database with a table of byte strings.
pub struct RedbStrings {
    database: Database<Bytes, Bytes>,
    shape: Shape,
}

impl RedbStrings {
    /// Opens the database in the directory `dir`, which may be empty.
    pub fn open(dir: &Path, shape: Shape) -> Result<Self> {
        shape.check()?;
        Ok(Self { database: Database::open(dir, Survives::Kill)?, shape })
    }
}

impl Store for RedbStrings {
    type Client<'s> = Numbers<Transactions<'s, Bytes, Bytes>>;

    fn name(&self) -> &'static str {
        "redb"
    }

    fn client(&self) -> Result<Self::Client<'_>> {
        Ok(Numbers::new(Transactions::new(&self.database), self.shape))
    }

    fn footprint(&self) -> Result<Footprint> {
        self.database.footprint()
    }

    fn settings(&self) -> String {
        SETTINGS.into()
    }
}

impl ByteClient for Transactions<'_, Bytes, Bytes> {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(|table| table.insert(key, value).map(drop).map_err(refused))
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<bool> {
        self.write(|table| Ok(table.remove(key).map_err(refused)?.is_some()))
    }

    #[inline]
    fn get(&mut self, key: &[u8], into: &mut [u8]) -> Result<bool> {
        let found = self.reading()?.get(key).map_err(refused)?;
        Ok(found.map(|value| copy(value.value(), into)).is_some())
    }

    #[inline]
    fn scan(&mut self, from: &[u8], count: usize, mut see: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let entries = self.reading()?.range::<&[u8]>(from..).map_err(refused)?;
        for entry in entries.take(count) {
            let (key, value) = entry.map_err(refused)?;
            see(key.value(), value.value());
        }
        Ok(())
    }
}
