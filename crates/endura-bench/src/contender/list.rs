//! Who takes part: endura's indexes, the stores that people would use instead, maps in DRAM. All that is known of
//! a store stands in one list.

use std::path::Path;

use endura::Kind;

use super::entrant::{Entrant, Maps};
use crate::results::{Promise, Role, StoreInfo};
use crate::store::{
    BTreeBytes, BTreeStore, EnduraStore, Lmdb, LmdbBytes, Place, RoartStore, Shape, Store,
};
use crate::{Error, Result};

/// What is known of a contender.
#[derive(Clone, Copy)]
struct Row {
    /// The name in tables, as its [`Store`] has it.
    name: &'static str,
    /// The name on a command line.
    argument: &'static str,
    role: Role,
    promise: Promise,
    /// The index of endura that it is.
    kind: Option<Kind>,
    /// The feature that it needs.
    feature: Option<&'static str>,
    /// Whether it holds numbers only.
    only_words: bool,
    /// Its place among the colours of a report.
    colour: usize,
    /// Opens its maps; none if this build does not have it.
    open: Option<Open>,
}

type Open = fn(Contender, &Place) -> Result<Box<dyn Entrant>>;

impl Row {
    const fn peer(name: &'static str, argument: &'static str, colour: usize) -> Self {
        let (role, promise) = (Role::Peer, Promise::Sigkill);
        let (kind, feature, only_words, open) = (None, None, false, None);
        Self { name, argument, role, promise, kind, feature, only_words, colour, open }
    }

    const fn ours(name: &'static str, kind: Kind, colour: usize) -> Self {
        Self { role: Role::Ours, kind: Some(kind), ..Self::peer(name, name, colour) }
    }

    const fn bound(name: &'static str, argument: &'static str, colour: usize) -> Self {
        let (role, promise) = (Role::VolatileBound, Promise::Volatile);
        Self { role, promise, ..Self::peer(name, argument, colour) }
    }

    const fn always(self, open: Open) -> Self {
        Self { open: Some(open), ..self }
    }
}

/// A row that only a build with a feature has a store for.
macro_rules! needs {
    ($feature:literal, $row:expr, $open:expr) => {{
        #[cfg(feature = $feature)]
        let open: Option<Open> = Some($open);
        #[cfg(not(feature = $feature))]
        let open: Option<Open> = None;
        Row { feature: Some($feature), open, ..$row }
    }};
}

