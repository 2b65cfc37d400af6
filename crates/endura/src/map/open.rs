//! Opening and creating maps.

use std::sync::Arc;

use crate::encoding::value::{Key, Value, is_word};
use crate::map::handle::{Handle, Map};
use crate::pool::pool::Pool;
use crate::{Error, Result};
use endura_engine::Kind;
use endura_engine::Types;
use endura_engine::index::{NodeLayout, table};
use endura_engine::space::MapState;

/// The default kind of a new map whose keys and values are words.
const FOR_WORDS: Kind = Kind::FastFair;
/// The default kind of a new map of any other types.
const FOR_BYTES: Kind = Kind::Roart;

/// How to open a map; see [`Pool::map_with`].
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

    /// The sizes of the nodes of a [`Kind::FastFair`]. An existing map must have these.
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
    /// Opens the map `name`, or creates it: a [`Kind::FastFair`] if keys and values have at most 8 bytes, a
    /// [`Kind::Roart`] otherwise.
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
    /// [`Error::WrongTypes`] if it has other types; [`Error::WrongKind`] if it has another kind than the requested one,
    /// or its types cannot have that kind; [`Error::OtherNodes`] if it has other nodes than the requested ones, and
    /// [`Error::UnknownNodes`] if this build does not know its nodes; [`Error::NoSuchMap`] if there is none and it is
    /// not to be created, or the pool is read-only; [`Error::BadName`], [`Error::BadTypeName`]; [`Error::Unsupported`]
    /// for a [`Kind::NbTree`] if the processor has no atomic exchange of 16 bytes; [`Error::Full`]; and those that
    /// [`Map`] names for all methods.
    pub fn map_with<K: Key + ?Sized, V: Value + ?Sized>(
        &self,
        name: &str,
        options: MapOptions,
    ) -> Result<Map<K, V>> {
        let types = Types { key: K::type_name().into_owned(), value: V::type_name().into_owned() };
        check_names(&types)?;
        let are_words = is_word(K::WIDTH) && is_word(V::WIDTH);
        self.open_map(name, options, types, are_words).map(Map::new)
    }

    /// Opens or creates a map whose types are known at run time.
    pub(crate) fn open_map(
        &self,
        name: &str,
        options: MapOptions,
        types: Types,
        are_words: bool,
    ) -> Result<Handle> {
        self.space().told(self.try_open_map(name, options, types, are_words))
    }

    fn try_open_map(
        &self,
        name: &str,
        options: MapOptions,
        types: Types,
        are_words: bool,
    ) -> Result<Handle> {
        let map = self.find_or_make(name, options, &types, are_words)?;
        let name = name.to_owned();
        if *map.types() != types {
            return Err(Error::WrongTypes {
                name,
                found: Box::new(map.types().clone()),
                want: Box::new(types),
            });
        }
        let structure = table::of(&map)?;
        let kind = structure.kind();
        if let Some(want) = options.kind.filter(|&want| want != kind) {
            let types = Box::new(types);
            return Err(Error::WrongKind { name, types, found: Some(kind), want });
        }
        if options.layout.is_some_and(|want| structure.layout().is_some_and(|is| is != want)) {
            return Err(Error::OtherNodes { name });
        }
        if !are_words && structure.is_of_words() {
            let what = "a map of an index that cannot hold its types";
            return Err(Error::Corrupt { offset: map.entry(), what });
        }
        let tree = structure.open(self.space(), map)?;
        let (pool_address, birthplace) = (self.address(), self.birthplace());
        Ok(Handle { tree, name, kind, types, birthplace, pool_address, _pool: self.keep_open() })
    }

    fn find_or_make(
        &self,
        name: &str,
        options: MapOptions,
        types: &Types,
        are_words: bool,
    ) -> Result<Arc<MapState>> {
        if let Some(map) = self.space().find_map(name)? {
            return Ok(map);
        }
        if !options.create {
            return Err(Error::NoSuchMap { name: name.to_owned() });
        }
        let kind = options.kind.unwrap_or(if are_words { FOR_WORDS } else { FOR_BYTES });
        let structure = table::of_new(self.space().media(), kind, options.layout);
        if !are_words && structure.is_of_words() {
            let (name, types) = (name.to_owned(), Box::new(types.clone()));
            return Err(Error::WrongKind { name, types, found: None, want: kind });
        }
        structure.find_or_create(self.space(), name, types)
    }
}
