//! What a map of byte strings offers, made of the primitives of its index.

use std::borrow::Cow;
use std::io;
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::sync::Arc;

use super::byte_range::{ByteEntry, ByteRange};
use endura_engine::Result;
use endura_engine::tree::byte_range::{self, behind};
use endura_engine::tree::{ByteChange, ByteIndex, Bytes, Len, Popped};

/// A map from byte strings to byte strings over any index, sorted as `memcmp` sorts. Its methods do what the methods of
/// a `Map` with the same purpose do, by the same primitives of the index, and keep the same promises. Cheap to clone;
/// the caller keeps the pool open.
///
/// What closures are shown is worth nothing in a process that they fork: who forks uses a `Map`.
pub struct ByteMap<I> {
    index: Arc<I>,
}

impl<I> Clone for ByteMap<I> {
    fn clone(&self) -> Self {
        Self { index: Arc::clone(&self.index) }
    }
}

impl<I: ByteIndex> ByteMap<I> {
    /// A map over this index.
    pub fn over(index: I) -> Self {
        Self { index: Arc::new(index) }
    }

    /// The index below.
    pub fn index(&self) -> &I {
        &self.index
    }

    /// A copy of the value of `key`.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.index().get_with(key.as_ref(), |value| value.to_vec())
    }

    /// What `read` makes of the value of `key`, without a copy of it.
    #[inline]
    pub fn get_with<R>(
        &self,
        key: impl AsRef<[u8]>,
        read: impl FnOnce(Bytes<'_>) -> R,
    ) -> Result<Option<R>> {
        self.index().get_with(key.as_ref(), read)
    }

    /// The values of `keys`, in their order.
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>> {
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        self.index().get_many(&keys)
    }

    /// Whether `key` is in the map.
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.index().get_with(key.as_ref(), |_| ())?.is_some())
    }

    /// Applies `decide`, and returns the value that its last call saw.
    fn modify<'v>(
        &self,
        key: &[u8],
        mut decide: impl FnMut(Option<&[u8]>) -> ByteChange<'v>,
    ) -> Result<Option<Vec<u8>>> {
        let mut old = None;
        self.index().apply(key, |present| {
            // One copy at a time.
            drop(old.take());
            old = present.map(|value| value.to_vec());
            decide(old.as_deref())
        })?;
        Ok(old)
    }

    /// Inserts or replaces the value of `key`; returns the value it had.
    pub fn insert(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        let value = value.as_ref();
        self.modify(key.as_ref(), |_| ByteChange::Put(Cow::Borrowed(value)))
    }

    /// Gives `key` a value of `len` bytes, which `write` appends where they will lie. What `write` leaves out is zeros.
    /// It runs again if the operation ran out of space.
    pub fn insert_from(
        &self,
        key: impl AsRef<[u8]>,
        len: usize,
        write: impl FnMut(&mut dyn io::Write) -> Result<()>,
    ) -> Result<()> {
        self.index().insert_from(key.as_ref(), len, write)
    }

    /// Inserts the value if `key` is not in the map; returns whether it was not.
    pub fn insert_new(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        let (value, mut is_new) = (value.as_ref(), false);
        self.index().apply(key.as_ref(), |old| {
            is_new = old.is_none();
            if is_new { ByteChange::Put(Cow::Borrowed(value)) } else { ByteChange::Keep }
        })?;
        Ok(is_new)
    }

    /// Replaces the value if `key` is in the map; returns the value it had.
    pub fn update(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        let value = value.as_ref();
        self.modify(key.as_ref(), |old| match old {
            Some(_) => ByteChange::Put(Cow::Borrowed(value)),
            None => ByteChange::Keep,
        })
    }

    /// Removes `key`; returns the value it had.
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.modify(key.as_ref(), |_| ByteChange::Remove)
    }

    /// If `key` has the value `expected` (`None`: is absent), gives it `new` (`None`: removes it). Otherwise changes
    /// nothing and returns what it found as the inner error. What it compares is not copied.
    pub fn compare_exchange(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<Result<(), Option<Vec<u8>>>> {
        let mut outcome = Ok(());
        self.index().apply(key.as_ref(), |old| {
            let is_expected = match (old, expected) {
                (Some(old), Some(expected)) => old == *expected,
                (old, expected) => old.is_none() && expected.is_none(),
            };
            outcome = Ok(());
            match new {
                _ if !is_expected => {
                    outcome = Err(old.map(|value| value.to_vec()));
                    ByteChange::Keep
                }
                Some(value) => ByteChange::Put(Cow::Borrowed(value)),
                None => ByteChange::Remove,
            }
        })?;
        Ok(outcome)
    }

    /// Replaces the value of `key` (`None`: absent) by what `update` makes of it; returns the value it had.
    pub fn fetch_update(
        &self,
        key: impl AsRef<[u8]>,
        mut update: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>> {
        let key = key.as_ref();
        let mut old = self.get(key)?;
        loop {
            let new = update(old.as_deref());
            match self.compare_exchange(key, old.as_deref(), new.as_deref())? {
                Ok(()) => return Ok(old),
                Err(found) => old = found,
            }
        }
    }

    /// Copies of the entries with keys in `keys`, in order, from both ends.
    pub fn range<K: AsRef<[u8]>>(&self, keys: impl RangeBounds<K>) -> ByteRange<I> {
        let own = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        ByteRange::new(Arc::clone(&self.index), own(keys.start_bound()), own(keys.end_bound()))
    }

    /// Shows `visit` the entries with keys in `keys` from the smallest key up, where they lie, until it breaks.
    pub fn range_with<K: AsRef<[u8]>>(
        &self,
        keys: impl RangeBounds<K>,
        visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.index().scan_up(&mut I::Cursor::default(), slices(&keys), visit)
    }

    /// The same from the largest key down.
    pub fn range_rev_with<K: AsRef<[u8]>>(
        &self,
        keys: impl RangeBounds<K>,
        visit: impl FnMut(Bytes<'_>, Bytes<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.index().scan_down(&mut I::Cursor::default(), slices(&keys), visit)
    }

    /// The entries whose keys begin with `prefix`.
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> ByteRange<I> {
        let from = prefix.as_ref().to_vec();
        let to = behind(&from).map_or(Bound::Unbounded, Bound::Excluded);
        ByteRange::new(Arc::clone(&self.index), Bound::Included(from), to)
    }

    /// All entries.
    pub fn iter(&self) -> ByteRange<I> {
        ByteRange::new(Arc::clone(&self.index), Bound::Unbounded, Bound::Unbounded)
    }

    /// The entry with the smallest key.
    pub fn first(&self) -> Result<Option<ByteEntry>> {
        self.index().first(|key, value| (key.to_vec(), value.to_vec()))
    }

    /// The entry with the largest key.
    pub fn last(&self) -> Result<Option<ByteEntry>> {
        self.index().last(|key, value| (key.to_vec(), value.to_vec()))
    }

    /// Removes the entry with the smallest key.
    pub fn pop_first(&self) -> Result<Option<ByteEntry>> {
        self.pop(true)
    }

    /// Removes the entry with the largest key.
    pub fn pop_last(&self) -> Result<Option<ByteEntry>> {
        self.pop(false)
    }

    fn pop(&self, smallest: bool) -> Result<Option<ByteEntry>> {
        let mut missed = None;
        while let Some((key, value)) = if smallest { self.first()? } else { self.last()? } {
            match self.index().pop(smallest, &key, &value)? {
                Popped::Taken => return Ok(Some((key, value))),
                Popped::Beaten => {}
                // Others were faster, twice; or only scans come across this key, and will again and again.
                Popped::Missed if missed.as_ref() == Some(&key) => self.index().check_ends()?,
                Popped::Missed => missed = Some(key),
            }
        }
        Ok(None)
    }

    /// How many entries there are.
    pub fn len(&self) -> Result<Len> {
        self.index().len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.index().first(|_, _| ())?.is_none())
    }

    /// Removes all entries, one after the other.
    pub fn clear(&self) -> Result<()> {
        self.remove_range::<&[u8]>(..).map(drop)
    }

    /// Removes the entries with keys in `keys`, one after the other, without a copy of a value; returns how many.
    pub fn remove_range<K: AsRef<[u8]>>(&self, keys: impl RangeBounds<K>) -> Result<u64> {
        let own = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        let mut entries =
            byte_range::ByteRange::new(own(keys.start_bound()), own(keys.end_bound()));
        let mut removed = 0;
        while let Some(entry) = entries.next(self.index(), true, false)? {
            let mut was_there = false;
            self.index().apply(entry.key(), |old| {
                was_there = old.is_some();
                ByteChange::Remove
            })?;
            removed += u64::from(was_there);
        }
        Ok(removed)
    }

    /// Removes the entries for which `keep` returns false, one after the other; returns how many.
    pub fn retain(&self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) -> Result<u64> {
        let mut removed = 0;
        for entry in self.iter() {
            let (key, value) = entry?;
            let mut present = Some(value);
            while let Some(value) = &present
                && !keep(&key, value)
            {
                match self.compare_exchange(&key, Some(value), None)? {
                    Ok(()) => {
                        removed += 1;
                        break;
                    }
                    Err(found) => present = found,
                }
            }
        }
        Ok(removed)
    }
}

fn slices<'k, K: AsRef<[u8]> + 'k>(
    keys: &'k impl RangeBounds<K>,
) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    (keys.start_bound().map(AsRef::as_ref), keys.end_bound().map(AsRef::as_ref))
}
