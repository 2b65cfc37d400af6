//! The reference: what a map must do, said with a `BTreeMap`.

use std::collections::BTreeMap;
use std::ops::Bound;

/// A range as the standard library writes it.
pub(crate) type Bounds = (Bound<u64>, Bound<u64>);

/// What each operation must answer, and leave behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reference(pub(crate) BTreeMap<u64, u64>);

impl Reference {
    pub(crate) fn update(&mut self, key: u64, value: u64) -> Option<u64> {
        self.0.get_mut(&key).map(|old| std::mem::replace(old, value))
    }

    pub(crate) fn insert_new(&mut self, key: u64, value: u64) -> bool {
        let absent = !self.0.contains_key(&key);
        self.0.entry(key).or_insert(value);
        absent
    }

    /// Leaves `new` behind (`None`: no entry).
    pub(crate) fn set(&mut self, key: u64, new: Option<u64>) -> Option<u64> {
        match new {
            Some(value) => self.0.insert(key, value),
            None => self.0.remove(&key),
        }
    }

    pub(crate) fn compare_exchange(
        &mut self,
        key: u64,
        expected: Option<u64>,
        new: Option<u64>,
    ) -> Result<(), Option<u64>> {
        let found = self.0.get(&key).copied();
        if found != expected {
            return Err(found);
        }
        self.set(key, new);
        Ok(())
    }

    /// The entries in `bounds`. Where `BTreeMap::range` panics (the end before the start), a map
    /// has no entries.
    pub(crate) fn range(&self, (low, high): Bounds) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        let after = move |key: &u64| match low {
            Bound::Included(low) => low <= *key,
            Bound::Excluded(low) => low < *key,
            Bound::Unbounded => true,
        };
        let before = move |key: &u64| match high {
            Bound::Included(high) => *key <= high,
            Bound::Excluded(high) => *key < high,
            Bound::Unbounded => true,
        };
        let inside = move |(key, _): &(&u64, &u64)| after(key) && before(key);
        self.0.iter().filter(inside).map(|(&key, &value)| (key, value))
    }

    pub(crate) fn remove_range(&mut self, bounds: Bounds) -> u64 {
        let doomed: Vec<u64> = self.range(bounds).map(|(key, _)| key).collect();
        doomed.iter().filter(|key| self.0.remove(key).is_some()).count() as u64
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(u64, u64) -> bool) -> u64 {
        let before = self.0.len();
        self.0.retain(|&key, &mut value| keep(key, value));
        (before - self.0.len()) as u64
    }
}
