//! Who takes part: endura's indexes, the stores that people would use instead, maps in DRAM; and variants of our indexes,
//! for those who name them. All that is known of a store stands in one list.

use std::path::Path;

use endura::Kind;
use endura_variants::fast_fair_bytes::Pointers;

use super::entrant::{Entrant, Maps};
use crate::results::{Promise, Role, StoreInfo};
use crate::store::{
    BTreeBytes, BTreeStore, EnduraStore, Lmdb, LmdbBytes, Shape, Store, StoreOptions,
};
use crate::{Error, Result};

/// What is known of a contender.
#[derive(Clone, Copy)]
struct Listing {
    /// The name in tables, as its [`Store`] has it; an index has that of its [`Kind`].
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
    open: Option<OpenStores>,
}

type OpenStores = fn(Contender, &StoreOptions) -> Result<Box<dyn Entrant>>;

impl Listing {
    const fn peer(name: &'static str, argument: &'static str, colour: usize) -> Self {
        let (role, promise) = (Role::Peer, Promise::Sigkill);
        let (kind, feature, only_words, open) = (None, None, false, None);
        Self { name, argument, role, promise, kind, feature, only_words, colour, open }
    }

    const fn ours(name: &'static str, argument: &'static str, kind: Kind, colour: usize) -> Self {
        Self { role: Role::Ours, kind: Some(kind), ..Self::peer(name, argument, colour) }
    }

    const fn variant(name: &'static str, argument: &'static str, colour: usize) -> Self {
        Self { role: Role::Variant, ..Self::peer(name, argument, colour) }
    }

    const fn bound(name: &'static str, argument: &'static str, colour: usize) -> Self {
        let (role, promise) = (Role::VolatileBound, Promise::Volatile);
        Self { role, promise, ..Self::peer(name, argument, colour) }
    }

    const fn always(self, open: OpenStores) -> Self {
        Self { open: Some(open), ..self }
    }
}

/// A row that only a build with a feature has a store for.
macro_rules! needs {
    ($feature:literal, $row:expr, $open:expr) => {{
        #[cfg(feature = $feature)]
        let open: Option<OpenStores> = Some($open);
        #[cfg(not(feature = $feature))]
        let open: Option<OpenStores> = None;
        Listing { feature: Some($feature), open, ..$row }
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
            /// All of them: ours, peers, bounds, variants.
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            const fn row(self) -> Listing {
                match self {
                    $(Self::$name => $row,)*
                }
            }
        }
    };
}

