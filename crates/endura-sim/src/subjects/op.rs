//! What is done to a map of numbers.

use std::collections::BTreeMap;

use endura::lab::pool::PAGE;

/// Bytes that a pool of a few tiny trees needs.
pub const LIMIT: u64 = 12 * PAGE;

/// An operation of a map from `u64` to `u64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapOp {
    /// Gives a key a value.
    Put(u64, u64),
    /// Takes a key out.
    Remove(u64),
}

impl MapOp {
    /// The key that it is about.
    pub fn key(self) -> u64 {
        match self {
            Self::Put(key, _) | Self::Remove(key) => key,
        }
    }

    /// What it makes of a model; gives the value the key had.
    pub fn specify(self, model: &mut BTreeMap<u64, u64>) -> Option<u64> {
        match self {
            Self::Put(key, value) => model.insert(key, value),
            Self::Remove(key) => model.remove(&key),
        }
    }
}
