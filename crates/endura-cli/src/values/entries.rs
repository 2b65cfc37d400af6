//! What the commands ask of a map, of whichever sort it is.

use endura::lab::handles::Handles as _;
use std::ops::Bound;

use endura::lab::handles::{AnyIndex, AnyMap, ByteRange, Roart, RoartIndex, WordRange};
use endura::lab::tree::Len;
use endura::{Kind, Pool, Result};

use crate::values::datum::Datum;

/// An open map.
pub(crate) enum OpenMap {
    /// From numbers to numbers.
    Numbers(AnyMap),
    /// From byte strings to byte strings.
    Bytes(Roart),
}

/// What the map `name` is; `None` if there is none.
pub(crate) fn kind_of(pool: &Pool, name: &str) -> Result<Option<Kind>> {
    let maps = pool.maps()?;
    Ok(maps.iter().find(|map| map.name == name).map(|map| map.kind))
}

impl OpenMap {
    /// The map `name`, as whatever it is unless a kind is asked for; made if there is none.
    pub(crate) fn open(pool: &Pool, name: &str, kind: Option<Kind>) -> Result<Self> {
        let kind = if kind.is_some() { kind } else { kind_of(pool, name)? };
        Ok(match kind {
            Some(Kind::Roart) => Self::Bytes(pool.roart(name)?),
            kind => Self::Numbers(pool.any_map(name, kind)?),
        })
    }
}

/// Runs the same code on a map of either sort, compiled for each.
macro_rules! on_map {
    ($map:expr, $entries:ident => $body:expr) => {
        match $map {
            $crate::values::entries::OpenMap::Numbers($entries) => $body,
            $crate::values::entries::OpenMap::Bytes($entries) => $body,
        }
    };
}
pub(crate) use on_map;

/// An entry.
pub(crate) type Entry<D> = (D, D);

/// The entries of a map.
pub(crate) trait Entries {
    /// What its keys and values are.
    type Datum: Datum;
    /// A range of it.
    type Range: DoubleEndedIterator<Item = Result<Entry<Self::Datum>>>;

    fn get(&self, key: &Self::Datum) -> Result<Option<Self::Datum>>;
    fn insert(&self, key: &Self::Datum, value: &Self::Datum) -> Result<Option<Self::Datum>>;
    /// Enters `key` if it is absent; gives the value that it has otherwise.
    fn insert_new(&self, key: &Self::Datum, value: &Self::Datum) -> Result<Option<Self::Datum>>;
    fn remove(&self, key: &Self::Datum) -> Result<Option<Self::Datum>>;
    fn range(&self, from: Bound<Self::Datum>, to: Bound<Self::Datum>) -> Self::Range;
    fn len(&self) -> Result<Len>;
}

impl Entries for AnyMap {
    type Datum = u64;
    type Range = WordRange<AnyIndex>;

    fn get(&self, key: &u64) -> Result<Option<u64>> {
        Self::get(self, *key)
    }

    fn insert(&self, key: &u64, value: &u64) -> Result<Option<u64>> {
        Self::insert(self, *key, *value)
    }

    fn insert_new(&self, key: &u64, value: &u64) -> Result<Option<u64>> {
        Ok(self.compare_exchange(*key, None, Some(*value))?.err().flatten())
    }

    fn remove(&self, key: &u64) -> Result<Option<u64>> {
        Self::remove(self, *key)
    }

    fn range(&self, from: Bound<u64>, to: Bound<u64>) -> WordRange<AnyIndex> {
        Self::range(self, (from, to))
    }

    fn len(&self) -> Result<Len> {
        Self::len(self)
    }
}

impl Entries for Roart {
    type Datum = Vec<u8>;
    type Range = ByteRange<RoartIndex>;

    fn get(&self, key: &Vec<u8>) -> Result<Option<Vec<u8>>> {
        Self::get(self, key)
    }

    fn insert(&self, key: &Vec<u8>, value: &Vec<u8>) -> Result<Option<Vec<u8>>> {
        Self::insert(self, key, value)
    }

    fn insert_new(&self, key: &Vec<u8>, value: &Vec<u8>) -> Result<Option<Vec<u8>>> {
        Ok(self.compare_exchange(key, None, Some(value))?.err().flatten())
    }

    fn remove(&self, key: &Vec<u8>) -> Result<Option<Vec<u8>>> {
        Self::remove(self, key)
    }

    fn range(&self, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> ByteRange<RoartIndex> {
        Self::range(self, (from, to))
    }

    fn len(&self) -> Result<Len> {
        Self::len(self)
    }
}
