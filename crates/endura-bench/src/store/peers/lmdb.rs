//! LMDB as a [`Store`], set up for its best speed under the same promise: what returned survives
//! `kill -9`, and a power loss if that is asked for.

use std::path::Path;

use heed::byteorder::NativeEndian;
use heed::types::U64;
use heed::{
    CommitOrAbort, Database, DatabaseStat, Env, EnvFlags, EnvOpenOptions, IntegerComparator, RoTxn,
    RwTxn, WithTls,
};

use super::snapshot::{Commits, Kept};
use crate::store::contract::{BatchStore, Client, Footprint, Store};
use crate::store::options::Survives;
use crate::{Error, Result};

type Word = U64<NativeEndian>;
type Map<'e> = Database<'e, Word, Word, IntegerComparator>;

/// An LMDB environment: WRITE_MAP and NO_SYNC, integer keys, one write transaction per write,
/// a read transaction that stays open until the next commit of any thread.
pub struct Lmdb {
    env: Env<WithTls>,
    commits: Commits,
}

impl Lmdb {
    /// The name in tables.
    pub const NAME: &'static str = "LMDB";

    /// Opens the environment in the directory `dir`, which may be empty, to grow up to `map_size`
    /// bytes.
    pub fn open(dir: &Path, map_size: u64, survives: Survives) -> Result<Self> {
        Ok(Self { env: environment(dir, map_size, survives)?, commits: Commits::default() })
    }
}

pub(super) fn environment(dir: &Path, map_size: u64, survives: Survives) -> Result<Env<WithTls>> {
    let map_size = usize::try_from(map_size).map_err(|_| Error::Config("too many keys"))?;
    let mut options = EnvOpenOptions::new();
    options.map_size(map_size).max_readers(256);
    let flags = match survives {
        Survives::Kill => EnvFlags::WRITE_MAP | EnvFlags::NO_SYNC,
        Survives::PowerLoss => EnvFlags::WRITE_MAP,
        Survives::PowerLossASecondLater => {
            return Err(Error::Config(
                "LMDB, without a sync in each commit, may be torn by a power loss",
            ));
        }
    };
    Ok(open(&options, flags, dir)?)
}

pub(super) fn footprint(env: &Env<WithTls>, stat: &DatabaseStat) -> Footprint {
    let pages = stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
    Footprint {
        used_bytes: pages as u64 * u64::from(stat.page_size),
        // The file is as long as the map; what it may hold beyond its last page are holes.
        file_bytes: (env.info().last_page_number as u64 + 1) * u64::from(stat.page_size),
    }
}

/// Unsafe, for LMDB maps a file.
#[expect(unsafe_code, reason = "heed's constructor is unsafe")]
fn open(
    options: &EnvOpenOptions<WithTls>,
    flags: EnvFlags,
    dir: &Path,
) -> heed::Result<Env<WithTls>> {
    let mut options = options.clone();
    // SAFETY: `dir` is a temporary directory that this benchmark, or its parent, has made and that no
    // other program knows, so that nobody changes the mapped file behind LMDB's back; it is on a local
    // file system. The two flags weaken what survives a power loss, not memory safety: with WRITE_MAP
    // a stray write of this process could damage the file, and a benchmark's file is all it could be.
    unsafe {
        options.flags(flags);
        options.open(dir)
    }
}

impl Store for Lmdb {
    type Client<'s> = LmdbClient<'s>;

    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn client(&self) -> Result<LmdbClient<'_>> {
        let made = self.env.create_databases_and_commit(self.env.write_txn()?, |opener, txn| {
            let map = opener
                .database_options()
                .types::<Word, Word>()
                .key_comparator::<IntegerComparator>()
                .create(txn)?;
            Ok::<_, heed::Error>(CommitOrAbort::<Map<'_>, ()>::Commit(map))
        })?;
        let map = made.commit().ok_or(Error::Config("LMDB gave no database"))?;
        Ok(LmdbClient { transactions: Transactions::new(&self.env, &self.commits), map })
    }

