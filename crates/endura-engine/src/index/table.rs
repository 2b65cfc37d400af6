//! The structures that this build knows.

use super::fast_fair::{NarrowNodes, Nodes, WideNodes};
use super::nbtree::Blocks;
use super::roart::Radix;
use super::sizes::{NodeLayout, default_layout};
use super::structure::Structure;
use crate::kind::Kind;
use crate::media::Media;
use crate::space::MapState;
use crate::{Error, Result};

/// Every structure that this build knows.
fn all<M: Media>() -> [&'static dyn Structure<M>; 4] {
    const WIDE: &WideNodes = &Nodes;
    const NARROW: &NarrowNodes = &Nodes;
    [WIDE, NARROW, &Blocks, &Radix]
}

/// The structure of a map, if this build knows it.
pub(crate) fn known<M: Media>(map: &MapState) -> Option<&'static dyn Structure<M>> {
    all().into_iter().find(|structure| {
        (structure.kind().number(), structure.parameters()) == (map.kind(), map.parameters())
    })
}

/// The structure of a map.
///
/// # Errors
///
/// [`Error::UnknownNodes`] if this build does not know the kind, or the size or a feature of its nodes.
pub(crate) fn of<M: Media>(map: &MapState) -> Result<&'static dyn Structure<M>> {
    known(map).ok_or_else(|| Error::UnknownNodes { name: map.name().to_string() })
}

/// The structure of a new map of this kind.
pub(crate) fn of_new<M: Media>(
    media: &M,
    kind: Kind,
    layout: Option<NodeLayout>,
) -> &'static dyn Structure<M> {
    let [wide, narrow, blocks, radix] = all();
    match (kind, layout.unwrap_or_else(|| default_layout(media))) {
        (Kind::FastFair, NodeLayout::Wide) => wide,
        (Kind::FastFair, NodeLayout::NarrowLeaves) => narrow,
        (Kind::NbTree, _) => blocks,
        (Kind::Roart, _) => radix,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::media::Heap;

    /// The compiler does not find a kind that `Kind::all` leaves out.
    #[test]
    fn the_kinds_are_those_of_the_structures() {
        let mut kinds: Vec<_> = all::<Heap>().map(Structure::kind).into();
        kinds.dedup();
        assert!(Kind::all().eq(kinds));
    }
}
