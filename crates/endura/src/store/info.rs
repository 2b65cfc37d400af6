//! What a pool says of its maps.

use super::fast_fair::NodeLayout;
use super::kind::Kind;
use crate::pool::{Counted, MapState};
use crate::tree::Len;

/// A map of a pool, as [`Pool::maps`](crate::Pool::maps) lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapInfo {
    /// Its name.
    pub name: String,
    /// The index that it is.
    pub kind: &'static str,
    /// The sizes of its nodes if it is a [`FastFair`](crate::FastFair); `None` also if this build does
    /// not know them.
    pub layout: Option<NodeLayout>,
    /// How many entries it has.
    pub len: Len,
}

impl MapInfo {
    pub(crate) fn of(name: String, map: &MapState) -> Self {
        let len = match map.counted() {
            Counted::All => Len::Exact(map.sum()),
            Counted::Below(_) => Len::AtLeast(map.sum()),
        };
        let layout = NodeLayout::of(map).filter(|_| Kind::of(map) == Some(Kind::FastFair));
        let kind = Kind::of(map).map_or("unknown", Kind::name);
        Self { name, kind, layout, len }
    }
}
