//! [`Batch`]: changes that are made at once.

use std::fmt;
use std::sync::Arc;

use endura_engine::index::commit::{self, Act, IsSame, same_bytes};
use endura_engine::session::{Handle, Open};
use endura_engine::tree::Bytes;

use super::parts::{Encoded, Parts};
use crate::Result;
use crate::encoding::value::{Key, Value};
use crate::map::convert::encoded;
use crate::map::{Map, shared};

/// Changes of any maps of a pool that are made at once: [`Pool::batch`](crate::Pool::batch) begins it, and
/// [`commit`](Self::commit) makes them.
///
/// A committed batch is one operation. After a crash all of it is there or nothing; the same holds for a checkpoint and a backup
/// that were made meanwhile. No `get`, `first`, `pop` or write of another thread comes between its changes. A batch that
/// fails has changed nothing.
///
/// * Of several changes of one key, the last counts.
/// * Until the commit a batch is a list in memory, and other threads do not notice it. It may be sent to another thread.
///   Like a handle of a map it keeps the pool open.
/// * Other threads' writes to keys of the batch wait for its commit; writes to other keys do not. Reads of a key never wait, and
///   see all of the batch or nothing of it. So do `first` and `last`, which wait while a batch that changes their map is
///   being committed. An exception are ranges: one that runs beside a commit may return some entries from before it, and
///   some from behind it. [`Pool::read`](crate::Pool::read) reads all from before or all from behind.
/// * Batches are committed at the same time, unless they have a key in common. One of more than 4,096 keys has its maps for itself
///   meanwhile, and so does a pop.
/// * A batch has at most [`MOST_PARTS`](Self::MOST_PARTS) parts, and [`MOST_BYTES`](Self::MOST_BYTES) of keys and values.
///
/// # Example
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
/// let people = pool.map::<u64, str>("people")?;
/// let by_name = pool.map::<(String, u64), ()>("people by name")?;
/// people.insert(7, "Eve")?;
/// by_name.insert(("Eve", 7), ())?;
///
/// let mut batch = pool.batch();
/// batch.put(&people, 7, "Ada")?;
/// batch.put(&by_name, ("Ada", 7), ())?;
/// batch.delete(&by_name, ("Eve", 7))?;
/// batch.commit()?;
/// assert_eq!(people.get(7)?.as_deref(), Some("Ada"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a batch does nothing before it is committed"]
pub struct Batch {
    pool: Arc<Open>,
    parts: Parts,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("pool", &self.pool.path()).field("len", &self.len()).finish()
    }
}

/// Whether a value in the pool is this one, although it may be encoded in another way.
fn is_same<V: Value + ?Sized>(found: Bytes<'_>, expected: &[u8]) -> bool {
    same_bytes(found, expected) || V::is_another_encoding_of(found, expected)
}

