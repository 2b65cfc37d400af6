//! Live ranges, from both ends.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::ControlFlow;

use endura_engine::index::{Strings, Words};
use endura_engine::tree::Entry;
use endura_engine::tree::byte_range::behind;

use crate::encoding::value::{Key, PrefixKey, Value};
use crate::map::convert::{decode, decode_error, encode, encode_prefix, from_word, own, padded};
use crate::map::handle::Map;
use crate::map::visit::Visit;
use crate::{Error, Result};

/// The part of a range that is still to be returned.
pub(crate) enum Entries {
    Words(Words),
    Bytes(Strings),
    /// A bound could not be encoded: the error is returned once.
    Failed(Option<Error>),
}

/// The entries of a map with keys between two bounds; see [`Map::range`].
///
/// The range continues after an entry that does not decode ([`Error::Decode`]); any other error ends it.
///
/// # Example
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
/// let years = pool.map::<str, u16>("years")?;
/// years.extend([("ada", 1815), ("alan", 1912), ("grace", 1906)])?;
/// let mut range = years.range("b"..);
/// assert_eq!(range.next().transpose()?, Some(("grace".to_owned(), 1906)));
/// assert!(range.next().is_none());
/// let last = years.iter().next_back().transpose()?;     // ranges have two ends
/// assert_eq!(last, Some(("grace".to_owned(), 1906)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a range does nothing before it is asked for entries"]
pub struct Range<K: ?Sized, V: ?Sized> {
    map: Map<K, V>,
    entries: Entries,
}

impl<K: ?Sized, V: ?Sized> fmt::Debug for Range<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range").field("map", &self.map).finish_non_exhaustive()
    }
}

impl<K: Key + ?Sized, V: Value + ?Sized> Range<K, V> {
    pub(crate) fn new(map: Map<K, V>, entries: Entries) -> Self {
        Self { map, entries }
    }

    /// Only the keys. Values are not read.
    pub fn keys(self) -> Keys<K, V> {
        Keys(self)
    }

    /// Only the values.
    pub fn values(self) -> Values<K, V> {
        Values(self)
    }

    /// Passes the remaining entries to `visit`, in order, until it breaks, without an allocation for each. `visit` runs
    /// outside any lock and may call the map. In maps of strings and bytes, memory that other threads free meanwhile is
    /// not reused before `visit` returns.
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
    /// let years = pool.map::<str, u16>("years")?;
    /// years.extend([("ada", 1815), ("alan", 1912)])?;
    /// let mut sum = 0;
    /// years.iter().visit(|_, year| sum += u64::from(year))?;
    /// assert_eq!(sum, 3727);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn visit<R: Visit>(self, visit: impl FnMut(K::Ref<'_>, V::Ref<'_>) -> R) -> Result<R> {
        self.visit_from(true, visit)
    }

    /// Like [`visit`](Self::visit), but from the largest key down.
    ///
    /// # Errors
    ///
    /// As for [`visit`](Self::visit).
    pub fn visit_rev<R: Visit>(self, visit: impl FnMut(K::Ref<'_>, V::Ref<'_>) -> R) -> Result<R> {
        self.visit_from(false, visit)
    }

    /// Continues with the first key that is `key` or larger: a search in place of a walk over what lies between. A range
    /// that is past `key` already stays where it is. If `key` cannot be encoded, the next entry is that error.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let readings = pool.map::<u64, f64>("readings")?;
    /// readings.extend((0..1_000).map(|second| (second, 20.0)))?;
    /// let mut range = readings.iter();
    /// let mut seen = Vec::new();
    /// while let Some((second, _)) = range.next().transpose()? {
    ///     seen.push(second);
    ///     range.skip_to(second + 300);
    /// }
    /// assert_eq!(seen, [0, 300, 600, 900]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn skip_to(&mut self, key: K::Ref<'_>) {
        match &mut self.entries {
            Entries::Words(range) => range.skip_to(K::to_word(key)),
            Entries::Bytes(range) => match encode::<K>(key) {
                Ok(key) => range.skip_to(Some(key)),
                Err(error) => self.entries = Entries::Failed(Some(error)),
            },
            Entries::Failed(_) => {}
        }
    }

    /// Continues behind all keys that start with `prefix`, as [`Map::prefix`] understands it: from one first field of
    /// a tuple to the next, with a search for each.
    ///
    /// # Example
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let posts = pool.map::<(String, u64), str>("posts")?;
    /// posts.extend([(("ada", 1), "Notes"), (("ada", 2), "More notes"), (("adam", 1), "Me too")])?;
    /// let mut keys = posts.keys();
    /// let mut authors = Vec::new();
    /// while let Some((author, _)) = keys.next().transpose()? {
    ///     keys.skip_prefix(&author);
    ///     authors.push(author);
    /// }
    /// assert_eq!(authors, ["ada", "adam"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn skip_prefix(&mut self, prefix: K::Prefix<'_>)
    where
        K: PrefixKey,
    {
        match (&mut self.entries, encode_prefix::<K>(prefix)) {
            (Entries::Words(range), Ok(prefix)) => range.skip_past(padded::<K>(&prefix, 0xFF)),
            (Entries::Bytes(range), Ok(prefix)) => range.skip_to(behind(&prefix)),
            (Entries::Failed(_), _) => {}
            (_, Err(error)) => self.entries = Entries::Failed(Some(error)),
        }
    }

    fn visit_from<R: Visit>(
        mut self,
        upwards: bool,
        mut visit: impl FnMut(K::Ref<'_>, V::Ref<'_>) -> R,
    ) -> Result<R> {
        // The call is dropped before the range, because the range may be the last handle, whose drop closes the pool.
        let _call = self.map.call();
        let (mut last, mut failed) = (R::GO_ON, Ok(()));
        let mut step = |result: Result<R>| match result {
            Ok(answer) if answer.is_break() => {
                last = answer;
                ControlFlow::Break(())
            }
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Err(error);
                ControlFlow::Break(())
            }
        };
        match (&mut self.entries, self.map.words()) {
            (Entries::Words(range), Some(words)) => {
                range.visit(words, upwards, &mut |key, value| {
                    step(from_word::<K>(key).and_then(|key| {
                        let value = from_word::<V>(value)?;
                        Ok(visit(K::lend(&key), V::lend(&value)))
                    }))
                })?;
                self.map.unless_forked(())?
            }
            (Entries::Words(_), None) => unreachable!("an index of words made this range"),
            (Entries::Bytes(range), _) => {
                let visited = range.visit(self.map.bytes(), upwards, &mut |key, value| {
                    let shown = K::show(key, |key| {
                        V::show(value, |value| visit(key, value)).map_err(decode_error::<V>)
                    });
                    step(shown.map_err(decode_error::<K>).and_then(|shown| shown))
                });
                visited.map_err(|error| self.map.tree().take_note(error))?
            }
            (Entries::Failed(error), _) => error.take().map_or(Ok(()), Err)?,
        }
        failed.map(|()| last)
    }

    /// The next entry from one end, converted by one of the two closures. `of_bytes` gets an entry with its value only
    /// if `needs_value` is set.
    #[inline]
    fn step<A>(
        &mut self,
        upwards: bool,
        needs_value: bool,
        of_words: impl FnOnce(u64, u64) -> Result<A>,
        of_bytes: impl FnOnce(&mut Entry) -> Result<A>,
    ) -> Option<Result<A>> {
        if let (Entries::Words(range), Some(words)) = (&mut self.entries, self.map.words()) {
            let mut value = 0;
            let key = match upwards {
                true => range.next_key(words, &mut value),
                false => range.next_back_key(words, &mut value),
            };
            if let Some(key) = key {
                // An entry that does not decode does not end the range.
                return Some(of_words(key, value));
            }
        }
        self.other_step(upwards, needs_value, of_bytes)
    }

    /// A step in a range of byte strings, or after the last word.
    fn other_step<A>(
        &mut self,
        upwards: bool,
        needs_value: bool,
        of_bytes: impl FnOnce(&mut Entry) -> Result<A>,
    ) -> Option<Result<A>> {
        let failure = match &mut self.entries {
            Entries::Words(range) => range.take_failure()?,
            Entries::Bytes(range) => match range.next(self.map.bytes(), upwards, needs_value) {
                // An entry that does not decode does not end the range.
                Ok(Some(entry)) => return Some(of_bytes(entry)),
                Ok(None) => return None,
                Err(error) => error,
            },
            Entries::Failed(error) => error.take()?,
        };
        self.entries = Entries::Failed(None);
        Some(Err(failure))
    }

    #[inline]
    fn entry(&mut self, upwards: bool) -> Option<Result<(K::Owned, V::Owned)>> {
        self.step(
            upwards,
            true,
            |key, value| Ok((from_word::<K>(key)?, from_word::<V>(value)?)),
            |entry| Ok((decode::<K>(entry.key())?, own::<V>(entry.take_value())?)),
        )
    }
}

