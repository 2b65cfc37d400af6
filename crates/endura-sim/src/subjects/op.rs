//! What is done to a map.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;

use endura_engine::space::PAGE;

/// Bytes that a pool of a few tiny trees needs.
pub const LIMIT: u64 = 12 * PAGE;

/// An operation of a map, one from `u64` to `u64` if nothing else is said. (A map of byte strings has its value
/// from the number.) It returns the entry that it put out of the map, if there was one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapOp<K = u64> {
    /// Gives a key a value.
    Put(K, u64),
    /// Takes a key out.
    Remove(K),
    /// Takes out the entry with the smallest key.
    PopFirst,
    /// Takes out the entry with the largest key.
    PopLast,
}

impl<K> MapOp<K> {
    /// The key that it names. A pop names none.
    pub fn about(&self) -> Option<&K> {
        match self {
            Self::Put(key, _) | Self::Remove(key) => Some(key),
            Self::PopFirst | Self::PopLast => None,
        }
    }
}

impl<K: Key> MapOp<K> {
    /// What it makes of a model in which `value` is what a number is stored as; gives the entry that it put out.
    pub fn specify<V>(
        &self,
        model: &mut BTreeMap<K, V>,
        value: impl Fn(u64) -> V,
    ) -> Option<(K, V)> {
        match self {
            Self::Put(key, number) => {
                model.insert(key.clone(), value(*number)).map(|old| (key.clone(), old))
            }
            Self::Remove(key) => model.remove_entry(key),
            Self::PopFirst => model.pop_first(),
            Self::PopLast => model.pop_last(),
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
            Self::PopFirst => f.write_str("PopFirst"),
            Self::PopLast => f.write_str("PopLast"),
        }
    }
}
