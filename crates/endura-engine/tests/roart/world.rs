//! Worlds with a map of byte strings.

use std::sync::Arc;
use std::time::Duration;

use endura_engine::Result;
use endura_engine::space::Space;
use endura_engine::tree::roart::{Techniques, Tree};
use endura_engine::tree::{Len, TreeCheck};
use endura_variants::handles::{ByteEntry, ByteMap};

use crate::readers;
use crate::sessions::{Contents, Medium};

pub(crate) use crate::sessions::World;

pub(crate) type MapOf<T> = ByteMap<Tree<Medium, T>>;

impl<T: Techniques> Contents for T {
    type Map = MapOf<T>;

    const PAGES: u64 = 512;
    const PATIENCE: Duration = Duration::from_millis(1);

    fn open_map(space: &Arc<Space<Medium>>) -> Result<MapOf<T>> {
        Tree::open(space, "map").map(ByteMap::over)
    }

    fn check_map(map: &MapOf<T>, visit: &mut dyn FnMut(u64, u64)) -> Result<TreeCheck> {
        map.index().check(visit)
    }

    fn read_in_every_way(map: &MapOf<T>) -> usize {
        readers::read_in_every_way(map)
    }
}

impl<T: Techniques> World<T> {
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

    pub(crate) fn keys(&self) -> Vec<Vec<u8>> {
        self.entries().into_iter().map(|(key, _)| key).collect()
    }
}
