//! LMDB with keys and values of byte strings, set up as [`Lmdb`](super::Lmdb) is.

use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, RoTxn, WithTls};

use super::shape::{Buffers, Shape, number};
use super::{Footprint, Lmdb, Session, Store, lmdb};
use crate::{Error, Result};

type Map<'e> = Database<'e, Bytes, Bytes>;

/// A fresh LMDB environment: WRITE_MAP and NO_SYNC, one write transaction per write, a read
/// transaction that stays open until the thread's own next write.
pub struct LmdbBytes {
    env: Env<WithTls>,
    shape: Shape,
}

impl LmdbBytes {
    /// Creates an environment in the empty directory `dir` that can grow to `map_size` bytes.
    ///
    /// # Errors
    ///
    /// Whatever LMDB says.
    pub fn create(dir: &Path, map_size: u64, shape: Shape) -> Result<Self> {
        shape.check()?;
        Ok(Self { env: lmdb::environment(dir, map_size)?, shape })
    }
}

impl Store for LmdbBytes {
    type Session<'s> = LmdbBytesSession<'s>;

    const NAME: &'static str = Lmdb::NAME;

    fn session(&self) -> Result<LmdbBytesSession<'_>> {
        let made = self.env.create_databases_and_commit(self.env.write_txn()?, |opener, txn| {
            let map = opener.database_options().types::<Bytes, Bytes>().create(txn)?;
            Ok::<_, heed::Error>(CommitOrAbort::<Map<'_>, ()>::Commit(map))
        })?;
        let map = made.commit().ok_or(Error::Config("LMDB gave no database"))?;
        let buffers = Buffers::new(self.shape);
        Ok(LmdbBytesSession { env: &self.env, map, reading: None, buffers })
    }

    fn footprint(&self) -> Result<Footprint> {
        let session = self.session()?;
        let txn = self.env.read_txn()?;
        Ok(lmdb::footprint(&self.env, &session.map.stat(&txn)?))
    }

    fn settings(&self) -> String {
        "WRITE_MAP, NO_SYNC, read transactions kept open".into()
    }
}

/// One thread's work with LMDB.
pub struct LmdbBytesSession<'e> {
    env: &'e Env<WithTls>,
    map: Map<'e>,
    reading: Option<RoTxn<'e, WithTls>>,
    buffers: Buffers,
}

/// The open read transaction. A thread must see its own writes, so that each write closes it.
#[inline]
fn reading<'t, 'e>(
    env: &'e Env<WithTls>,
    open: &'t mut Option<RoTxn<'e, WithTls>>,
) -> Result<&'t RoTxn<'e, WithTls>> {
    if open.is_none() {
        *open = Some(env.read_txn()?);
    }
    open.as_ref().ok_or(Error::Config("LMDB gave no transaction"))
}

impl Session for LmdbBytesSession<'_> {
    #[inline]
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        self.buffers.set_key(key);
        self.buffers.set_value(value);
        self.reading = None;
        let mut txn = self.env.write_txn()?;
        self.map.put(&mut txn, &self.buffers.key, &self.buffers.value)?;
        Ok(txn.commit()?)
    }

    /// An upsert: LMDB has no update that spares the search, and the keys measured are present.
    #[inline]
    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        self.insert(key, value)?;
        Ok(true)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> Result<bool> {
        self.buffers.set_key(key);
        self.reading = None;
        let mut txn = self.env.write_txn()?;
        let found = self.map.delete(&mut txn, &self.buffers.key)?;
        txn.commit()?;
        Ok(found)
    }

    /// Copies the value out, all of it.
    #[inline]
    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        self.buffers.set_key(key);
        let txn = reading(self.env, &mut self.reading)?;
        let Some(value) = self.map.get(txn, &self.buffers.key)? else { return Ok(None) };
        let length = value.len().min(self.buffers.read.len());
        self.buffers.read[..length].copy_from_slice(&value[..length]);
        Ok(Some(number(&self.buffers.read)))
    }

    #[inline]
    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
        self.buffers.set_key(from);
        let txn = reading(self.env, &mut self.reading)?;
        let range = (Bound::Included(&self.buffers.key[..]), Bound::Unbounded);
        let (mut seen, mut sum) = (0, 0);
        for entry in self.map.range(txn, &range)?.take(count) {
            let (key, value) = entry?;
            seen += 1;
            sum ^= number(key) ^ number(value);
        }
        Ok((seen, sum))
    }

    #[inline]
    fn get_many(&mut self, keys: &[u64]) -> Result<usize> {
        let mut found = 0;
        for &key in keys {
            found += usize::from(self.get(key)?.is_some());
        }
        Ok(found)
    }
}
