//! Opening and creating maps.

use endura_engine::index::{Entries, NodeLayout};
use endura_engine::session::{Handle, MapAsked};
use endura_engine::{Kind, Types};

use crate::encoding::value::{Key, Value, is_word};
use crate::map::handle::Map;
use crate::pool::pool::Pool;
use crate::{Error, Result};

/// How [`Pool::map_with`] opens a map.
///
/// # Example
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
/// use endura::{Kind, MapOptions};
///
/// // Many threads change the same keys: writers of an `NbTree` never wait for each other.
/// let hits = pool.map_with::<u64, u64>("hits", MapOptions::new().kind(Kind::NbTree))?;
/// hits.update(7, |n| n.unwrap_or(0) + 1)?;
/// let missing = pool.map_with::<u64, u64>("misses", MapOptions::new().create(false));
/// assert!(matches!(missing, Err(endura::Error::NoSuchMap { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct MapOptions {
    kind: Option<Kind>,
    layout: Option<NodeLayout>,
    create: bool,
}

impl Default for MapOptions {
    fn default() -> Self {
        Self { kind: None, layout: None, create: true }
    }
}

impl MapOptions {
    /// The default: the kind that suits the types, and the map is created if there is none.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The kind of the index. An existing map must have this kind.
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// The sizes of the nodes of a [`Kind::FastFair`] with keys of at most 8 bytes. An existing map must have these. (With other
    /// keys there is one size, and the choice has no effect.)
    #[must_use]
    pub fn node_layout(mut self, layout: NodeLayout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// Whether to create the map if there is none; true by default.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }
}

/// Fails for names of types that are empty or have control characters. The directory checks the other rules.
pub(crate) fn check_names(types: &Types) -> Result<()> {
    let is_fit = |name: &str| !name.is_empty() && !name.contains(char::is_control);
    match [&types.key, &types.value].into_iter().find(|name| !is_fit(name)) {
        Some(name) => Err(Error::BadTypeName { name: name.clone() }),
        None => Ok(()),
    }
}

impl Pool {
    /// Opens the map `name`, or creates it: a [`Kind::FastFair`] if keys have at most 8 bytes (with values of more, and
    /// where cache lines are flushed, a [`Kind::NbTree`]), a [`Kind::Roart`] otherwise.
    ///
    /// A map keeps its kind and its types, which the pool records. Any number of handles may be open at once; they
    /// share one map. A crash while a map is being created leaves no map, or an empty one.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let pool = endura::Pool::open(folder.path().join("data.endura"))?;
    /// let users = pool.map::<str, str>("users")?;
    /// users.insert("ada", "1815")?;
    /// let error = pool.map::<str, u64>("users").unwrap_err();
    /// assert!(error.to_string().starts_with("the map `users` is a Map<str, str>, not a Map<str, u64>"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`map_with`](Self::map_with).
    pub fn map<K: Key + ?Sized, V: Value + ?Sized>(&self, name: &str) -> Result<Map<K, V>> {
        self.map_with(name, MapOptions::new())
    }

    /// Opens the map `name`, or creates it, with options.
    ///
    /// # Errors
    ///
    /// [`Error::WrongTypes`] if the map has other types; [`Error::WrongKind`] if it has another kind than the requested
    /// one, or its types cannot have that kind; [`Error::OtherNodes`] if it has other nodes than the requested ones,
    /// and [`Error::UnknownNodes`] if this build does not know its nodes; [`Error::NoSuchMap`] if there is no map of
    /// this name, and the options forbid creating it or the pool is read-only; [`Error::BadName`],
    /// [`Error::BadTypeName`]; [`Error::Unsupported`] for a [`Kind::NbTree`] if the processor has no atomic exchange of
    /// 16 bytes; [`Error::Full`]; and those that [`Map`] names for all methods.
    pub fn map_with<K: Key + ?Sized, V: Value + ?Sized>(
        &self,
        name: &str,
        options: MapOptions,
    ) -> Result<Map<K, V>> {
        let types = Types { key: K::type_name().into_owned(), value: V::type_name().into_owned() };
        check_names(&types)?;
        let entries = Entries::of(is_word(K::WIDTH), is_word(V::WIDTH));
        self.open_map(name, options, types, entries).map(Map::new)
    }

    /// Opens or creates a map whose types are known at run time.
    pub(crate) fn open_map(
        &self,
        name: &str,
        options: MapOptions,
        types: Types,
        entries: Entries,
    ) -> Result<Handle> {
        let MapOptions { kind, layout, create } = options;
        self.session().open_map(name, MapAsked { kind, layout, create }, types, entries)
    }
}
