//! [`Transaction`]: reads that are checked, and changes that are made at once.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

use endura_engine::index::Tree;
use endura_engine::index::commit::{Act, same_bytes};
use endura_engine::session::{Handle, Open};

use super::batch::{with_key, with_value};
use super::parts::{Encoded, Parts};
use crate::encoding::value::{Key, Value};
use crate::map::convert::{decode, from_word};
use crate::map::{Map, shared};
use crate::pool::Pool;
use crate::{Error, Result};

/// How often reads are compared with the maps because batches change these meanwhile, until the run is given up.
const COMPARES: u32 = 64;

/// A copy of a key or a value, as its map stores it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Stored {
    Word(u64),
    Bytes(Vec<u8>),
}

impl Stored {
    fn of(encoded: Encoded<'_>) -> Self {
        match encoded {
            Encoded::Word(word) => Self::Word(word),
            Encoded::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
        }
    }

    fn lent(&self) -> Encoded<'_> {
        match self {
            Self::Word(word) => Encoded::Word(*word),
            Self::Bytes(bytes) => Encoded::Bytes(bytes),
        }
    }
}

/// What a run knows of a key.
#[derive(Default)]
struct Known {
    /// The value that it has read first, if it has read the key.
    read: Option<Option<Stored>>,
    /// The value that the key gets, if the run changes it.
    written: Option<Option<Stored>>,
}

/// One run of the closure of [`Pool::transact`](crate::Pool::transact).
///
/// It reads single keys: it has no ranges, and no first or last entry. A read returns what the run has written itself, or else
/// what is in the map; a further read of the same key returns the same value. Values of several keys are from one moment,
/// as far as other batches and transactions change them. Changes are in the maps after the commit, and not before.
///
/// A read takes the time of [`Map::get`]. If a commit has begun in one of the maps since the read before, it also looks at
/// all values again that the run has read. All that it reads and writes is kept in memory until its end, up to the
/// limits of a [`Batch`](crate::Batch).
pub struct Transaction<'p> {
    pool: Arc<Open>,
    /// A run ends with its closure.
    run: PhantomData<&'p ()>,
    /// What is known of each key, by the address of its map.
    keys: HashMap<(usize, Stored), (Arc<Handle>, Known)>,
    /// The maps that were read, each with the number of commits that had begun.
    maps: Vec<(Arc<Handle>, u64)>,
    runs: u32,
    /// Whether another thread has changed what was read.
    is_lost: bool,
}

impl std::fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").field("pool", &self.pool.path()).finish_non_exhaustive()
    }
}

fn read(map: &Handle, key: &Stored) -> Result<Option<Stored>> {
    match (&map.tree, key) {
        (Tree::Words(tree), Stored::Word(key)) => Ok(tree.get(*key)?.map(Stored::Word)),
        (Tree::Bytes(tree), Stored::Bytes(key)) => {
            let mut found = None;
            tree.read(key, &mut |value| found = Some(Stored::Bytes(value.to_vec())))?;
            Ok(found)
        }
        _ => unreachable!("encoded as its map stores it"),
    }
}

