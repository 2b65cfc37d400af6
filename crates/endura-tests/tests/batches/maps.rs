//! Maps of all kinds, with numbers for keys and values.

use endura::dynamic::DynamicMap;
use endura::{Batch, Kind, MapOptions, Pool, Result, Transaction, Types};

/// Kind, type of keys, type of values.
pub(crate) const KINDS: [(Kind, &str, &str); 7] = [
    (Kind::FastFair, "u64", "u64"),
    (Kind::NbTree, "u64", "u64"),
    (Kind::FastFair, "u64", "[u8]"),
    (Kind::NbTree, "u64", "[u8]"),
    (Kind::FastFair, "[u8]", "[u8]"),
    (Kind::NbTree, "[u8]", "[u8]"),
    (Kind::Roart, "[u8]", "[u8]"),
];

/// A map whose keys and values are numbers, in an encoding of its types.
#[derive(Clone)]
pub(crate) struct Numbers {
    pub(crate) map: DynamicMap,
    has_long_values: bool,
}

impl Numbers {
    pub(crate) fn open(pool: &Pool, name: &str, kind: usize) -> Self {
        let (kind, key, value) = KINDS[kind % KINDS.len()];
        let types = Types { key: key.to_owned(), value: value.to_owned() };
        let options = MapOptions::new().kind(kind);
        let map = DynamicMap::open_as(pool, name, options, types).unwrap();
        Self { map, has_long_values: value == "[u8]" }
    }

    fn value(&self, number: u64) -> Vec<u8> {
        let mut value = number.to_be_bytes().to_vec();
        if self.has_long_values {
            value.resize(8 + (number % 200) as usize, 7);
        }
        value
    }

    pub(crate) fn get(&self, key: u64) -> Option<u64> {
        self.map.get(&key.to_be_bytes()).unwrap().map(|value| number(&value))
    }

    pub(crate) fn put(&self, key: u64, value: u64) {
        self.map.put(&key.to_be_bytes(), &self.value(value)).unwrap();
    }

    /// Gives the key a number, and returns the one before.
    pub(crate) fn insert(&self, key: u64, value: u64) -> Option<u64> {
        let old = self.map.insert(&key.to_be_bytes(), &self.value(value)).unwrap();
        old.map(|old| number(&old))
    }

    /// Removes the key, and returns its number.
    pub(crate) fn remove(&self, key: u64) -> Option<u64> {
        self.map.remove(&key.to_be_bytes()).unwrap().map(|old| number(&old))
    }

    pub(crate) fn all(&self) -> Vec<(u64, u64)> {
        let entries = self.map.iter().map(|entry| {
            let (key, value) = entry.unwrap();
            (number(&key), number(&value))
        });
        entries.collect()
    }

    /// Adds a part: a value, or that the key is removed.
    pub(crate) fn set_in(&self, batch: &mut Batch, key: u64, value: Option<u64>) -> Result<()> {
        let key = key.to_be_bytes();
        match value {
            Some(value) => batch.put_encoded(&self.map, &key, &self.value(value)).map(drop),
            None => batch.delete_encoded(&self.map, &key).map(drop),
        }
    }

    pub(crate) fn expect_in(&self, batch: &mut Batch, key: u64, value: Option<u64>) {
        let value = value.map(|value| self.value(value));
        batch.expect_encoded(&self.map, &key.to_be_bytes(), value.as_deref()).unwrap();
    }

    pub(crate) fn get_in(&self, tx: &mut Transaction<'_>, key: u64) -> Result<Option<u64>> {
        let found = tx.get_encoded(&self.map, &key.to_be_bytes())?;
        Ok(found.map(|value| number(&value)))
    }

    pub(crate) fn put_in(&self, tx: &mut Transaction<'_>, key: u64, value: u64) -> Result<()> {
        tx.put_encoded(&self.map, &key.to_be_bytes(), &self.value(value))
    }

    pub(crate) fn delete_in(&self, tx: &mut Transaction<'_>, key: u64) -> Result<()> {
        tx.delete_encoded(&self.map, &key.to_be_bytes())
    }
}

pub(crate) fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes[..8].try_into().unwrap())
}

/// A stream of numbers that is the same in each run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }
}
