//! What a pool says of its maps.

use crate::kind::Kind;
use crate::pool::{Counted, MapState};
use crate::store::fast_fair::NodeLayout;
use crate::types::Types;
use crate::{Error, Result};

/// A map of a pool, as [`Pool::maps`](crate::Pool::maps) lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapInfo {
    /// Its name.
    pub name: String,
    /// The index behind it.
    pub kind: Kind,
    /// The sizes of its nodes if it is a [`Kind::FastFair`]; `None` also if this build does not know them.
    pub layout: Option<NodeLayout>,
    /// The types of its keys and values.
    pub types: Types,
    /// How many entries it has, as [`Map::approximate_len`](crate::Map::approximate_len) says.
    pub approximate_len: usize,
    /// Whether that is exact when nobody writes: not before the entries are counted after an unclean end.
    pub is_counted: bool,
}

impl MapInfo {
    pub(crate) fn of(name: String, map: &MapState) -> Result<Self> {
        let Some(kind) = Kind::numbered(map.kind()) else {
            return Err(Error::UnknownNodes { name });
        };
        Ok(Self {
            name,
            kind,
            layout: NodeLayout::of(map),
            types: map.types().clone(),
            approximate_len: map.sum() as usize,
            is_counted: map.counted() == Counted::All,
        })
    }
}
