//! Operations that do not read the old value: for large values, and for values that do not decode.

use std::borrow::Cow;

use endura_engine::tree::ByteChange;

use crate::Result;
use crate::encoding::value::{Key, Value};
use crate::map::convert::{decode, encoded, from_word};
use crate::map::handle::Map;

impl<K: Key + ?Sized, V: Value + ?Sized> Map<K, V> {
    /// Gives `key` this value, whether `key` is in the map or not; returns whether it was absent. The old value is not
    /// read. So this costs less than [`insert`](Self::insert) if the old value is long, and does not fail if the old
    /// value does not decode.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let pages = pool.map::<str, str>("pages")?;
    /// assert!(pages.put("/", "<h1>Hello</h1>")?);
    /// assert!(!pages.put("/", "<h1>Hello again</h1>")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that write and need space, except [`Error::Decode`](crate::Error::Decode).
    pub fn put(&self, key: K::Ref<'_>, value: V::Ref<'_>) -> Result<bool> {
        if let Some(words) = self.words() {
            return Ok(words.insert(K::to_word(key), V::to_word(value))?.is_none());
        }
        let mut is_new = false;
        encoded::<V, _>(value, |value| {
            encoded::<K, _>(key, |key| {
                self.bytes().apply(key, &mut |old| {
                    is_new = old.is_none();
                    ByteChange::Put(Cow::Borrowed(value))
                })
            })
        })?;
        Ok(is_new)
    }

    /// Removes `key` from the map; returns whether it was present. Its value is not read. So this costs less than
    /// [`remove`](Self::remove), and does not fail if the value does not decode.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let seen = pool.map::<str, ()>("seen")?;
    /// seen.insert("/", ())?;
    /// assert!(seen.delete("/")?);
    /// assert!(!seen.delete("/")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that write, except [`Error::Decode`](crate::Error::Decode).
    pub fn delete(&self, key: K::Ref<'_>) -> Result<bool> {
        if let Some(words) = self.words() {
            return Ok(words.remove(K::to_word(key))?.is_some());
        }
        let mut was_there = false;
        encoded::<K, _>(key, |key| {
            self.bytes().apply(key, &mut |old| {
                was_there = old.is_some();
                ByteChange::Remove
            })
        })?;
        Ok(was_there)
    }

    /// Removes the entry with the smallest key, as [`pop_first`](Self::pop_first) does, and returns that key. Its value
    /// is not decoded, so that a queue can proceed past an entry whose value does not decode.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let due = pool.map::<(u64, String), ()>("due")?;
    /// due.extend([((7, "mop"), ()), ((3, "sweep"), ())])?;
    /// assert_eq!(due.pop_first_key()?, Some((3, "sweep".to_owned())));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that write; [`Error::Decode`](crate::Error::Decode), with nothing changed,
    /// if the key does not decode ([`remove_range`](Self::remove_range) removes such an entry).
    pub fn pop_first_key(&self) -> Result<Option<K::Owned>> {
        self.pop_as(true, |key, _| from_word::<K>(key), |key, _| decode::<K>(key))
    }

    /// Removes the entry with the largest key, as [`pop_first_key`](Self::pop_first_key) does at the other end.
    ///
    /// # Errors
    ///
    /// As for [`pop_first_key`](Self::pop_first_key).
    pub fn pop_last_key(&self) -> Result<Option<K::Owned>> {
        self.pop_as(false, |key, _| from_word::<K>(key), |key, _| decode::<K>(key))
    }
}
