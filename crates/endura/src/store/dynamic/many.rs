//! Operations on many entries.

use std::ops::Bound;

use super::encoding::Encoding;
use super::map::DynamicMap;
use super::range::DynamicRange;
use super::untyped::UntypedMap;
use crate::Result;

/// The operations of [`Map`](crate::Map), with its errors.
#[expect(clippy::missing_errors_doc, reason = "those of the method of `Map`, and `Error::Encode`")]
impl DynamicMap {
    /// [`Map::get_many`](crate::Map::get_many)
    pub fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Encoding>>> {
        match &self.map {
            UntypedMap::Words(map) => {
                let words: Result<Vec<u64>> = keys.iter().map(|key| self.key_word(key)).collect();
                let found = map.get_many(words?)?;
                Ok(found.into_iter().map(|value| self.found(value)).collect())
            }
            UntypedMap::Bytes(map) => {
                keys.iter().try_for_each(|key| self.checked_key(key).map(drop))?;
                let found = map.get_many(keys.iter().copied())?;
                Ok(found.into_iter().map(|value| value.map(Encoding::of_bytes)).collect())
            }
        }
    }

    /// [`Map::extend`](crate::Map::extend)
    pub fn extend<'a>(
        &self,
        entries: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<usize> {
        let (mut entries, mut failed) = (entries.into_iter(), None);
        let count = match &self.map {
            UntypedMap::Words(map) => map.extend(std::iter::from_fn(|| {
                let (key, value) = entries.next()?;
                let words = self.key_word(key).and_then(|key| Ok((key, self.value_word(value)?)));
                words.map_err(|error| failed = Some(error)).ok()
            })),
            UntypedMap::Bytes(map) => map.extend(std::iter::from_fn(|| {
                let (key, value) = entries.next()?;
                let checked = self.checked_key(key).and_then(|_| self.checked_value(value));
                checked.map_err(|error| failed = Some(error)).ok().map(|value| (key, value))
            })),
        }?;
        failed.map_or(Ok(count), Err)
    }

    /// [`Map::range`](crate::Map::range)
    pub fn range(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<DynamicRange> {
        Ok(match &self.map {
            UntypedMap::Words(map) => {
                let keys = (self.bound(from)?, self.bound(to)?);
                DynamicRange::of_words(self, map.range(keys))
            }
            UntypedMap::Bytes(map) => {
                self.check_bound(from)?;
                self.check_bound(to)?;
                DynamicRange::of_bytes(map.range((from, to)))
            }
        })
    }

    /// All entries: [`Map::iter`](crate::Map::iter).
    pub fn iter(&self) -> DynamicRange {
        match &self.map {
            UntypedMap::Words(map) => DynamicRange::of_words(self, map.iter()),
            UntypedMap::Bytes(map) => DynamicRange::of_bytes(map.iter()),
        }
    }

    /// The entries whose encoded keys start with these bytes: the first bytes of keys that are `str` or `[u8]`, or the
    /// fields of a tuple that [`Type::encode_part`](super::Type::encode_part) has appended.
    pub fn prefix(&self, prefix: &[u8]) -> DynamicRange {
        match &self.map {
            UntypedMap::Words(map) => {
                let width = self.key.word_width();
                let end = |fill: u8| {
                    let rest = std::iter::repeat_n(fill, width.saturating_sub(prefix.len()));
                    let bytes = prefix.iter().copied().take(width).chain(rest);
                    Bound::Included(bytes.fold(0, |word, byte| word << 8 | u64::from(byte)))
                };
                // A prefix longer than every key matches no key.
                let from = if prefix.len() > width { Bound::Excluded(u64::MAX) } else { end(0) };
                DynamicRange::of_words(self, map.range((from, end(0xFF))))
            }
            UntypedMap::Bytes(map) => DynamicRange::of_bytes(map.prefix(prefix)),
        }
    }

    /// [`Map::remove_range`](crate::Map::remove_range)
    pub fn remove_range(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<usize> {
        match &self.map {
            UntypedMap::Words(map) => map.remove_range((self.bound(from)?, self.bound(to)?)),
            UntypedMap::Bytes(map) => {
                self.check_bound(from)?;
                self.check_bound(to)?;
                map.remove_range((from, to))
            }
        }
    }

    /// [`Map::clear`](crate::Map::clear)
    pub fn clear(&self) -> Result<()> {
        match &self.map {
            UntypedMap::Words(map) => map.clear(),
            UntypedMap::Bytes(map) => map.clear(),
        }
    }

    /// [`Map::retain`](crate::Map::retain)
    pub fn retain(&self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) -> Result<usize> {
        match &self.map {
            UntypedMap::Words(map) => {
                map.retain(|key, value| keep(&self.key.encoding(key), &self.value.encoding(value)))
            }
            UntypedMap::Bytes(map) => map.retain(keep),
        }
    }

    fn check_bound(&self, bound: Bound<&[u8]>) -> Result<()> {
        match bound {
            Bound::Included(key) | Bound::Excluded(key) => self.checked_key(key).map(drop),
            Bound::Unbounded => Ok(()),
        }
    }

    fn bound(&self, bound: Bound<&[u8]>) -> Result<Bound<u64>> {
        self.check_bound(bound)?;
        Ok(bound.map(super::encoding::word))
    }
}
