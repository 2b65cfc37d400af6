//! Operations that do not read the value that is there: for large ones, and for those that do not decode.

use std::borrow::Cow;

use crate::Result;
use crate::store::encoding::value::{Key, Value};
use crate::store::map::convert::{decode, encoded, from_word};
use crate::store::map::handle::Map;
use crate::tree::ByteChange;

impl<K: Key + ?Sized, V: Value + ?Sized> Map<K, V> {
    /// Gives `key` this value, whether it is in the map or not; returns whether it was not. The value that it had is
    /// not read: less work than [`insert`](Self::insert) where that is long, and no error where it does not decode.
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
    /// Those that [`Map`] names for methods that write and need room, but for [`Error::Decode`](crate::Error::Decode).
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

    /// Takes `key` out of the map; returns whether it was there. Its value is not read: less work than
    /// [`remove`](Self::remove), and no error where the value does not decode.
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
    /// Those that [`Map`] names for methods that write, but for [`Error::Decode`](crate::Error::Decode).
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

    /// Takes out the entry with the smallest key, as [`pop_first`](Self::pop_first) does, and returns that key. Its
    /// value is not decoded: so a queue gets past an entry whose value does not decode.
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
    /// where the key is none of the type ([`remove_range`](Self::remove_range) takes such an entry out).
    pub fn pop_first_key(&self) -> Result<Option<K::Owned>> {
        self.pop_as(true, |key, _| from_word::<K>(key), |key, _| decode::<K>(key))
    }

    /// Takes out the entry with the largest key, as [`pop_first_key`](Self::pop_first_key) at the other end.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn pop_last_key(&self) -> Result<Option<K::Owned>> {
        self.pop_as(false, |key, _| from_word::<K>(key), |key, _| decode::<K>(key))
    }
}
