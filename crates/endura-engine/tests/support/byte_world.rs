//! Worlds with a map of byte strings, of any tree.

use endura_engine::tree::{ByteIndex, Len, TreeCheck};
use endura_variants::handles::{ByteEntry, ByteMap};
use proptest::prelude::*;

use crate::sessions::{Contents, World};

/// A map of byte strings.
pub(crate) trait ByteContents: Contents<Map = ByteMap<Self::Index>> {
    type Index: ByteIndex;

    /// Keys that the map takes, and that often meet others.
    fn key() -> BoxedStrategy<Vec<u8>>;

    /// The nodes and arrays of a map from which everything was removed, if that is certain.
    fn bare() -> Option<(u64, u64)>;
}

impl<C: ByteContents> World<C> {
    /// The map with these entries, whose values are their keys.
    pub(crate) fn with<K: AsRef<[u8]>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        for key in keys {
            assert_eq!(self.map().insert(&key, &key).unwrap(), None);
        }
        self
    }

    /// Checks the structure of a map that no crash ever met: nothing is left undone, nothing leaks.
    pub(crate) fn verify_tidy(&self) -> TreeCheck {
        let (check, shares) = self.verify_settled();
        assert_eq!(
            (check.repairs.dirty, check.repairs.barren, shares.leaked),
            (0, 0, 0),
            "{check:?}"
        );
        if let Len::Exact(len) = self.map().len().unwrap() {
            assert_eq!(len, check.entries);
        }
        check
    }

    /// The entries, which both directions agree on.
    pub(crate) fn entries(&self) -> Vec<ByteEntry> {
        let entries: Vec<_> = self.map().iter().map(|entry| entry.unwrap()).collect();
        assert!(entries.is_sorted_by(|a, b| a.0 < b.0), "sorted, without duplicates");
        let mut backward: Vec<_> = self.map().iter().rev().map(|entry| entry.unwrap()).collect();
        backward.reverse();
        assert_eq!(entries, backward);
        entries
    }

    #[allow(dead_code, reason = "tests of one tree use it")]
    pub(crate) fn keys(&self) -> Vec<Vec<u8>> {
        self.entries().into_iter().map(|(key, _)| key).collect()
    }
}
