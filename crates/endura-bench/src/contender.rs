//! Who takes part: endura's indexes, the stores that people would use instead, maps in DRAM.

use endura::Kind;

use crate::entrant::{Entrant, Maps};
use crate::result::{Promise, Role};
use crate::store::{
    BTreeBytes, BTreeStore, EnduraStore, Lmdb, LmdbBytes, Place, RoartStore, Shape,
};
use crate::{Error, Result};

/// A store that can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Contender {
    /// endura's FAST & FAIR.
    FastFair,
    /// endura's NBTree.
    NbTree,
    /// endura's ROART.
    Roart,
    /// LMDB.
    Lmdb,
    /// redb.
    Redb,
    /// fjall.
    Fjall,
    /// RocksDB, the system's library.
    RocksDb,
    /// The standard library's B-tree.
    BTreeMap,
    /// `congee`, a radix tree.
    Congee,
    /// `crossbeam-skiplist`.
    SkipList,
    /// `scc::TreeIndex`, a B+-tree.
    Scc,
}

impl Contender {
    /// All of them: ours, peers, bounds.
    pub const ALL: [Self; 11] = [
        Self::FastFair,
        Self::NbTree,
        Self::Roart,
        Self::Lmdb,
        Self::Redb,
        Self::Fjall,
        Self::RocksDb,
        Self::BTreeMap,
        Self::Congee,
        Self::SkipList,
        Self::Scc,
    ];

