//! The map under torture: from numbers to numbers, or from byte strings to byte strings that represent numbers.

use endura::{Error, Kind, Map, MapOptions, Pool, Result};

use super::strings;

/// The name of the map.
const MAP: &str = "torture";

/// The map, with numbers as keys and values.
pub(super) enum Subject {
    Numbers(Map<u64, u64>),
    Strings(Map<[u8], [u8]>),
}

impl Subject {
    /// Creates the map of `pool`, of this kind: of byte strings, if that is wanted, or if the kind has no nodes for numbers.
    pub(super) fn create(pool: &Pool, kind: Kind, strings: bool) -> Result<Self> {
        let options = MapOptions::new().kind(kind);
        match strings || !kind.holds_words() {
            true => pool.map_with(MAP, options).map(Self::Strings),
            false => pool.map_with(MAP, options).map(Self::Numbers),
        }
    }

    /// Opens the map of `pool`.
    pub(super) fn open(pool: &Pool) -> Result<Self> {
        let found = pool.maps()?.into_iter().find(|map| map.name == MAP);
        let map = found.ok_or_else(|| Error::NoSuchMap { name: MAP.into() })?;
        match map.types.key == "u64" {
            true => pool.map(MAP).map(Self::Numbers),
            false => pool.map(MAP).map(Self::Strings),
        }
    }

    pub(super) fn get(&self, key: u64) -> Result<Option<u64>> {
        match self {
            Self::Numbers(map) => map.get(key),
            Self::Strings(map) => number(map.get(&strings::key(key))?),
        }
    }

    pub(super) fn insert(&self, key: u64, value: u64) -> Result<Option<u64>> {
        match self {
            Self::Numbers(map) => map.insert(key, value),
            Self::Strings(map) => number(map.insert(&strings::key(key), &strings::value(value))?),
        }
    }

    pub(super) fn insert_new(&self, key: u64, value: u64) -> Result<bool> {
        match self {
            Self::Numbers(map) => map.insert_if_absent(key, value),
            Self::Strings(map) => map.insert_if_absent(&strings::key(key), &strings::value(value)),
        }
    }

    pub(super) fn update(&self, key: u64, value: u64) -> Result<Option<u64>> {
        match self {
            Self::Numbers(map) => map.replace(key, value),
            Self::Strings(map) => number(map.replace(&strings::key(key), &strings::value(value))?),
        }
    }

    pub(super) fn remove(&self, key: u64) -> Result<Option<u64>> {
        match self {
            Self::Numbers(map) => map.remove(key),
            Self::Strings(map) => number(map.remove(&strings::key(key))?),
        }
    }

    pub(super) fn compare_exchange(
        &self,
        key: u64,
        expected: Option<u64>,
        new: Option<u64>,
    ) -> Result<Result<(), Option<u64>>> {
        match self {
            Self::Numbers(map) => map.compare_exchange(key, expected, new),
            Self::Strings(map) => {
                let (expected, new) = (expected.map(strings::value), new.map(strings::value));
                let key = strings::key(key);
                Ok(match map.compare_exchange(&key, expected.as_deref(), new.as_deref())? {
                    Ok(()) => Ok(()),
                    Err(found) => Err(number(found)?),
                })
            }
        }
    }

    /// Like [`Map::alter`]. A value that no writer wrote is passed to `update` as an absent one, and the call then
    /// returns an error.
    pub(super) fn fetch_update(
        &self,
        key: u64,
        mut update: impl FnMut(Option<u64>) -> Option<u64>,
    ) -> Result<Option<u64>> {
        match self {
            Self::Numbers(map) => map.alter(key, update),
            Self::Strings(map) => number(map.alter(&strings::key(key), |old| {
                update(old.and_then(strings::value_number)).map(strings::value)
            })?),
        }
    }

    pub(super) fn iter(&self) -> Box<dyn DoubleEndedIterator<Item = Result<(u64, u64)>>> {
        match self {
            Self::Numbers(map) => Box::new(map.iter()),
            Self::Strings(map) => Box::new(map.iter().map(|entry| {
                let (key, value) = entry?;
                let numbers = strings::key_number(&key).zip(strings::value_number(&value));
                numbers.ok_or(MADE_UP)
            })),
        }
    }
}

const MADE_UP: Error = Error::Corrupt { offset: 0, what: "a key or a value that nobody wrote" };

fn number(value: Option<Vec<u8>>) -> Result<Option<u64>> {
    value.map(|bytes| strings::value_number(&bytes).ok_or(MADE_UP)).transpose()
}