impl Transaction<'_> {
    /// Begins run number `runs`.
    pub(super) fn begin(pool: &Pool, runs: u32) -> Self {
        Self {
            pool: Arc::clone(pool.session()),
            run: PhantomData,
            keys: HashMap::new(),
            maps: Vec::new(),
            runs,
            is_lost: false,
        }
    }

    /// Whether the run is in vain.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// What is known of a key.
    fn known(&mut self, map: &Arc<Handle>, key: Encoded<'_>) -> Result<&mut Known> {
        if !map.is_of(&self.pool) {
            return Err(Error::OtherPool);
        }
        let id = (map.tree.map_address(), Stored::of(key));
        let (_, known) = self.keys.entry(id).or_insert_with(|| (Arc::clone(map), Known::default()));
        Ok(known)
    }

    /// The value of a key, for this run.
    pub(crate) fn look(&mut self, map: &Arc<Handle>, key: Encoded<'_>) -> Result<Option<Stored>> {
        let known = self.known(map, key)?;
        if let Some(value) = known.written.as_ref().or(known.read.as_ref()) {
            return Ok(value.clone());
        }
        if self.maps.iter().all(|(other, _)| other.tree.map_address() != map.tree.map_address()) {
            self.maps.push((Arc::clone(map), map.tree.quiet_commits()?));
        }
        let found = read(map, &Stored::of(key))?;
        self.known(map, key)?.read = Some(found.clone());
        self.compare_if_changed()?;
        Ok(found)
    }

    /// Notes the value that a key gets; `None` removes it.
    pub(crate) fn note(
        &mut self,
        map: &Arc<Handle>,
        key: Encoded<'_>,
        value: Option<Encoded<'_>>,
    ) -> Result<()> {
        self.known(map, key)?.written = Some(value.map(Stored::of));
        Ok(())
    }

    /// If another commit has begun in a map that was read: compares all reads with the maps. So a run does not see a part of
    /// a batch.
    fn compare_if_changed(&mut self) -> Result<()> {
        for _ in 0..COMPARES {
            let is_quiet = |(map, begun): &(Arc<Handle>, u64)| map.tree.commits_begun() == *begun;
            if self.maps.iter().all(is_quiet) {
                return Ok(());
            }
            for (map, begun) in &mut self.maps {
                *begun = map.tree.quiet_commits()?;
            }
            for ((_, key), (map, known)) in &self.keys {
                if let Some(seen) = &known.read
                    && read(map, key)? != *seen
                {
                    return self.lose();
                }
            }
        }
        self.lose()
    }

    #[cold]
    fn lose(&mut self) -> Result<()> {
        self.is_lost = true;
        Err(Error::Contended { runs: self.runs })
    }

    /// Makes all changes at once, if each value that was read is still there. Returns whether that was so.
    pub(super) fn finish(self) -> Result<bool> {
        let mut parts = Parts::default();
        for ((_, key), (map, known)) in &self.keys {
            if let Some(seen) = &known.read {
                let expected = Act::Expect(seen.as_ref().map(Stored::lent));
                parts.add(&self.pool, map, key.lent(), expected, same_bytes)?;
            }
            match &known.written {
                Some(Some(value)) => {
                    parts.add(&self.pool, map, key.lent(), Act::Put(value.lent()), same_bytes)?;
                }
                Some(None) => parts.add(&self.pool, map, key.lent(), Act::Delete, same_bytes)?,
                None => {}
            }
        }
        match parts.commit(&self.pool) {
            Ok(()) => Ok(true),
            Err(Error::Unmet { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The value of `key`.
    ///
    /// # Errors
    ///
    /// [`Error::Contended`] if other threads have changed what this run has read: the closure passes it on, by `?`, and runs
    /// again, whatever it returns. [`Error::OtherPool`]; and those that [`Map`] names for methods that read.
    pub fn get<K: Key + ?Sized, V: Value + ?Sized>(
        &mut self,
        map: &Map<K, V>,
        key: K::Ref<'_>,
    ) -> Result<Option<V::Owned>> {
        let found = with_key(map, key, |key| self.look(shared(map), key))?;
        found
            .map(|found| match found {
                Stored::Word(word) => from_word::<V>(word),
                Stored::Bytes(bytes) => decode::<V>(&bytes),
            })
            .transpose()
    }

    /// Whether `key` is in the map.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    pub fn contains_key<K: Key + ?Sized, V: Value + ?Sized>(
        &mut self,
        map: &Map<K, V>,
        key: K::Ref<'_>,
    ) -> Result<bool> {
        with_key(map, key, |key| self.look(shared(map), key)).map(|found| found.is_some())
    }

    /// Gives `key` this value, at the commit.
    ///
    /// # Errors
    ///
    /// [`Error::OtherPool`], [`Error::Encode`].
    pub fn put<K: Key + ?Sized, V: Value + ?Sized>(
        &mut self,
        map: &Map<K, V>,
        key: K::Ref<'_>,
        value: V::Ref<'_>,
    ) -> Result<()> {
        with_value(map, value, |value| {
            with_key(map, key, |key| self.note(shared(map), key, Some(value)))
        })
    }

    /// Removes `key`, at the commit.
    ///
    /// # Errors
    ///
    /// As for [`put`](Self::put).
    pub fn delete<K: Key + ?Sized, V: Value + ?Sized>(
        &mut self,
        map: &Map<K, V>,
        key: K::Ref<'_>,
    ) -> Result<()> {
        with_key(map, key, |key| self.note(shared(map), key, None))
    }
}
