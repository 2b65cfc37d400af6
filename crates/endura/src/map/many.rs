//! Operations on many entries.

use std::borrow::Cow;
use std::ops::Bound;

use endura_engine::tree::byte_range::behind;
use endura_engine::tree::{ByteChange, Near};

use crate::encoding::bound::KeyRange;
use crate::encoding::value::{Key, PrefixKey, Value};
use crate::map::convert::{
    decode, decode_error, encode, encode_bound, encode_prefix, encoded, from_words, padded, read,
};
use crate::map::handle::Map;
use crate::map::range::{Entries, Keys, Range, Values};
use crate::map::runs::Runs;
use crate::map::visit::Visit;
use crate::{Error, Result};

/// The number of lookups whose cache misses overlap.
const BATCH: usize = 64;
/// The most entries for which space is allocated because an iterator announces them.
const LARGEST_GUESS: usize = 1 << 16;

impl<K: Key + ?Sized, V: Value + ?Sized> Map<K, V> {
    /// The values of `keys`, in their order. The lookups overlap their cache misses: from about 16 keys on, each costs
    /// a fraction of a [`get`](Self::get) if the map is larger than the caches. Each lookup is linearizable by itself;
    /// the batch as a whole is not.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let squares = pool.map::<u64, u64>("squares")?;
    /// squares.extend((0..10).map(|n| (n, n * n)))?;
    /// assert_eq!(squares.get_many([3, 12, 4])?, [Some(9), None, Some(16)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read.
    pub fn get_many<'a>(
        &self,
        keys: impl IntoIterator<Item = K::Ref<'a>>,
    ) -> Result<Vec<Option<V::Owned>>> {
        let _call = self.call();
        let mut keys = keys.into_iter();
        let mut values = Vec::with_capacity(keys.size_hint().0.min(LARGEST_GUESS));
        if let Some(words) = self.words() {
            loop {
                let batch: Vec<u64> = keys.by_ref().take(BATCH).map(K::to_word).collect();
                if batch.is_empty() {
                    return Ok(values);
                }
                for found in words.get_many(&batch)? {
                    values.push(from_words::<V>(found)?);
                }
            }
        }
        loop {
            let batch = keys.by_ref().take(BATCH).map(encode::<K>).collect::<Result<Vec<_>>>()?;
            if batch.is_empty() {
                return Ok(values);
            }
            let batch: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
            for found in self.bytes().get_many(&batch)? {
                let value = found.map(|value| V::decode(&value).map_err(decode_error::<V>));
                values.push(value.transpose()?);
            }
        }
    }

    /// Inserts `entries`, one after the other, as [`insert`](Self::insert) does; returns their number.
    ///
    /// Each entry is durable and visible before the next one is taken from the iterator, so that the entries inserted
    /// before an error or a crash stay. This is the bulk load: ascending keys are fastest, because each search starts
    /// where the last one ended.
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
    /// let squares = pool.map::<u64, u64>("squares")?;
    /// squares.extend((0..1000).map(|n| (n, n * n)))?;       // ascending keys are the fastest
    /// assert_eq!(squares.get(30)?, Some(900));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extend<'a>(
        &self,
        entries: impl IntoIterator<Item = (K::Ref<'a>, V::Ref<'a>)>,
    ) -> Result<usize> {
        let (mut count, mut near, _call) = (0, Near::default(), self.call());
        for (key, value) in entries {
            if let Some(words) = self.words() {
                words.insert_near(&mut near, K::to_word(key), V::to_word(value))?;
            } else {
                encoded::<V, _>(value, |value| {
                    encoded::<K, _>(key, |key| {
                        self.bytes().apply(key, &mut |_| ByteChange::Put(Cow::Borrowed(value)))
                    })
                })?;
            }
            count += 1;
        }
        Ok(count)
    }

    /// The entries with keys in `keys`, in order, from both ends.
    ///
    /// The range is live: it takes no snapshot and blocks no other operation. Each entry was in the map at some moment
    /// of the call to `next` that returned it. Keys are returned in order, none twice, and a key that stays in the map
    /// while the range exists is not skipped. An empty or inverted range yields nothing. If a bound cannot be encoded,
    /// the first `next` returns the error. After an entry that does not decode ([`Error::Decode`]) the range continues
    /// with the next entry; any other error ends it.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let births = pool.map::<str, u16>("births")?;
    /// births.extend([("ada", 1815), ("alan", 1912), ("grace", 1906)])?;
    /// let a = births.range("a".."b").keys().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(a, ["ada", "alan"]);
    /// assert_eq!(births.range(.."b").next_back().transpose()?, Some(("alan".to_owned(), 1912)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "a range does nothing before it is asked for entries"]
    pub fn range(&self, keys: impl KeyRange<K>) -> Range<K, V> {
        let (from, to) = keys.ends();
        Range::new(
            self.clone(),
            match self.words() {
                Some(words) => {
                    Entries::Words(words.range((from.map(K::to_word), to.map(K::to_word))))
                }
                None => match (encode_bound::<K>(from), encode_bound::<K>(to)) {
                    (Ok(from), Ok(to)) => Entries::Bytes(self.bytes().range(from, to)),
                    (Err(error), _) | (_, Err(error)) => Entries::Failed(Some(error)),
                },
            },
        )
    }

    /// Passes the entries with keys in `keys` to `visit`, in order, without an allocation for each:
    /// `range(keys).visit(visit)`. It is faster than the range if entries are only read.
    ///
    /// `visit` may call the map. The range is live: keys that `visit` inserts further on may be visited as well. The
    /// call ends when the range has no further key.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// use std::ops::ControlFlow;
    ///
    /// let births = pool.map::<str, u16>("births")?;
    /// births.extend([("ada", 1815), ("alan", 1912), ("grace", 1906)])?;
    /// let mut years = 0;
    /// births.range_with(.., |_, year| years += u32::from(year))?;
    /// let first_of_1900 = births.range_with(.., |name, year| match year {
    ///     1900.. => ControlFlow::Break(name.to_owned()),
    ///     _ => ControlFlow::Continue(()),
    /// })?;
    /// assert_eq!(first_of_1900, ControlFlow::Break("alan".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read, and [`Error::Encode`].
    pub fn range_with<R: Visit>(
        &self,
        keys: impl KeyRange<K>,
        visit: impl FnMut(K::Ref<'_>, V::Ref<'_>) -> R,
    ) -> Result<R> {
        self.range(keys).visit(visit)
    }

    /// The keys whose entries have bytes of this stretch of the pool file, each with its value beside it there. A program
    /// that needs one long piece of free space, and may remove entries, finds here which of them are in the way. Changes by
    /// other threads may be missed. Entries whose keys or values are numbers are in nodes of the index, and are not found.
    ///
    /// It takes time in proportion to the bytes, whatever the size of the map: about a lookup for each piece of memory that
    /// the pool has handed out there.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let pages = pool.map::<str, str>("pages")?;
    /// pages.insert("/", "<h1>Hello</h1>")?;
    /// assert_eq!(pages.keys_in(0..pool.stats()?.file_bytes)?, ["/"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that read.
    pub fn keys_in(&self, bytes: std::ops::Range<u64>) -> Result<Vec<K::Owned>> {
        let (mut keys, mut failed) = (Vec::new(), None);
        if self.words().is_some() {
            return Ok(keys);
        }
        self.bytes().keys_in(bytes, &mut |key| match decode::<K>(key) {
            Ok(key) => keys.push(key),
            Err(error) => failed = Some(error),
        })?;
        failed.map_or(Ok(keys), Err)
    }

    /// The entries whose keys start with `prefix`: strings that start with it, or tuples whose first field it is. (For
    /// two fields of three, nest them: `((String, String), u64)` takes `prefix(("a", "b"))`, and sorts as the flat
    /// tuple does.)
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let posts = pool.map::<(String, u64), str>("posts")?;
    /// posts.insert(("ada", 1), "Notes")?;
    /// posts.insert(("ada", 2), "More notes")?;
    /// posts.insert(("adam", 1), "Me too")?;
    /// assert_eq!(posts.prefix("ada").count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "a range does nothing before it is asked for entries"]
    pub fn prefix(&self, prefix: K::Prefix<'_>) -> Range<K, V>
    where
        K: PrefixKey,
    {
        let from = match encode_prefix::<K>(prefix) {
            Ok(from) => from,
            Err(error) => return Range::new(self.clone(), Entries::Failed(Some(error))),
        };
        Range::new(
            self.clone(),
            match self.words() {
                Some(words) => {
                    let padded = |byte| Bound::Included(padded::<K>(&from, byte));
                    Entries::Words(words.range((padded(0), padded(0xFF))))
                }
                None => {
                    let to = behind(&from).map_or(Bound::Unbounded, Bound::Excluded);
                    Entries::Bytes(self.bytes().range(Bound::Included(from), to))
                }
            },
        )
    }

    /// All entries: `range(..)`.
    #[must_use = "a range does nothing before it is asked for entries"]
    pub fn iter(&self) -> Range<K, V> {
        self.range(..)
    }

    /// All keys. Values are not read.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let years = pool.map::<str, u16>("years")?;
    /// years.extend([("grace", 1906), ("ada", 1815)])?;
    /// let names = years.keys().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(names, ["ada", "grace"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "a range does nothing before it is asked for entries"]
    pub fn keys(&self) -> Keys<K, V> {
        self.iter().keys()
    }

    /// All values, in the order of their keys.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let hits = pool.map::<str, u64>("hits")?;
    /// hits.extend([("/", 7), ("/about", 1)])?;
    /// assert_eq!(hits.values().sum::<Result<u64, _>>()?, 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "a range does nothing before it is asked for entries"]
    pub fn values(&self) -> Values<K, V> {
        self.iter().values()
    }

    /// Removes all entries, one after the other: O(n). Entries that other threads insert meanwhile may stay. To remove
    /// a whole map, drop it ([`Pool::drop_map`](crate::Pool::drop_map)).
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that write; some entries may then be removed.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let years = pool.map::<str, u16>("years")?;
    /// years.extend([("grace", 1906), ("ada", 1815)])?;
    /// years.clear()?;
    /// assert!(years.is_empty()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(&self) -> Result<()> {
        self.remove_range(..).map(drop)
    }

    /// Removes the entries with keys in `keys`, one after the other; returns how many. It decodes none of them, so it
    /// also removes entries that do not decode as the map's types.
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that write; some entries may then be removed.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let log = pool.map::<u64, str>("log")?;
    /// log.extend([(1, "old"), (2, "old"), (3, "new")])?;
    /// assert_eq!(log.remove_range(..3)?, 2);
    /// assert_eq!(log.len()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_range(&self, keys: impl KeyRange<K>) -> Result<usize> {
        let (from, to) = keys.ends();
        let mut removed = 0;
        if let Some(words) = self.words() {
            let mut range = words.range((from.map(K::to_word), to.map(K::to_word)));
            while let Some(key) = range.next_key(words, &mut 0) {
                removed += usize::from(words.remove(key)?.is_some());
            }
            return range.take_failure().map_or(Ok(removed), Err);
        }
        let bytes = self.bytes();
        let mut range = bytes.range(encode_bound::<K>(from)?, encode_bound::<K>(to)?);
        while let Some(entry) = range.next(bytes, true, false)? {
            let mut is_there = false;
            bytes.apply(entry.key(), &mut |old| {
                is_there = old.is_some();
                ByteChange::Remove
            })?;
            removed += usize::from(is_there);
        }
        Ok(removed)
    }

    /// Removes the entries for which `keep` returns `false`, one after the other; returns how many. As the closure of
    /// [`alter`](Self::alter) does, `keep` runs outside any lock, may call the map, and runs again if the value changed
    /// meanwhile. The range is live, so that `keep` may also get keys that it inserts further on.
    ///
    /// An entry that does not decode stays. The call visits all other entries, and then returns the error.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let sessions = pool.map::<u64, u64>("sessions")?;
    /// sessions.extend([(1, 100), (2, 200), (3, 300)])?;
    /// assert_eq!(sessions.retain(|_, last_seen| last_seen >= 200)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those that [`Map`] names for methods that write, and [`Error::RecursiveUpdate`]; some entries may then be
    /// removed.
    pub fn retain(&self, mut keep: impl FnMut(K::Ref<'_>, V::Ref<'_>) -> bool) -> Result<usize> {
        let (mut removed, mut unread, _call) = (0, None, self.call());
        for entry in self {
            let removal = entry.and_then(|(key, value)| {
                Ok(!keep(K::lend(&key), V::lend(&value))
                    && self.remove_unless(&key, value, &mut keep)?)
            });
            match removal {
                Ok(is_out) => removed += usize::from(is_out),
                Err(error @ Error::Decode { .. }) => _ = unread.get_or_insert(error),
                Err(error) => return Err(error),
            }
        }
        unread.map_or(Ok(removed), Err)
    }

    /// Removes an entry whose value `keep` has rejected, unless the value has changed and `keep` accepts the new one.
    /// Returns whether the entry was removed.
    fn remove_unless(
        &self,
        key: &K::Owned,
        value: V::Owned,
        keep: &mut impl FnMut(K::Ref<'_>, V::Ref<'_>) -> bool,
    ) -> Result<bool> {
        if let Some(words) = self.words() {
            let key_word = K::to_word(K::lend(key));
            let (mut value, mut runs) = (V::to_word(V::lend(&value)), Runs::new(self.tree()));
            loop {
                match words.compare_exchange(key_word, Some(value), None)? {
                    Ok(()) => return Ok(true),
                    Err(None) => return Ok(false),
                    Err(Some(found)) => value = found,
                }
                let Some(now) = from_words::<V>(Some(value))? else { return Ok(false) };
                let watch = runs.begin()?;
                let stays = keep(K::lend(key), V::lend(&now));
                runs.end(watch);
                if stays {
                    return Ok(false);
                }
            }
        }
        let (mut goes, mut runs) = (Ok(false), Runs::new(self.tree()));
        // A value that already has bytes is not copied again.
        encoded::<V, _>(V::lend(&value), |value| {
            encoded::<K, _>(K::lend(key), |encoded_key| {
                self.bytes().modify(encoded_key, &mut |old| {
                    goes = match old {
                        None => Ok(false),
                        Some(old) if old == *value => Ok(true),
                        Some(old) => read::<V>(old).and_then(|now| {
                            let watch = runs.begin()?;
                            let stays = keep(K::lend(key), V::lend(&now));
                            runs.end(watch);
                            Ok(!stays)
                        }),
                    };
                    if matches!(goes, Ok(true)) { ByteChange::Remove } else { ByteChange::Keep }
                })
            })
        })?;
        goes
    }
}
