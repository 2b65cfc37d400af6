//! The first and last entry of a map, and its length.

use endura_engine::index::WordTree;
use endura_engine::media::Mapped;
use endura_engine::tree::{Len, Popped};

use crate::Result;
use crate::encoding::value::{Key, Value};
use crate::map::convert::{decode, encoded, from_word, read};
use crate::map::handle::Map;

impl<K: Key + ?Sized, V: Value + ?Sized> Map<K, V> {
    /// The entry with the smallest key, at one moment of the call. The method searches again only if a writer has
    /// changed a node on which the result depends.
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
    /// let scores = pool.map::<u64, str>("scores")?;
    /// scores.extend([(30, "ada"), (10, "alan"), (20, "grace")])?;
    /// assert_eq!(scores.first_key_value()?, Some((10, "alan".to_owned())));
    /// assert_eq!(scores.last_key_value()?, Some((30, "ada".to_owned())));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first_key_value(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.end(true)
    }

    /// The entry with the largest key; otherwise like [`first_key_value`](Self::first_key_value).
    ///
    /// # Errors
    ///
    /// As for [`first_key_value`](Self::first_key_value).
    pub fn last_key_value(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.end(false)
    }

    fn end(&self, smallest: bool) -> Result<Option<(K::Owned, V::Owned)>> {
        if let Some(words) = self.words() {
            let entry = if smallest { words.first()? } else { words.last()? };
            let Some((key, value)) = entry else { return Ok(None) };
            return Ok(Some((from_word::<K>(key)?, from_word::<V>(value)?)));
        }
        let mut entry = None;
        self.bytes().end(smallest, &mut |key, value| {
            entry = Some(read::<K>(key).and_then(|key| Ok((key, read::<V>(value)?))));
        })?;
        entry.transpose()
    }

    /// Removes the entry with the smallest key and returns it. At one moment of the call the entry is removed and no
    /// smaller key is present. `None` means that the map was empty at one moment of the call.
    ///
    /// The method chooses an entry again if another operation has removed the chosen one, changed its value, or
    /// inserted a smaller key. Such an insert does not wait for the choice, only for the removal. Pops of one map take
    /// turns.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let jobs = pool.map::<u64, str>("jobs")?;
    /// jobs.extend([(1, "sweep"), (2, "mop")])?;
    /// assert_eq!(jobs.pop_first()?, Some((1, "sweep".to_owned())));
    /// assert_eq!(jobs.pop_last()?, Some((2, "mop".to_owned())));
    /// assert_eq!(jobs.pop_first()?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that write; [`Error::Decode`](crate::Error::Decode), with nothing changed,
    /// if the entry does not decode as the map's types. [`pop_first_key`](Self::pop_first_key) then removes it.
    pub fn pop_first(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.pop(true)
    }

    /// Removes the entry with the largest key and returns it, as [`pop_first`](Self::pop_first) does at the other end.
    ///
    /// # Errors
    ///
    /// As for [`pop_first`](Self::pop_first).
    pub fn pop_last(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.pop(false)
    }

    fn pop(&self, smallest: bool) -> Result<Option<(K::Owned, V::Owned)>> {
        self.pop_as(
            smallest,
            |key, value| Ok((from_word::<K>(key)?, from_word::<V>(value)?)),
            |key, value| Ok((decode::<K>(key)?, decode::<V>(value)?)),
        )
    }

    /// Removes the entry at one end, and returns it as one of the two closures decodes it. An entry that does not
    /// decode stays.
    pub(crate) fn pop_as<R>(
        &self,
        smallest: bool,
        of_words: impl Fn(u64, u64) -> Result<R>,
        of_bytes: impl Fn(&[u8], &[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        match self.words() {
            Some(words) => Self::pop_words(words, smallest, of_words),
            None => self.pop_bytes(smallest, of_bytes),
        }
    }

    /// Removes the entry at one end, if it still has this key and this value. Returns whether it was removed; if not,
    /// the caller chooses again.
    pub(crate) fn pop_entry(
        &self,
        smallest: bool,
        key: K::Ref<'_>,
        value: V::Ref<'_>,
    ) -> Result<bool> {
        let popped = match self.words() {
            Some(words) => words.pop(smallest, (K::to_word(key), V::to_word(value)))?,
            None => encoded::<V, _>(value, |value| {
                encoded::<K, _>(key, |key| self.bytes().pop(smallest, key, value))
            })?,
        };
        if popped == Popped::Missed {
            // If only scans can reach the key, because of damage, all attempts would fail.
            match self.words() {
                Some(words) => words.check_ends()?,
                None => self.bytes().check_ends()?,
            }
        }
        Ok(popped == Popped::Taken)
    }

    fn pop_words<R>(
        words: &WordTree<Mapped>,
        smallest: bool,
        decode: impl Fn(u64, u64) -> Result<R>,
    ) -> Result<Option<R>> {
        let mut missed = None;
        loop {
            let entry = if smallest { words.first()? } else { words.last()? };
            let Some((key, value)) = entry else { return Ok(None) };
            // The entry is decoded before it is removed, because an entry that does not decode stays.
            let decoded = decode(key, value)?;
            match words.pop(smallest, (key, value))? {
                Popped::Taken => return Ok(Some(decoded)),
                Popped::Beaten => {}
                // Either other operations won twice, or, because of damage, only scans can reach this key, and all
                // further attempts would fail.
                Popped::Missed if missed == Some(key) => words.check_ends()?,
                Popped::Missed => missed = Some(key),
            }
        }
    }

    fn pop_bytes<R>(
        &self,
        smallest: bool,
        decode: impl Fn(&[u8], &[u8]) -> Result<R>,
    ) -> Result<Option<R>> {
        let mut missed = None;
        let (mut key, mut value) = (Vec::new(), Vec::new());
        loop {
            let found = self.bytes().end(smallest, &mut |key_bytes, value_bytes| {
                key.clear();
                value.clear();
                key_bytes.append_to(&mut key);
                value_bytes.append_to(&mut value);
            })?;
            if !found {
                return Ok(None);
            }
            let decoded = decode(&key, &value)?;
            match self.bytes().pop(smallest, &key, &value)? {
                Popped::Taken => return Ok(Some(decoded)),
                Popped::Beaten => {}
                // As in `pop_words`.
                Popped::Missed if missed.as_ref() == Some(&key) => self.bytes().check_ends()?,
                Popped::Missed => missed = Some(key.clone()),
            }
        }
    }

    /// The number of entries: O(1). Exact when no operation is running. With concurrent writers the error is at most
    /// the number of operations that ran during the call.
    ///
    /// After an unclean end (a kill) the first call counts the entries, once: O(n). Other operations continue
    /// meanwhile. Other calls of `len` wait for the count.
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
    /// let scores = pool.map::<u64, str>("scores")?;
    /// assert!(scores.is_empty()?);
    /// scores.extend([(30, "ada"), (10, "alan")])?;
    /// assert_eq!(scores.len()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> Result<usize> {
        Ok(self.tree().exact_len()? as usize)
    }

    /// The approximate number of entries: always O(1). After an unclean end the number is too small until the entries
    /// are counted; the first call starts the count in the background.
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read.
    pub fn approximate_len(&self) -> Result<usize> {
        let (Len::Exact(len) | Len::AtLeast(len)) = self.tree().len()?;
        Ok(len as usize)
    }

    /// Checks the number of entries that a pass over all of them has found, to detect damage that hides entries. The
    /// recorded number is known if the pool is open read-only and was closed before. In other pools the result is
    /// always `Ok`, because writers may have changed the number meanwhile.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("data.endura");
    /// # let pool = endura::Pool::open(&path)?;
    /// # pool.map::<u64, u64>("hits")?.extend([(7, 1), (9, 4)])?;
    /// # pool.close()?;
    /// let pool = endura::Pool::options().read_only(true).open_existing(&path)?;
    /// let hits = pool.map::<u64, u64>("hits")?;
    /// let mut found = 0;
    /// for entry in &hits {
    ///     println!("{:?}", entry?);
    ///     found += 1;
    /// }
    /// hits.check_len(found)?;
    /// # assert!(hits.check_len(1).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`](crate::Error::Corrupt) if another number is recorded.
    pub fn check_len(&self, found: u64) -> Result<()> {
        self.tree().check_len(found)
    }

    /// Whether the map is empty, at one moment of the call. The method does not count entries.
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read.
    pub fn is_empty(&self) -> Result<bool> {
        match self.words() {
            Some(words) => Ok(words.first()?.is_none()),
            None => Ok(!self.bytes().end(true, &mut |_, _| ())?),
        }
    }
}