/// Keys in order; see [`Map::keys`].
#[must_use = "a range does nothing before it is asked for entries"]
#[derive(Debug)]
pub struct Keys<K: ?Sized, V: ?Sized>(Range<K, V>);

/// Values in the order of their keys; see [`Map::values`].
#[must_use = "a range does nothing before it is asked for entries"]
#[derive(Debug)]
pub struct Values<K: ?Sized, V: ?Sized>(Range<K, V>);

impl<K: Key + ?Sized, V: Value + ?Sized> Keys<K, V> {
    /// Does what [`Range::skip_to`] does.
    pub fn skip_to(&mut self, key: K::Ref<'_>) {
        self.0.skip_to(key);
    }

    /// Does what [`Range::skip_prefix`] does.
    pub fn skip_prefix(&mut self, prefix: K::Prefix<'_>)
    where
        K: PrefixKey,
    {
        self.0.skip_prefix(prefix);
    }

    #[inline]
    fn entry(&mut self, upwards: bool) -> Option<Result<K::Owned>> {
        self.0.step(upwards, false, |key, _| from_word::<K>(key), |entry| decode::<K>(entry.key()))
    }
}

impl<K: Key + ?Sized, V: Value + ?Sized> Values<K, V> {
    #[inline]
    fn entry(&mut self, upwards: bool) -> Option<Result<V::Owned>> {
        self.0.step(
            upwards,
            true,
            |_, value| from_word::<V>(value),
            |entry| own::<V>(entry.take_value()),
        )
    }
}

macro_rules! iterators {
    ($($type:ident, $item:ty;)*) => { $(
        impl<K: Key + ?Sized, V: Value + ?Sized> Iterator for $type<K, V> {
            type Item = Result<$item>;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.entry(true)
            }
        }

        impl<K: Key + ?Sized, V: Value + ?Sized> DoubleEndedIterator for $type<K, V> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                self.entry(false)
            }
        }

        impl<K: Key + ?Sized, V: Value + ?Sized> FusedIterator for $type<K, V> {}
    )* };
}

iterators! { Range, (K::Owned, V::Owned); Keys, K::Owned; Values, V::Owned; }

impl<K: Key + ?Sized, V: Value + ?Sized> IntoIterator for &Map<K, V> {
    type Item = Result<(K::Owned, V::Owned)>;
    type IntoIter = Range<K, V>;

    fn into_iter(self) -> Range<K, V> {
        self.range(..)
    }
}