/// Passes a key to `with`, as its map stores it.
pub(super) fn with_key<K: Key + ?Sized, V: Value + ?Sized, R>(
    map: &Map<K, V>,
    key: K::Ref<'_>,
    with: impl FnOnce(Encoded<'_>) -> Result<R>,
) -> Result<R> {
    match map.words() {
        Some(_) => with(Encoded::Word(K::to_word(key))),
        None => encoded::<K, _>(key, |key| with(Encoded::Bytes(key))),
    }
}

/// Passes a value to `with`, as its map stores it.
pub(super) fn with_value<K: Key + ?Sized, V: Value + ?Sized, R>(
    map: &Map<K, V>,
    value: V::Ref<'_>,
    with: impl FnOnce(Encoded<'_>) -> Result<R>,
) -> Result<R> {
    match map.words() {
        Some(_) => with(Encoded::Word(V::to_word(value))),
        None => encoded::<V, _>(value, |value| with(Encoded::Bytes(value))),
    }
}

impl Batch {
    /// The most parts of a batch that can be committed: 1,048,576.
    pub const MOST_PARTS: usize = commit::MOST_PARTS;
    /// The most bytes of all its keys and values: 2^30. A number in a map of numbers has eight.
    pub const MOST_BYTES: u64 = commit::MOST_BYTES;

    pub(super) fn of(pool: &Arc<Open>) -> Self {
        Self { pool: Arc::clone(pool), parts: Parts::default() }
    }

    /// Adds a part, of which key and value are encoded.
    pub(crate) fn add(
        &mut self,
        map: &Arc<Handle>,
        key: Encoded<'_>,
        act: Act<Encoded<'_>>,
        is_same: IsSame,
    ) -> Result<&mut Self> {
        self.parts.add(&self.pool, map, key, act, is_same)?;
        Ok(self)
    }

    /// Adds: `key` gets this value.
    ///
    /// # Errors
    ///
    /// [`Error::OtherPool`](crate::Error::OtherPool) if the map belongs to another pool;
    /// [`Error::KeyTooLong`](crate::Error::KeyTooLong), [`Error::ValueTooLong`](crate::Error::ValueTooLong),
    /// [`Error::Encode`](crate::Error::Encode). Nothing is added then.
    pub fn put<K: Key + ?Sized, V: Value + ?Sized>(
        &mut self,
        map: &Map<K, V>,
        key: K::Ref<'_>,
        value: V::Ref<'_>,
    ) -> Result<&mut Self> {
        with_value(map, value, |value| {
            with_key(map, key, |key| {
                self.add(shared(map), key, Act::Put(value), same_bytes).map(drop)
            })
        })?;
        Ok(self)
    }

    /// Adds: `key` is removed, if it is there.
    ///
    /// # Errors
    ///
    /// As for [`put`](Self::put).
    pub fn delete<K: Key + ?Sized, V: Value + ?Sized>(
        &mut self,
        map: &Map<K, V>,
        key: K::Ref<'_>,
    ) -> Result<&mut Self> {
        with_key(map, key, |key| self.add(shared(map), key, Act::Delete, same_bytes).map(drop))?;
        Ok(self)
    }

    /// Adds a condition: `key` has this value before the commit (`None`: is absent), or the commit changes nothing, and fails with
    /// [`Error::Unmet`](crate::Error::Unmet), which has the number of this part. A batch of conditions alone checks that all
    /// of them hold at one moment. Values are compared as
    /// [`compare_exchange`](Map::compare_exchange) compares them.
    ///
    /// # Errors
    ///
    /// As for [`put`](Self::put).
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// use endura::Error;
    ///
    /// let seats = pool.map::<str, str>("seats")?;
    /// let book = |seat: &str, other: &str, name: &str| {
    ///     let mut batch = pool.batch();
    ///     batch.expect(&seats, seat, None)?.expect(&seats, other, None)?;
    ///     batch.put(&seats, seat, name)?.put(&seats, other, name)?;
    ///     batch.commit()
    /// };
    /// book("12A", "12B", "Ada")?;
    /// // Part 1 expects that 12B is free. Neither of the two is booked.
    /// assert!(matches!(book("12C", "12B", "Eve"), Err(Error::Unmet { index: 1 })));
    /// assert_eq!(seats.get("12C")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expect<K: Key + ?Sized, V: Value + ?Sized>(
        &mut self,
        map: &Map<K, V>,
        key: K::Ref<'_>,
        value: Option<V::Ref<'_>>,
    ) -> Result<&mut Self> {
        with_key(map, key, |key| match value {
            Some(value) => with_value(map, value, |value| {
                self.add(shared(map), key, Act::Expect(Some(value)), is_same::<V>).map(drop)
            }),
            None => self.add(shared(map), key, Act::Expect(None), same_bytes).map(drop),
        })?;
        Ok(self)
    }

    /// The number of parts: changes and conditions, as often as they were added.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether it has no parts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all parts.
    pub fn clear(&mut self) {
        self.parts.clear();
    }

    /// Makes all changes at once. They are as durable on return as a single write is. The batch is empty then; after an
    /// error it is as it was, and may be committed again.
    ///
    /// O(n log n) for n parts, and about the time of the writes one by one. The first commit after a while waits for the writes
    /// that are running; beside commits, and for a tenth of a second after them, each write of other threads takes some
    /// nanoseconds longer.
    ///
    /// Closures of operations may commit batches, also of the key that the operation is about. The closure of
    /// [`Pool::read`](crate::Pool::read) may not.
    ///
    /// # Errors
    ///
    /// With nothing changed: [`Error::Unmet`](crate::Error::Unmet); [`Error::Full`](crate::Error::Full) if the
    /// pool has no space for all changes (a batch of removes needs some too, unlike a single remove);
    /// [`Error::BatchTooLarge`](crate::Error::BatchTooLarge);
    /// [`Error::WritersStay`](crate::Error::WritersStay) if another thread stays inside a write for more than a second (a
    /// closure in a closure can);
    /// [`Error::InsideOperation`](crate::Error::InsideOperation) inside [`Pool::read`](crate::Pool::read); and
    /// those of [`Map`] for methods that write and need space. After
    /// [`Error::Poisoned`](crate::Error::Poisoned) or [`Error::Corrupt`](crate::Error::Corrupt) the batch may be
    /// decided: then the next open of the pool completes it.
    pub fn commit(&mut self) -> Result<()> {
        self.parts.commit(&self.pool)?;
        self.clear();
        Ok(())
    }
}
