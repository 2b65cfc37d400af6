//! Operations on one key.

use std::borrow::Cow;

use endura_engine::index::WordTree;
use endura_engine::media::Mapped;
use endura_engine::tree::{ByteChange, Bytes};

use crate::Result;
use crate::encoding::value::{Key, Value};
use crate::map::convert::{decode_error, encode, encoded, from_words, read};
use crate::map::handle::Map;
use crate::map::runs::Runs;

impl<K: Key + ?Sized, V: Value + ?Sized> Map<K, V> {
    /// The value of `key`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let births = pool.map::<str, u16>("births")?;
    /// births.insert("ada", 1815)?;
    /// assert_eq!(births.get("ada")?, Some(1815));
    /// assert_eq!(births.get("eve")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read.
    #[inline]
    pub fn get(&self, key: K::Ref<'_>) -> Result<Option<V::Owned>> {
        if let Some(words) = self.words() {
            return from_words::<V>(words.get(K::to_word(key))?);
        }
        let mut found = None;
        encoded::<K, _>(key, |key| {
            self.bytes().read(key, &mut |bytes| found = Some(read::<V>(bytes)))
        })?;
        found.transpose()
    }

    /// Passes the value of `key` to `look`, and returns the result of `look`. The method allocates nothing for the
    /// value: text and bytes of up to 128 bytes are copied to the stack, longer ones to a per-thread buffer. Memory
    /// that other threads free while `look` runs is not reused before `look` returns.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let pages = pool.map::<str, str>("pages")?;
    /// pages.insert("/", "<h1>Hello</h1>")?;
    /// assert_eq!(pages.get_with("/", |page| page.contains("Hello"))?, Some(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read.
    #[inline]
    pub fn get_with<R>(
        &self,
        key: K::Ref<'_>,
        look: impl FnOnce(V::Ref<'_>) -> R,
    ) -> Result<Option<R>> {
        let _call = self.call();
        if let Some(words) = self.words() {
            let value = from_words::<V>(words.get(K::to_word(key))?)?;
            return self.unless_forked(value.map(|value| look(V::lend(&value))));
        }
        let (mut result, mut look) = (None, Some(look));
        encoded::<K, _>(key, |key| {
            self.bytes().read_with(key, &mut |bytes| {
                result = look.take().map(|look| V::read_with(bytes, look));
            })
        })?;
        result.transpose().map_err(decode_error::<V>)
    }

    /// Whether `key` is in the map.
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let users = pool.map::<str, str>("users")?;
    /// users.insert("ada", "1815")?;
    /// assert!(users.contains_key("ada")? && !users.contains_key("alan")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn contains_key(&self, key: K::Ref<'_>) -> Result<bool> {
        if let Some(words) = self.words() {
            return Ok(words.get(K::to_word(key))?.is_some());
        }
        encoded::<K, _>(key, |key| self.bytes().read(key, &mut |_| ()))
    }

    /// Gives `key` this value, whether `key` is in the map or not; returns its old value.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let stock = pool.map::<u32, u64>("stock")?;
    /// assert_eq!(stock.insert(7, 20)?, None);
    /// assert_eq!(stock.insert(7, 19)?, Some(20));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that write and need space; [`Error::Decode`](crate::Error::Decode), with
    /// nothing changed, if the old value does not decode: [`put`](Self::put) replaces it without reading it. (A value
    /// of at most 8 bytes fails to decode only after damage; the new value has then replaced it.)
    #[inline]
    pub fn insert(&self, key: K::Ref<'_>, value: V::Ref<'_>) -> Result<Option<V::Owned>> {
        if let Some(words) = self.words() {
            return from_words::<V>(words.insert(K::to_word(key), V::to_word(value))?);
        }
        encoded::<V, _>(value, |value| {
            self.change(key, &mut |_| ByteChange::Put(Cow::Borrowed(value)))
        })
    }

    /// Inserts `key` if it is not in the map; returns whether it did.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let seen = pool.map::<str, ()>("seen")?;
    /// assert!(seen.insert_if_absent("https://example.org", ())?);
    /// assert!(!seen.insert_if_absent("https://example.org", ())?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that write and need space.
    pub fn insert_if_absent(&self, key: K::Ref<'_>, value: V::Ref<'_>) -> Result<bool> {
        if let Some(words) = self.words() {
            return words.insert_if_absent(K::to_word(key), V::to_word(value));
        }
        let mut is_new = false;
        encoded::<V, _>(value, |value| {
            encoded::<K, _>(key, |key| {
                self.bytes().apply(key, &mut |old| {
                    is_new = old.is_none();
                    match is_new {
                        true => ByteChange::Put(Cow::Borrowed(value)),
                        false => ByteChange::Keep,
                    }
                })
            })
        })?;
        Ok(is_new)
    }

