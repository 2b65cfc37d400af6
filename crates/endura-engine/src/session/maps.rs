//! How a session opens a map.

use std::sync::Arc;

use super::map_info::MapInfo;
use super::open::Open;
use crate::index::{Entries, NodeLayout, Tree, table};
use crate::kind::Kind;
use crate::media::Mapped;
use crate::os::fork::ForkGuard;
use crate::space::MapState;
use crate::types::Types;
use crate::{Error, Result};

/// The choices of `MapOptions`, which documents them.
#[derive(Debug, Clone, Copy)]
pub struct MapAsked {
    /// The kind, if that matters.
    pub kind: Option<Kind>,
    /// The sizes of the nodes, if they matter.
    pub layout: Option<NodeLayout>,
    /// Whether a map that does not exist is created.
    pub create: bool,
}

/// An open map. `Map` is a shared reference to it, with types.
pub struct Handle {
    /// The index.
    pub tree: Tree<Mapped>,
    /// The name by which it was opened.
    pub name: String,
    /// The kind of the index.
    pub kind: Kind,
    /// The form in which the index holds entries.
    pub entries: Entries,
    /// The types of keys and values, by name.
    pub types: Types,
    /// The process that opened the pool.
    pub birthplace: ForkGuard,
    /// Identifies the pool to its [calls](crate::runtime::calls::Call).
    pub pool_address: usize,
    /// Keeps the pool open while the handle exists.
    _pool: Arc<dyn Send + Sync>,
}

impl Handle {
    /// Whether this is a map of that pool.
    pub fn is_of(&self, pool: &Open) -> bool {
        self.pool_address == pool.address()
    }
}

impl Open {
    /// The map of this name, as [`maps`](Self::maps) lists it.
    pub fn map_info(&self, name: &str) -> Result<Option<MapInfo>> {
        Ok(self.space.find_map(name)?.map(|map| MapInfo::of(name.to_owned(), &map)))
    }

    /// Opens or makes a map whose types are known at run time.
    pub fn open_map(
        self: &Arc<Self>,
        name: &str,
        asked: MapAsked,
        types: Types,
        entries: Entries,
    ) -> Result<Handle> {
        self.space.told(self.try_open_map(name, asked, types, entries))
    }

    fn try_open_map(
        self: &Arc<Self>,
        name: &str,
        asked: MapAsked,
        types: Types,
        entries: Entries,
    ) -> Result<Handle> {
        let map = self.find_or_make(name, asked, &types, entries)?;
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
        if let Some(want) = asked.kind.filter(|&want| want != kind) {
            let types = Box::new(types);
            return Err(Error::WrongKind { name, types, found: Some(kind), want });
        }
        if asked.layout.is_some_and(|want| structure.layout().is_some_and(|is| is != want)) {
            return Err(Error::OtherNodes { name });
        }
        if !structure.entries().can_hold(entries) {
            let what = "a map of an index that cannot hold its types";
            return Err(Error::Corrupt { offset: map.entry(), what });
        }
        let tree = structure.open(&self.space, map)?;
        let (pool_address, birthplace) = (self.address(), self.birthplace());
        Ok(Handle {
            tree,
            name,
            kind,
            entries: structure.entries(),
            types,
            birthplace,
            pool_address,
            _pool: Arc::<Self>::clone(self),
        })
    }

    fn find_or_make(
        &self,
        name: &str,
        asked: MapAsked,
        types: &Types,
        entries: Entries,
    ) -> Result<Arc<MapState>> {
        if let Some(map) = self.space.find_map(name)? {
            return Ok(map);
        }
        if !asked.create {
            return Err(Error::NoSuchMap { name: name.to_owned() });
        }
        let media = self.space.media();
        let kind = asked.kind.unwrap_or_else(|| table::default_kind(media, entries));
        let Some(structure) = table::of_new(media, kind, asked.layout, entries) else {
            let (name, types) = (name.to_owned(), Box::new(types.clone()));
            return Err(Error::WrongKind { name, types, found: None, want: kind });
        };
        structure.find_or_create(&self.space, name, types)
    }
}
