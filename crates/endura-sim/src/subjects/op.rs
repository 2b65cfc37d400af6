//! What is done to a map.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;

use endura::lab::pool::PAGE;

/// Bytes that a pool of a few tiny trees needs.
pub const LIMIT: u64 = 12 * PAGE;

/// An operation of a map, one from `u64` to `u64` if nothing else is said. (A map of byte strings has its value
/// from the number.)
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapOp<K = u64> {
    /// Gives a key a value.
    Put(K, u64),
    /// Takes a key out.
    Remove(K),
}

impl<K> MapOp<K> {
    /// The key that it is about.
    pub fn about(&self) -> &K {
        match self {
            Self::Put(key, _) | Self::Remove(key) => key,
        }
    }
}

impl MapOp {
    /// The key that it is about.
    pub fn key(self) -> u64 {
        *self.about()
    }

    /// What it makes of a model; gives the value the key had.
    pub fn specify(self, model: &mut BTreeMap<u64, u64>) -> Option<u64> {
        match self {
            Self::Put(key, value) => model.insert(key, value),
            Self::Remove(key) => model.remove(&key),
        }
    }
}

/// A key of an operation.
pub trait Key: Clone + Ord + Hash + Send + Sync + 'static {
    /// As a failure tells it.
    fn text(&self) -> String;
}

impl Key for u64 {
    fn text(&self) -> String {
        self.to_string()
    }
}

impl Key for Vec<u8> {
    fn text(&self) -> String {
        format!("{:?}", self.escape_ascii().to_string())
    }
}

impl<K: Key> fmt::Debug for MapOp<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(key, value) => write!(f, "Put({}, {value})", key.text()),
            Self::Remove(key) => write!(f, "Remove({})", key.text()),
        }
    }
}