contenders! {
    /// endura's FAST & FAIR.
    FastFair = Listing::ours("FastFair", "fast-fair", Kind::FastFair, 0)
        .always(|it, options| match options.shape == Shape::WORDS {
            true => it.words(Kind::FastFair, options),
            false => it.strings(Kind::FastFair, options),
        }),
    /// endura's NBTree.
    NbTree = Listing::ours("NbTree", "nbtree", Kind::NbTree, 1)
        .always(|it, options| match options.shape == Shape::WORDS {
            true => it.words(Kind::NbTree, options),
            false => it.strings(Kind::NbTree, options),
        }),
    /// endura's ROART.
    Roart = Listing::ours("Roart", "roart", Kind::Roart, 2)
        .always(|it, options| it.strings(Kind::Roart, options)),
    /// LMDB.
    Lmdb = Listing::peer("LMDB", "lmdb", 3).always(|it, options| {
        let bytes = options.lmdb_map_size();
        match options.shape == Shape::WORDS {
            true => it.each(options, |dir| Lmdb::open(dir, bytes, options.survives)),
            false => it.each(options, |dir| LmdbBytes::open(dir, bytes, options.shape)),
        }
    }),
    /// redb.
    Redb = needs!("redb", Listing::peer("redb", "redb", 4), |it, options| {
        match options.shape == Shape::WORDS {
            true => it.each(options, |dir| crate::store::RedbWords::open(dir, options.survives)),
            false => it.each(options, |dir| crate::store::RedbStrings::open(dir, options.shape)),
        }
    }),
    /// fjall.
    Fjall = needs!("fjall", Listing::peer("fjall", "fjall", 6), |it, options| {
        it.each(options, |dir| crate::store::FjallStore::open(dir, options.shape))
    }),
    /// RocksDB, the system's library.
    RocksDb = needs!("rocksdb", Listing::peer("RocksDB", "rocksdb", 7), |it, options| {
        it.each(options, |dir| crate::store::RocksDbStore::open(dir, options.shape, options.survives))
    }),
    /// The standard library's B-tree.
    BTreeMap = Listing::bound("BTreeMap", "btreemap", 5).always(|it, options| {
        match options.shape == Shape::WORDS {
            true => it.volatile(options, BTreeStore::default),
            false => it.volatile(options, || BTreeBytes::new(options.shape)),
        }
    }),
    /// `congee`, a radix tree.
    Congee = needs!(
        "congee",
        Listing { only_words: true, ..Listing::bound("congee", "congee", 8) },
        |it, options| it.volatile(options, crate::store::CongeeStore::default)
    ),
    /// FAST & FAIR of byte strings with a pointer in the place of each key, as in its paper.
    Pointers = Listing::variant("FastFairPointers", "fast-fair-pointers", 9)
        .always(|it, options| it.pool(EnduraStore::trees(it.name(), options, Pointers::open)?)),
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

    /// Those that take part where nobody is named: all that this build has but variants.
    pub fn usual() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|it| it.is_built() && it.role() != Role::Variant)
    }

    /// endura's indexes.
    pub fn ours() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|contender| contender.role() == Role::Ours)
    }

    /// The contender that an index of endura is.
    pub fn of(kind: Kind) -> Result<Self> {
        let found = Self::ours().find(|contender| contender.kind() == Some(kind));
        found.ok_or(Error::Config("an index that takes no part"))
    }

    /// Opens its maps as `options` say; they are made if they are not there.
    pub fn open(self, options: &StoreOptions) -> Result<Box<dyn Entrant>> {
        let Listing { name: store, feature, open, .. } = self.row();
        if !self.takes(options.shape) {
            return Err(Error::Shape { store, shape: options.shape.name() });
        }
        let feature = feature.unwrap_or_default();
        open.ok_or(Error::NotBuilt { store, feature })?(self, options)
    }

    /// Maps of numbers in one pool.
    fn words(self, kind: Kind, options: &StoreOptions) -> Result<Box<dyn Entrant>> {
        self.pool(EnduraStore::words(self.name(), kind, options)?)
    }

    /// Maps of byte strings in one pool.
    fn strings(self, kind: Kind, options: &StoreOptions) -> Result<Box<dyn Entrant>> {
        self.pool(EnduraStore::strings(self.name(), kind, options)?)
    }

    /// Maps in one pool.
    fn pool<S: Store + Send + 'static>(self, maps: Vec<S>) -> Result<Box<dyn Entrant>> {
        Ok(Box::new(Maps { info: self.info(&maps), maps, in_one_file: true }))
    }

    /// Maps in a folder each.
    fn each<S: Store + Send + 'static>(
        self,
        options: &StoreOptions,
        open: impl Fn(&Path) -> Result<S>,
    ) -> Result<Box<dyn Entrant>> {
        let maps = options.folders()?.iter().map(|dir| open(dir)).collect::<Result<Vec<S>>>()?;
        Ok(Box::new(Maps { info: self.info(&maps), maps, in_one_file: false }))
    }

    fn volatile<S: Store + Send + 'static>(
        self,
        options: &StoreOptions,
        make: impl Fn() -> S,
    ) -> Result<Box<dyn Entrant>> {
        let maps: Vec<S> = (0..options.maps).map(|_| make()).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_has_the_name_that_the_library_gives_it() {
        for ours in Contender::ours() {
            assert_eq!(Some(ours.name()), ours.kind().map(Kind::name));
        }
        assert_eq!(Contender::ours().count(), Kind::all().count());
    }
}
