//! LMDB with keys and values of byte strings, set up as [`Lmdb`](super::Lmdb) is.

use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, WithTls};

use super::lmdb::{self, Lmdb, Transactions};
use super::snapshot::Commits;
use crate::store::bytes::{ByteClient, Numbers, OrderedBytes, copy};
use crate::store::contract::{Footprint, Store};
use crate::store::options::Survives;
use crate::store::shape::Shape;
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
    pub fn open(dir: &Path, map_size: u64, shape: Shape) -> Result<Self> {
        shape.check()?;
        Ok(Self {
            env: lmdb::environment(dir, map_size, Survives::Kill)?,
            commits: Commits::default(),
            shape,
        })
    }
}

impl Store for LmdbBytes {
    type Client<'s> = Numbers<LmdbBytesClient<'s>>;

    fn name(&self) -> &'static str {
        Lmdb::NAME
    }

    fn client(&self) -> Result<Self::Client<'_>> {
        let made = self.env.create_databases_and_commit(self.env.write_txn()?, |opener, txn| {
            let map = opener.database_options().types::<Bytes, Bytes>().create(txn)?;
            Ok::<_, heed::Error>(CommitOrAbort::<Map<'_>, ()>::Commit(map))
        })?;
        let map = made.commit().ok_or(Error::Config("LMDB gave no database"))?;
        let transactions = Transactions::new(&self.env, &self.commits);
        Ok(Numbers::new(LmdbBytesClient { transactions, map }, self.shape))
    }

    fn footprint(&self) -> Result<Footprint> {
        let client = self.client()?;
        let txn = self.env.read_txn()?;
        Ok(lmdb::footprint(&self.env, &client.client.map.stat(&txn)?))
    }

    fn settings(&self) -> String {
        "WRITE_MAP, NO_SYNC, read transactions kept open until a commit".into()
    }
}

/// One thread's work with LMDB.
pub struct LmdbBytesClient<'e> {
    transactions: Transactions<'e>,
    map: Map<'e>,
}

impl ByteClient for LmdbBytesClient<'_> {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let map = self.map;
        self.transactions.write(|txn| map.put(txn, key, value))
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<bool> {
        let map = self.map;
        self.transactions.write(|txn| map.delete(txn, key))
    }

    #[inline]
    fn get(&mut self, key: &[u8], into: &mut [u8]) -> Result<bool> {
        let map = self.map;
        let value = map.get(self.transactions.reading()?, key)?;
        Ok(value.map(|value| copy(value, into)).is_some())
    }

    #[inline]
    fn scan(&mut self, from: &[u8], count: usize, mut see: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let (map, range) = (self.map, (Bound::Included(from), Bound::Unbounded));
        for entry in map.range(self.transactions.reading()?, &range)?.take(count) {
            let (key, value) = entry?;
            see(key, value);
        }
        Ok(())
    }
}

impl OrderedBytes for LmdbBytesClient<'_> {
    #[inline]
    fn scan_down(
        &mut self,
        from: &[u8],
        count: usize,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let (map, range) = (self.map, (Bound::Unbounded, Bound::Included(from)));
        for entry in map.rev_range(self.transactions.reading()?, &range)?.take(count) {
            let (key, value) = entry?;
            see(key, value);
        }
        Ok(())
    }

    #[inline]
    fn scan_prefix(
        &mut self,
        prefix: &[u8],
        count: usize,
        mut see: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let map = self.map;
        for entry in map.prefix_iter(self.transactions.reading()?, prefix)?.take(count) {
            let (key, value) = entry?;
            see(key, value);
        }
        Ok(())
    }
}
