//! One way to write to a map of any kind, for tests of what all of them share.

use endura::{Map, MapOptions, Pool};
use endura_engine::{Kind, Result};

/// A map of any kind.
#[derive(Clone)]
pub(crate) enum Words {
    /// From words to words.
    Numbers(Map<u64, u64>),
    /// From words to values of some length.
    Strings(Map<u64, [u8]>),
}

impl Words {
    pub(crate) const KINDS: [Kind; 3] = [Kind::FastFair, Kind::NbTree, Kind::Roart];

    pub(crate) fn open(pool: &Pool, kind: Kind) -> Self {
        match kind {
            Kind::Roart => Self::Strings(pool.map("map").unwrap()),
            kind => Self::Numbers(pool.map_with("map", MapOptions::new().kind(kind)).unwrap()),
        }
    }

    /// A value of `len` bytes, where the map has such.
    pub(crate) fn insert(&self, key: u64, len: usize) -> Result<()> {
        match self {
            Self::Numbers(map) => map.insert(key, len as u64).map(drop),
            Self::Strings(map) => map.insert(key, &vec![7; len]).map(drop),
        }
    }

    pub(crate) fn remove(&self, key: u64) -> Result<()> {
        match self {
            Self::Numbers(map) => map.remove(key).map(drop),
            Self::Strings(map) => map.remove(key).map(drop),
        }
    }
}

/// Numbers that look random.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}