macro_rules! contenders {
    ($($(#[$doc:meta])* $name:ident = $row:expr,)*) => {
        /// A store that can be measured.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Contender {
            $($(#[$doc])* $name,)*
        }

        impl Contender {
            /// All of them: ours, peers, bounds.
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            const fn row(self) -> Row {
                match self {
                    $(Self::$name => $row,)*
                }
            }
        }
    };
}

contenders! {
    /// endura's FAST & FAIR.
    FastFair = Row {
        only_words: true,
        ..Row::ours("fast-fair", Kind::FastFair, 0)
            .always(|it, place| it.pool(EnduraStore::fast_fair(place)?))
    },
    /// endura's NBTree.
    NbTree = Row {
        only_words: true,
        ..Row::ours("nbtree", Kind::NbTree, 1)
            .always(|it, place| it.pool(EnduraStore::nbtree(place)?))
    },
    /// endura's ROART.
    Roart = Row::ours("roart", Kind::Roart, 2)
        .always(|it, place| it.pool(RoartStore::open(place)?)),
    /// LMDB.
    Lmdb = Row::peer("LMDB", "lmdb", 3).always(|it, place| {
        let bytes = place.lmdb_map_size();
        match place.shape == Shape::WORDS {
            true => it.each(place, |dir| Lmdb::open(dir, bytes)),
            false => it.each(place, |dir| LmdbBytes::open(dir, bytes, place.shape)),
        }
    }),
    /// redb.
    Redb = needs!("redb", Row::peer("redb", "redb", 4), |it, place| {
        it.each(place, |dir| crate::store::RedbStore::open(dir, place.shape))
    }),
    /// fjall.
    Fjall = needs!("fjall", Row::peer("fjall", "fjall", 6), |it, place| {
        it.each(place, |dir| crate::store::FjallStore::open(dir, place.shape))
    }),
    /// RocksDB, the system's library.
    RocksDb = needs!("rocksdb", Row::peer("RocksDB", "rocksdb", 7), |it, place| {
        it.each(place, |dir| crate::store::RocksDbStore::open(dir, place.shape))
    }),
    /// The standard library's B-tree.
    BTreeMap = Row::bound("BTreeMap", "btreemap", 5).always(|it, place| {
        match place.shape == Shape::WORDS {
            true => it.volatile(place, BTreeStore::default),
            false => it.volatile(place, || BTreeBytes::new(place.shape)),
        }
    }),
    /// `congee`, a radix tree.
    Congee = needs!(
        "congee",
        Row { only_words: true, ..Row::bound("congee", "congee", 8) },
        |it, place| it.volatile(place, crate::store::CongeeStore::default)
    ),
}

impl Contender {
    /// The name in tables, as its [`Store`] has it.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The name on a command line.
    pub const fn argument(self) -> &'static str {
        self.row().argument
    }

    /// Whose it is.
    pub const fn role(self) -> Role {
        self.row().role
    }

    /// What it is set up to promise.
    pub const fn promise(self) -> Promise {
        self.row().promise
    }

    /// Whether this build has it.
    pub const fn is_built(self) -> bool {
        self.row().open.is_some()
    }

    /// Whether it can hold such keys and values.
    pub fn takes(self, shape: Shape) -> bool {
        if self.row().only_words { shape == Shape::WORDS } else { shape.check().is_ok() }
    }

    /// The index of endura that this is.
    pub const fn kind(self) -> Option<Kind> {
        self.row().kind
    }

    /// Which of a report's colours it has.
    pub(crate) const fn colour(self) -> usize {
        self.row().colour
    }

    /// endura's indexes.
    pub fn ours() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|contender| contender.role() == Role::Ours)
    }

    /// The contender that an index of endura is.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] for one that takes no part.
    pub fn of(kind: Kind) -> Result<Self> {
        let found = Self::ours().find(|contender| contender.kind() == Some(kind));
        found.ok_or(Error::Config("an index that takes no part"))
    }

    /// Opens its maps at `place`, which are made if they are not there.
    ///
    /// # Errors
    ///
    /// Whatever the store says; [`Error::NotBuilt`] if this build has it not, and [`Error::Shape`] if it
    /// [takes](Self::takes) no such keys and values.
    pub fn open(self, place: &Place) -> Result<Box<dyn Entrant>> {
        let Row { name: store, feature, open, .. } = self.row();
        if !self.takes(place.shape) {
            return Err(Error::Shape { store, shape: place.shape.name() });
        }
        let feature = feature.unwrap_or_default();
        open.ok_or(Error::NotBuilt { store, feature })?(self, place)
    }

    /// Maps in one pool.
    fn pool<S: Store + Send + 'static>(self, maps: Vec<S>) -> Result<Box<dyn Entrant>> {
        Ok(Box::new(Maps { info: self.info(&maps), maps, in_one_file: true }))
    }

    /// Maps in a folder each.
    fn each<S: Store + Send + 'static>(
        self,
        place: &Place,
        open: impl Fn(&Path) -> Result<S>,
    ) -> Result<Box<dyn Entrant>> {
        let maps = place.folders()?.iter().map(|dir| open(dir)).collect::<Result<Vec<S>>>()?;
        Ok(Box::new(Maps { info: self.info(&maps), maps, in_one_file: false }))
    }

    fn volatile<S: Store + Send + 'static>(
        self,
        place: &Place,
        make: impl Fn() -> S,
    ) -> Result<Box<dyn Entrant>> {
        let maps: Vec<S> = (0..place.maps).map(|_| make()).collect();
        Ok(Box::new(Maps { info: self.info(&maps), maps, in_one_file: false }))
    }

    /// Who it is and how its maps are set up.
    fn info<S: Store>(self, maps: &[S]) -> StoreInfo {
        StoreInfo {
            name: self.name().into(),
            role: self.role(),
            promise: self.promise(),
            setting: maps.first().map(Store::settings).unwrap_or_default(),
        }
    }
}
