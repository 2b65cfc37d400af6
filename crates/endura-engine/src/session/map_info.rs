//! What a pool reports about its maps.

use crate::index::{NodeLayout, table};
use crate::kind::Kind;
use crate::media::Mapped;
use crate::space::{Counted, MapState};
use crate::types::Types;

/// A map of a pool, as `Pool::maps` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapInfo {
    /// The map's name.
    pub name: String,
    /// The kind of its index; `None` if this build does not know it.
    pub kind: Option<Kind>,
    /// Whether this build can open, check and drop the map, because it knows the map's kind, and the sizes and features
    /// of its nodes. If not, these calls fail with [`Error::UnknownNodes`](crate::Error::UnknownNodes); other maps are
    /// not affected.
    pub is_known: bool,
    /// The sizes of its nodes if it is a [`Kind::FastFair`] and this build knows them, else `None`.
    pub layout: Option<NodeLayout>,
    /// The types of its keys and values.
    pub types: Types,
    /// The number of entries, as `Map::approximate_len` returns it.
    pub approximate_len: usize,
    /// Whether `approximate_len` is exact when no operation is running. After an unclean end it is false until the
    /// entries have been counted.
    pub is_counted: bool,
}

impl MapInfo {
    pub(crate) fn of(name: String, map: &MapState) -> Self {
        let structure = table::known::<Mapped>(map);
        Self {
            name,
            kind: Kind::numbered(map.kind()),
            is_known: structure.is_some(),
            layout: structure.and_then(|structure| structure.layout()),
            types: map.types().clone(),
            approximate_len: map.sum() as usize,
            is_counted: map.counted() == Counted::All,
        }
    }
}
