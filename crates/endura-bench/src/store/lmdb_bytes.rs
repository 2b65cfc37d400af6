//! LMDB with keys and values of byte strings, set up as [`Lmdb`](super::Lmdb) is.

use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, RoTxn, WithTls};

use super::bytes::{ByteSession, Numbers, copy};
use super::snapshot::{Commits, Kept};
use super::{Footprint, Lmdb, Shape, Store, lmdb};
use crate::{Error, Result};

type Map<'e> = Database<'e, Bytes, Bytes>;

/// An LMDB environment: WRITE_MAP and NO_SYNC, one write transaction per write, a read transaction
/// that stays open until the next commit of any thread.
pub struct LmdbBytes {
    env: Env<WithTls>,
    commits: Commits,
    shape: Shape,
}

impl LmdbBytes {
    /// Opens the environment in the directory `dir`, which may be empty, to grow up to `map_size`
    /// bytes.
    ///
    /// # Errors
    ///
    /// Whatever LMDB says.
    pub fn open(dir: &Path, map_size: u64, shape: Shape) -> Result<Self> {
        shape.check()?;
        Ok(Self { env: lmdb::environment(dir, map_size)?, commits: Commits::default(), shape })
    }
}

impl Store for LmdbBytes {
    type Session<'s> = Numbers<LmdbBytesSession<'s>>;

    fn name(&self) -> &'static str {
        Lmdb::NAME
    }

    fn session(&self) -> Result<Self::Session<'_>> {
        let made = self.env.create_databases_and_commit(self.env.write_txn()?, |opener, txn| {
            let map = opener.database_options().types::<Bytes, Bytes>().create(txn)?;
            Ok::<_, heed::Error>(CommitOrAbort::<Map<'_>, ()>::Commit(map))
        })?;
        let map = made.commit().ok_or(Error::Config("LMDB gave no database"))?;
        Ok(Numbers::new(
            LmdbBytesSession { env: &self.env, commits: &self.commits, map, reading: None },
            self.shape,
        ))
    }

    fn footprint(&self) -> Result<Footprint> {
        let session = self.session()?;
        let txn = self.env.read_txn()?;
        Ok(lmdb::footprint(&self.env, &session.session.map.stat(&txn)?))
    }

    fn settings(&self) -> String {
        "WRITE_MAP, NO_SYNC, read transactions kept open until a commit".into()
    }
}

/// One thread's work with LMDB.
pub struct LmdbBytesSession<'e> {
    env: &'e Env<WithTls>,
    commits: &'e Commits,
    map: Map<'e>,
    reading: Option<Kept<RoTxn<'e, WithTls>>>,
}

impl<'e> LmdbBytesSession<'e> {
    /// A read transaction as of the last commit.
    #[inline]
    fn reading(&mut self) -> Result<&RoTxn<'e, WithTls>> {
        let commits = self.commits.count();
        if self.reading.as_ref().is_none_or(|kept| kept.commits != commits) {
            // A thread has one at a time.
            self.reading = None;
            self.reading = Some(Kept { commits, snapshot: self.env.read_txn()? });
        }
        let kept = self.reading.as_ref().ok_or(Error::Config("LMDB gave no transaction"))?;
        Ok(&kept.snapshot)
    }
}

impl ByteSession for LmdbBytesSession<'_> {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.reading = None;
        let mut txn = self.env.write_txn()?;
        self.map.put(&mut txn, key, value)?;
        txn.commit()?;
        self.commits.add();
        Ok(())
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<bool> {
        self.reading = None;
        let mut txn = self.env.write_txn()?;
        let found = self.map.delete(&mut txn, key)?;
        txn.commit()?;
        self.commits.add();
        Ok(found)
    }

    #[inline]
    fn get(&mut self, key: &[u8], into: &mut [u8]) -> Result<bool> {
        let map = self.map;
        let value = map.get(self.reading()?, key)?;
        Ok(value.map(|value| copy(value, into)).is_some())
    }

    #[inline]
    fn scan(
        &mut self,
        from: &[u8],
        count: usize,
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let (map, range) = (self.map, (Bound::Included(from), Bound::Unbounded));
        for entry in map.range(self.reading()?, &range)?.take(count) {
            let (key, value) = entry?;
            each(key, value);
        }
        Ok(())
    }
}
