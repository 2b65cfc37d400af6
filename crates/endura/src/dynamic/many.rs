//! Operations on many entries.

use std::cmp::Ordering;
use std::ops::Bound;

use endura_engine::tree::byte_range::behind;

use super::encoding::Encoding;
use super::form::{Form, Lent, Owned, WordWidth, in_form};
use super::map::DynamicMap;
use super::range::DynamicRange;
use crate::Result;

/// The operations of [`Map`](crate::Map), with its errors.
impl DynamicMap {
    /// [`Map::get_many`](crate::Map::get_many)
    pub fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Encoding>>> {
        let width = self.value.word_width();
        in_form!(&self.map, map => {
            let keys: Result<Vec<_>> = keys.iter().map(|key| self.key(key)).collect();
            let found = map.get_many(keys?)?;
            Ok(found.into_iter().map(|value| value.map(|value| value.encoding(width))).collect())
        })
    }

    /// [`Map::extend`](crate::Map::extend)
    pub fn extend<'a>(
        &self,
        entries: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<usize> {
        let (mut entries, mut failed) = (entries.into_iter(), None);
        let count = in_form!(&self.map, map => map.extend(std::iter::from_fn(|| {
            let (key, value) = entries.next()?;
            let checked = self.key(key).and_then(|key| Ok((key, self.value(value)?)));
            checked.map_err(|error| failed = Some(error)).ok()
        })))?;
        failed.map_or(Ok(count), Err)
    }

    /// [`Map::range`](crate::Map::range). A bound may be any bytes, for example the first bytes of some keys: it is
    /// compared with the encodings of the keys, byte by byte.
    pub fn range(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> DynamicRange {
        DynamicRange::of(
            self,
            match &self.map {
                Form::Words(map) => Form::Words(map.range(self.word_bounds(from, to))),
                Form::Bytes(map) => Form::Bytes(map.range((from, to))),
            },
        )
    }

    /// All entries: [`Map::iter`](crate::Map::iter).
    pub fn iter(&self) -> DynamicRange {
        DynamicRange::of(self, in_form!(&self.map, map => Form: map.iter()))
    }

    /// The entries whose encoded keys start with `prefix`. `prefix` may be the first bytes of keys that are `str` or
    /// `[u8]`, or the first fields of tuples, each appended by [`Type::encode_part`](super::Type::encode_part).
    pub fn prefix(&self, prefix: &[u8]) -> DynamicRange {
        let end = behind(prefix);
        let to = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        self.range(Bound::Included(prefix), to)
    }

    /// [`Map::remove_range`](crate::Map::remove_range), with bounds as for [`range`](Self::range).
    pub fn remove_range(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<usize> {
        match &self.map {
            Form::Words(map) => map.remove_range(self.word_bounds(from, to)),
            Form::Bytes(map) => map.remove_range((from, to)),
        }
    }

    /// [`Map::clear`](crate::Map::clear)
    pub fn clear(&self) -> Result<()> {
        in_form!(&self.map, map => map.clear())
    }

    /// [`Map::retain`](crate::Map::retain)
    pub fn retain(&self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) -> Result<usize> {
        let (of_key, of_value) = (self.key.word_width(), self.value.word_width());
        in_form!(&self.map, map => {
            map.retain(|key, value| keep(&key.lent(of_key), &value.lent(of_value)))
        })
    }

    /// The bounds, as words, of the keys whose encodings are between `from` and `to`, compared byte by byte.
    fn word_bounds(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> (Bound<u64>, Bound<u64>) {
        let WordWidth(width) = self.key.word_width();
        // The first bytes of a bound as a word, filled up with zeros, and the comparison of its length with that of a
        // key.
        let cut = |bound: &[u8]| {
            let bytes = bound.iter().copied().chain(std::iter::repeat(0)).take(width);
            let word = bytes.fold(0, |word, byte| word << 8 | u64::from(byte));
            (word, bound.len().cmp(&width))
        };
        // A key that starts with a shorter bound is greater than the bound. A longer bound is greater than a key with
        // which it starts.
        let start = |bound: &[u8], is_in: bool| match cut(bound) {
            (word, Ordering::Less) => Bound::Included(word),
            (word, Ordering::Equal) if is_in => Bound::Included(word),
            (word, _) => Bound::Excluded(word),
        };
        let end = |bound: &[u8], is_in: bool| match cut(bound) {
            (word, Ordering::Greater) => Bound::Included(word),
            (word, Ordering::Equal) if is_in => Bound::Included(word),
            (word, _) => Bound::Excluded(word),
        };
        let place = |bound, side: &dyn Fn(&[u8], bool) -> Bound<u64>| match bound {
            Bound::Included(key) => side(key, true),
            Bound::Excluded(key) => side(key, false),
            Bound::Unbounded => Bound::Unbounded,
        };
        (place(from, &start), place(to, &end))
    }
}