    fn footprint(&self) -> Result<Footprint> {
        let client = self.client()?;
        let txn = self.env.read_txn()?;
        Ok(footprint(&self.env, &client.map.stat(&txn)?))
    }

    fn settings(&self) -> String {
        "WRITE_MAP, NO_SYNC unless a power loss is to be survived, integer keys, read transactions kept open until a commit".into()
    }
}

impl BatchStore for Lmdb {
    fn insert_all<'s>(&'s self, client: &mut LmdbClient<'s>, entries: &[(u64, u64)]) -> Result<()> {
        let map = client.map;
        client
            .transactions
            .write(|txn| entries.iter().try_for_each(|(key, value)| map.put(txn, key, value)))
    }
}

/// One thread's transactions: one for each write, and one for reads that stays open until the next commit of
/// any thread.
pub(super) struct Transactions<'e> {
    env: &'e Env<WithTls>,
    commits: &'e Commits,
    reading: Option<Kept<RoTxn<'e, WithTls>>>,
}

impl<'e> Transactions<'e> {
    pub(super) fn new(env: &'e Env<WithTls>, commits: &'e Commits) -> Self {
        Self { env, commits, reading: None }
    }

    /// A read transaction as of the last commit.
    #[inline]
    pub(super) fn reading(&mut self) -> Result<&RoTxn<'e, WithTls>> {
        let commits = self.commits.count();
        if self.reading.as_ref().is_none_or(|kept| kept.commits != commits) {
            // A thread has one at a time.
            self.reading = None;
            self.reading = Some(Kept { commits, snapshot: self.env.read_txn()? });
        }
        let kept = self.reading.as_ref().ok_or(Error::Config("LMDB gave no transaction"))?;
        Ok(&kept.snapshot)
    }

    /// Commits what `change` does in a transaction of its own.
    #[inline]
    pub(super) fn write<T>(
        &mut self,
        change: impl FnOnce(&mut RwTxn<'e>) -> heed::Result<T>,
    ) -> Result<T> {
        self.reading = None;
        let mut txn = self.env.write_txn()?;
        let answer = change(&mut txn)?;
        txn.commit()?;
        self.commits.add();
        Ok(answer)
    }
}

/// One thread's work with LMDB.
pub struct LmdbClient<'e> {
    transactions: Transactions<'e>,
    map: Map<'e>,
}

impl Client for LmdbClient<'_> {
    #[inline]
    fn insert(&mut self, key: u64, value: u64) -> Result<()> {
        let map = self.map;
        self.transactions.write(|txn| map.put(txn, &key, &value))
    }

    /// An upsert: LMDB has no update that spares the search, and the keys measured are present.
    #[inline]
    fn update(&mut self, key: u64, value: u64) -> Result<bool> {
        self.insert(key, value)?;
        Ok(true)
    }

    #[inline]
    fn remove(&mut self, key: u64) -> Result<bool> {
        let map = self.map;
        self.transactions.write(|txn| map.delete(txn, &key))
    }

    #[inline]
    fn get(&mut self, key: u64) -> Result<Option<u64>> {
        let map = self.map;
        Ok(map.get(self.transactions.reading()?, &key)?)
    }

    fn first(&mut self, from: u64) -> Result<Option<(u64, u64)>> {
        let map = self.map;
        Ok(map.range(self.transactions.reading()?, &(from..))?.next().transpose()?)
    }

    #[inline]
    fn scan(&mut self, from: u64, count: usize) -> Result<(usize, u64)> {
        let map = self.map;
        let (mut seen, mut sum) = (0, 0);
        for entry in map.range(self.transactions.reading()?, &(from..))?.take(count) {
            let (key, value) = entry?;
            seen += 1;
            sum ^= key ^ value;
        }
        Ok((seen, sum))
    }
}