    /// The value of `key`; if it has none, gives it that of `make` first. Of several threads that do this at once, one
    /// inserts its value, and all return that one. `make` runs outside any lock, once at most, and only if `key` was
    /// absent; it may call the map.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let lengths = pool.map::<str, u64>("lengths")?;
    /// assert_eq!(lengths.get_or_insert_with("endura", || 6)?, 6);
    /// assert_eq!(lengths.get_or_insert_with("endura", || unreachable!())?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that write and need space; [`Error::Decode`](crate::Error::Decode), with
    /// nothing changed, if the value of `key` does not decode.
    pub fn get_or_insert_with(
        &self,
        key: K::Ref<'_>,
        make: impl FnOnce() -> V::Owned,
    ) -> Result<V::Owned> {
        if let Some(value) = self.get(key)? {
            return Ok(value);
        }
        let _call = self.call();
        let value = make();
        match self.compare_exchange(key, None, Some(V::lend(&value)))? {
            Ok(()) => Ok(value),
            // The exchange fails only if the key has a value by now.
            Err(found) => Ok(found.unwrap_or(value)),
        }
    }

    /// Replaces the value of `key` if `key` is in the map; returns its old value.
    ///
    /// # Errors
    ///
    /// As for [`insert`](Self::insert).
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let users = pool.map::<str, str>("users")?;
    /// assert_eq!(users.replace("ada", "1815")?, None);     // absent, and stays so
    /// users.insert("ada", "1816")?;
    /// assert_eq!(users.replace("ada", "1815")?.as_deref(), Some("1816"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace(&self, key: K::Ref<'_>, value: V::Ref<'_>) -> Result<Option<V::Owned>> {
        if let Some(words) = self.words() {
            return from_words::<V>(words.replace(K::to_word(key), V::to_word(value))?);
        }
        encoded::<V, _>(value, |value| {
            self.change(key, &mut |old| match old {
                Some(_) => ByteChange::Put(Cow::Borrowed(value)),
                None => ByteChange::Keep,
            })
        })
    }

    /// Removes `key` from the map; returns its value.
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that write; [`Error::Decode`](crate::Error::Decode), with nothing changed,
    /// if the value does not decode: [`delete`](Self::delete) removes it without reading it. (A value of at most 8
    /// bytes fails to decode only after damage; it is then removed.)
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let users = pool.map::<str, str>("users")?;
    /// users.insert("ada", "1815")?;
    /// assert_eq!(users.remove("ada")?.as_deref(), Some("1815"));
    /// assert_eq!(users.remove("ada")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&self, key: K::Ref<'_>) -> Result<Option<V::Owned>> {
        if let Some(words) = self.words() {
            return from_words::<V>(words.remove(K::to_word(key))?);
        }
        self.change(key, &mut |_| ByteChange::Remove)
    }

    /// Applies `decide`, which runs no code of the user, and returns the value that its last call saw. If that value
    /// does not decode, nothing changes.
    fn change<'v>(
        &self,
        key: K::Ref<'_>,
        decide: &mut dyn FnMut(Option<Bytes<'_>>) -> ByteChange<'v>,
    ) -> Result<Option<V::Owned>> {
        let mut old = Ok(None);
        encoded::<K, _>(key, |key| {
            self.bytes().apply(key, &mut |bytes| {
                // The earlier value is dropped first, so that there is one copy of a value at a time.
                old = Ok(None);
                old = bytes.map(read::<V>).transpose();
                if old.is_ok() { decide(bytes) } else { ByteChange::Keep }
            })
        })?;
        old
    }

    /// If `key` has the value `expected` (`None`: it is absent), gives it the value `new` (`None`: removes it).
    /// Otherwise changes nothing, and returns the value found as the inner error. Two values are equal if their
    /// encodings are; values of `Json` also if they differ only in the order of fields. (0.0 and -0.0 are not equal, a
    /// NaN is equal to itself. A `HashMap` or `HashSet` in a `Postcard`, and a `HashSet` in a `Json`, may differ from
    /// itself: use the sorted types.)
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let locks = pool.map::<str, u64>("locks")?;
    /// assert_eq!(locks.compare_exchange("disk", None, Some(1))?, Ok(()));
    /// assert_eq!(locks.compare_exchange("disk", None, Some(2))?, Err(Some(1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that write and need space.
    pub fn compare_exchange(
        &self,
        key: K::Ref<'_>,
        expected: Option<V::Ref<'_>>,
        new: Option<V::Ref<'_>>,
    ) -> Result<Result<(), Option<V::Owned>>> {
        if let Some(words) = self.words() {
            let (expected, new) = (expected.map(V::to_word), new.map(V::to_word));
            return match words.compare_exchange(K::to_word(key), expected, new)? {
                Ok(()) => Ok(Ok(())),
                Err(found) => Ok(Err(from_words::<V>(found)?)),
            };
        }
        let expected = expected.map(encode::<V>).transpose()?;
        let new = new.map(encode::<V>).transpose()?;
        let (mut done, mut found) = (false, Ok(None));
        encoded::<K, _>(key, |key| {
            self.bytes().apply(key, &mut |old| {
                done = match (&old, &expected) {
                    (Some(old), Some(expected)) => {
                        *old == **expected || V::is_another_encoding_of(*old, expected)
                    }
                    (None, None) => true,
                    _ => false,
                };
                if !done {
                    found = old.map(read::<V>).transpose();
                    return ByteChange::Keep;
                }
                match new.as_deref() {
                    Some(new) => ByteChange::Put(Cow::Borrowed(new)),
                    None => ByteChange::Remove,
                }
            })
        })?;
        if done { Ok(Ok(())) } else { found.map(Err) }
    }

    /// Replaces the value of `key` (`None`: absent) by the result of `change` (`None`: removes it), atomically; returns
    /// the old value.
    ///
    /// `change` runs outside any lock, and may call the map. It runs again if the value of `key` has changed by the
    /// time it returns, through any thread. Writes to other keys do not make it run again.
    ///
    /// So a `change` that writes `key` itself runs once more, and sees the value that it has written. If it writes a
    /// different value each time, the call fails after some ten thousand runs.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let leases = pool.map::<str, u64>("leases")?;
    /// leases.insert("disk", 1)?;
    /// // Counts down, and lets go at zero.
    /// leases.alter("disk", |n| n?.checked_sub(1).filter(|&n| n > 0))?;
    /// assert_eq!(leases.get("disk")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that write and need space, and
    /// [`Error::RecursiveUpdate`](crate::Error::RecursiveUpdate).
    pub fn alter(
        &self,
        key: K::Ref<'_>,
        mut change: impl FnMut(Option<V::Ref<'_>>) -> Option<V::Owned>,
    ) -> Result<Option<V::Owned>> {
        let _call = self.call();
        if let Some(words) = self.words() {
            return self.alter_word(words, K::to_word(key), &mut |old| {
                change(old.as_ref().map(V::lend)).map(|new| V::to_word(V::lend(&new)))
            });
        }
        self.alter_bytes(key, &mut |old| match change(old.map(V::lend)) {
            Some(new) => Ok(ByteChange::Put(Cow::Owned(encode::<V>(V::lend(&new))?))),
            None => Ok(ByteChange::Remove),
        })
    }

    /// Replaces the value of `key` (`None`: absent) by the result of `make`, atomically; returns the new value.
    ///
    /// `make` runs as the closure of [`alter`](Self::alter) does.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let hits = pool.map::<str, u64>("hits")?;
    /// assert_eq!(hits.update("/", |n| n.unwrap_or(0) + 1)?, 1);
    /// assert_eq!(hits.update("/", |n| n.unwrap_or(0) + 1)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`alter`](Self::alter).
    pub fn update(
        &self,
        key: K::Ref<'_>,
        mut make: impl FnMut(Option<V::Ref<'_>>) -> V::Owned,
    ) -> Result<V::Owned> {
        let (mut made, _call) = (None, self.call());
        if let Some(words) = self.words() {
            self.alter_word(words, K::to_word(key), &mut |old| {
                let new = made.insert(make(old.as_ref().map(V::lend)));
                Some(V::to_word(V::lend(new)))
            })?;
        } else {
            self.alter_bytes(key, &mut |old| {
                let new = made.insert(make(old.map(V::lend)));
                Ok(ByteChange::Put(Cow::Owned(encode::<V>(V::lend(new))?)))
            })?;
        }
        let Some(made) = made else { unreachable!("what changes a map has run `make` before") };
        Ok(made)
    }

    fn alter_word(
        &self,
        words: &WordTree<Mapped>,
        key: u64,
        change: &mut dyn FnMut(Option<V::Owned>) -> Option<u64>,
    ) -> Result<Option<V::Owned>> {
        let (mut old, mut runs) = (words.get(key)?, Runs::new(self.tree()));
        loop {
            let seen = from_words::<V>(old)?;
            let watch = runs.begin()?;
            let new = change(seen);
            runs.end(watch);
            match words.compare_exchange(key, old, new)? {
                Ok(()) => return from_words::<V>(old),
                Err(found) => old = found,
            }
        }
    }

    /// Like [`change`](Self::change), for a `decide` that runs code of the user, and may fail.
    pub(crate) fn alter_bytes<'v>(
        &self,
        key: K::Ref<'_>,
        decide: &mut dyn FnMut(Option<&V::Owned>) -> Result<ByteChange<'v>>,
    ) -> Result<Option<V::Owned>> {
        let (mut old, mut runs) = (Ok(None), Runs::new(self.tree()));
        encoded::<K, _>(key, |key| {
            self.bytes().modify(key, &mut |bytes| {
                old = Ok(None);
                let seen = bytes.map(read::<V>).transpose();
                let decided = seen.and_then(|seen| {
                    let watch = runs.begin()?;
                    let change = decide(seen.as_ref())?;
                    runs.end(watch);
                    Ok((change, seen))
                });
                match decided {
                    Ok((change, seen)) => {
                        old = Ok(seen);
                        change
                    }
                    Err(error) => {
                        old = Err(error);
                        ByteChange::Keep
                    }
                }
            })
        })?;
        old
    }
}
