//! Numbers in redb, with its own `u64` keys and values, as a [`Store`].

use std::path::Path;

use super::database::{Database, SETTINGS, Transactions, refused};
use crate::Result;
use crate::store::contract::{BatchStore, Client, Footprint, Store};
use crate::store::options::Survives;

/// A database with a table of numbers.
pub struct RedbWords {
    database: Database<u64, u64>,
}

impl RedbWords {
    /// Opens the database in the directory `dir`, which may be empty.
    pub fn open(dir: &Path, survives: Survives) -> Result<Self> {
        Ok(Self { database: Database::open(dir, survives)? })
    }
}

impl Store for RedbWords {
    type Client<'s> = Transactions<'s, u64, u64>;

    fn name(&self) -> &'static str {
        "redb"
    }

    fn client(&self) -> Result<Self::Client<'_>> {
        Ok(Transactions::new(&self.database))
    }

    fn footprint(&self) -> Result<Footprint> {
        self.database.footprint()
    }

    fn settings(&self) -> String {
        SETTINGS.into()
    }
}

impl BatchStore for RedbWords {
    fn insert_all<'s>(
        &'s self,
        client: &mut Self::Client<'s>,
        entries: &[(u64, u64)],
    ) -> Result<()> {
        client.write(|table| {
            entries
                .iter()
                .try_for_each(|(key, value)| table.insert(key, value).map(drop).map_err(refused))
        })
    }
}

impl Client for Transactions<'_, u64, u64> {
    #[inline]
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        self.write(|table| table.insert(key, value).map(drop).map_err(refused))
    }

    /// An upsert: redb has no update that spares the search, and the keys measured are present.
    #[inline]
    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        self.insert(key, value)?;
        Ok(true)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> Result<bool> {
        self.write(|table| Ok(table.remove(key).map_err(refused)?.is_some()))
    }

    #[inline]
    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        let found = self.reading()?.get(key).map_err(refused)?;
        Ok(found.map(|value| value.value()))
    }

    fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>> {
        let entry = self.reading()?.range(from..).map_err(refused)?.next();
        let entry = entry.transpose().map_err(refused)?;
        Ok(entry.map(|(key, value)| (key.value(), value.value())))
    }

    #[inline]
    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
        let (mut seen, mut sum) = (0, 0);
        for entry in self.reading()?.range(from..).map_err(refused)?.take(count) {
            let (key, value) = entry.map_err(refused)?;
            seen += 1;
            sum ^= key.value() ^ value.value();
        }
        Ok((seen, sum))
    }
}