    /// The name in tables, as its [`Store`](crate::store::Store) has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FastFair => "fast-fair",
            Self::NbTree => "nbtree",
            Self::Roart => "roart",
            Self::Lmdb => "LMDB",
            Self::Redb => "redb",
            Self::Fjall => "fjall",
            Self::RocksDb => "RocksDB",
            Self::BTreeMap => "BTreeMap",
            Self::Congee => "congee",
            Self::SkipList => "crossbeam-skiplist",
            Self::Scc => "scc",
        }
    }

    /// The name on a command line.
    pub const fn argument(self) -> &'static str {
        match self {
            Self::Lmdb => "lmdb",
            Self::RocksDb => "rocksdb",
            Self::BTreeMap => "btreemap",
            other => other.name(),
        }
    }

    /// Whose it is.
    pub const fn role(self) -> Role {
        match self {
            Self::FastFair | Self::NbTree | Self::Roart => Role::Ours,
            Self::Lmdb | Self::Redb | Self::Fjall | Self::RocksDb => Role::Peer,
            Self::BTreeMap | Self::Congee | Self::SkipList | Self::Scc => Role::VolatileBound,
        }
    }

    /// What it is set up to promise.
    pub const fn promise(self) -> Promise {
        match self.role() {
            Role::Ours | Role::Peer => Promise::Sigkill,
            Role::VolatileBound | Role::Floor => Promise::Volatile,
        }
    }

    /// The feature that it needs, if any.
    pub const fn feature(self) -> Option<&'static str> {
        match self {
            Self::Redb => Some("redb"),
            Self::Fjall => Some("fjall"),
            Self::RocksDb => Some("rocksdb"),
            Self::Congee => Some("congee"),
            Self::SkipList => Some("crossbeam-skiplist"),
            Self::Scc => Some("scc"),
            _ => None,
        }
    }

    /// Whether this build has it.
    pub fn is_built(self) -> bool {
        let built = [
            ("redb", cfg!(feature = "redb")),
            ("fjall", cfg!(feature = "fjall")),
            ("rocksdb", cfg!(feature = "rocksdb")),
            ("congee", cfg!(feature = "congee")),
            ("crossbeam-skiplist", cfg!(feature = "crossbeam-skiplist")),
            ("scc", cfg!(feature = "scc")),
        ];
        self.feature().is_none_or(|needed| built.contains(&(needed, true)))
    }

    /// Whether it can hold such keys and values.
    pub fn takes(self, shape: Shape) -> bool {
        match self {
            Self::FastFair | Self::NbTree | Self::Congee | Self::SkipList | Self::Scc => {
                shape == Shape::WORDS
            }
            _ => shape.check().is_ok(),
        }
    }

    /// The index of endura that this is.
    pub const fn kind(self) -> Option<Kind> {
        match self {
            Self::FastFair => Some(Kind::FastFair),
            Self::NbTree => Some(Kind::NbTree),
            Self::Roart => Some(Kind::Roart),
            _ => None,
        }
    }

    /// The contender that an index of endura is.
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::NbTree => Self::NbTree,
            Kind::Roart => Self::Roart,
            _ => Self::FastFair,
        }
    }

    /// Opens its maps at `place`, which are made if they are not there.
    ///
    /// # Errors
    ///
    /// Whatever the store says; [`Error::Config`] if this build has it not, or if it
    /// [takes](Self::takes) no such keys and values.
    pub fn open(self, place: &Place) -> Result<Box<dyn Entrant>> {
        if !self.takes(place.shape) {
            return Err(Error::Shape { store: self.name(), shape: place.shape.name() });
        }
        let words = place.shape == Shape::WORDS;
        match self {
            Self::FastFair => self.pool(EnduraStore::fast_fair(place)?),
            Self::NbTree => self.pool(EnduraStore::nbtree(place)?),
            Self::Roart => self.pool(RoartStore::open(place)?),
            Self::Lmdb if words => self.each(place, |dir| Lmdb::open(dir, place.lmdb_map_size())),
            Self::Lmdb => {
                self.each(place, |dir| LmdbBytes::open(dir, place.lmdb_map_size(), place.shape))
            }
            #[cfg(feature = "redb")]
            Self::Redb => self.each(place, |dir| crate::store::RedbStore::open(dir, place.shape)),
            #[cfg(feature = "fjall")]
            Self::Fjall => self.each(place, |dir| crate::store::FjallStore::open(dir, place.shape)),
            #[cfg(feature = "rocksdb")]
            Self::RocksDb => {
                self.each(place, |dir| crate::store::RocksDbStore::open(dir, place.shape))
            }
            Self::BTreeMap if words => self.volatile(place, BTreeStore::default),
            Self::BTreeMap => self.volatile(place, || BTreeBytes::new(place.shape)),
            #[cfg(feature = "congee")]
            Self::Congee => self.volatile(place, crate::store::CongeeStore::default),
            #[cfg(feature = "crossbeam-skiplist")]
            Self::SkipList => self.volatile(place, crate::store::SkipListStore::default),
            #[cfg(feature = "scc")]
            Self::Scc => self.volatile(place, crate::store::SccStore::default),
            #[allow(unreachable_patterns, reason = "a build with all features has all stores")]
            _ => Err(Error::NotBuilt {
                store: self.name(),
                feature: self.feature().unwrap_or_default(),
            }),
        }
    }

    /// Maps in one pool.
    fn pool<S: crate::store::Store + Send + 'static>(
        self,
        maps: Vec<S>,
    ) -> Result<Box<dyn Entrant>> {
        Ok(Box::new(Maps { contender: self, maps, in_one_file: true }))
    }

    /// Maps in a folder each.
    fn each<S: crate::store::Store + Send + 'static>(
        self,
        place: &Place,
        open: impl Fn(&std::path::Path) -> Result<S>,
    ) -> Result<Box<dyn Entrant>> {
        let maps = place.folders()?.iter().map(|dir| open(dir)).collect::<Result<Vec<S>>>()?;
        Ok(Box::new(Maps { contender: self, maps, in_one_file: false }))
    }

    fn volatile<S: crate::store::Store + Send + 'static>(
        self,
        place: &Place,
        make: impl Fn() -> S,
    ) -> Result<Box<dyn Entrant>> {
        let maps = (0..place.maps).map(|_| make()).collect();
        Ok(Box::new(Maps::<S> { contender: self, maps, in_one_file: false }))
    }
}
