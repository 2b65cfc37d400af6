//! The ends of a map, and how many entries lie between them.

use crate::Result;
use crate::media::Mapped;
use crate::store::encoding::value::{Key, Value};
use crate::store::index::WordTree;
use crate::store::map::convert::{decode, from_word, read};
use crate::store::map::handle::Map;
use crate::tree::{Len, Popped};

impl<K: Key + ?Sized, V: Value + ?Sized> Map<K, V> {
    /// The entry with the smallest key, at one moment of the call. Looks again only where a writer has changed what
    /// the answer rests on.
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read.
    pub fn first_key_value(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.end(true)
    }

    /// The entry with the largest key, as [`first_key_value`](Self::first_key_value).
    ///
    /// # Errors
    ///
    /// As there.
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

    /// Takes out the entry with the smallest key, at one moment of the call: nobody sees a smaller key while it is
    /// still there. `None` says that there was a moment of the call without entries.
    ///
    /// It chooses again where another operation has taken this entry out, changed its value, or entered a smaller
    /// key. That insert waits for no choice, only while the entry is taken out. Pops of one map take turns.
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
    /// where the entry is none of the types. [`pop_first_key`](Self::pop_first_key) then takes it out.
    pub fn pop_first(&self) -> Result<Option<(K::Owned, V::Owned)>> {
        self.pop(true)
    }

    /// Takes out the entry with the largest key, as [`pop_first`](Self::pop_first) at the other end.
    ///
    /// # Errors
    ///
    /// As there.
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

    /// Takes out the entry at one end, of which two closures say what it is. What they fail at is not taken out.
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

    fn pop_words<R>(
        words: &WordTree<Mapped>,
        smallest: bool,
        decode: impl Fn(u64, u64) -> Result<R>,
    ) -> Result<Option<R>> {
        let mut missed = None;
        loop {
            let entry = if smallest { words.first()? } else { words.last()? };
            let Some((key, value)) = entry else { return Ok(None) };
            // Decoded first: what cannot be is not taken out.
            let decoded = decode(key, value)?;
            match words.pop(smallest, (key, value))? {
                Popped::Taken => return Ok(Some(decoded)),
                Popped::Beaten => {}
                // Others were faster, twice; or only scans come across this key, and will again and again.
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
                // As for words.
                Popped::Missed if missed.as_ref() == Some(&key) => self.bytes().check_ends()?,
                Popped::Missed => missed = Some(key.clone()),
            }
        }
    }

    /// How many entries there are: O(1). Exact when no operation is under way; beside writers off by no more than the
    /// operations that were under way while it counted.
    ///
    /// After an unclean end (a kill) the first call counts, once: O(n). Other operations go on meanwhile, and other
    /// calls wait for it.
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read.
    pub fn len(&self) -> Result<usize> {
        Ok(self.tree().exact_len()? as usize)
    }

    /// About how many entries there are: O(1) always. Less than there are, for as long as they are not counted after an
    /// unclean end; the first call sets that going in the background.
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read.
    pub fn approximate_len(&self) -> Result<usize> {
        let (Len::Exact(len) | Len::AtLeast(len)) = self.tree().len()?;
        Ok(len as usize)
    }

    /// Whether there is no entry, at one moment of the call. Counts nothing.
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
