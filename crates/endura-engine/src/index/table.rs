//! The structures that this build knows.

use super::fast_fair::{NarrowNodes, Nodes, WideNodes};
use super::fast_fair_bytes::ByteNodes;
use super::form::Entries;
use super::nbtree::Blocks;
use super::nbtree_bytes::ByteBlocks;
use super::recorded::Recorded;
use super::roart::Radix;
use super::sizes::{NodeLayout, default_layout};
use super::structure::Structure;
use crate::kind::Kind;
use crate::media::{Media, has_pair_exchange};
use crate::space::MapState;
use crate::{Error, Result};

/// Every structure that this build knows.
fn all<M: Media>() -> [&'static dyn Structure<M>; 9] {
    const WIDE: &WideNodes = &Nodes;
    const NARROW: &NarrowNodes = &Nodes;
    const WIDE_RECORDED: &Recorded<WideNodes> = &Recorded(Nodes);
    const NARROW_RECORDED: &Recorded<NarrowNodes> = &Recorded(Nodes);
    const RECORDED_BLOCKS: &Recorded<Blocks> = &Recorded(Blocks);
    [
        WIDE,
        NARROW,
        WIDE_RECORDED,
        NARROW_RECORDED,
        &ByteNodes,
        &Blocks,
        RECORDED_BLOCKS,
        &ByteBlocks,
        &Radix,
    ]
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

/// The structure of a new map of this kind that holds these entries: the first of [`all`] that can. `None` if the kind
/// cannot.
pub(crate) fn of_new<M: Media>(
    media: &M,
    kind: Kind,
    layout: Option<NodeLayout>,
    entries: Entries,
) -> Option<&'static dyn Structure<M>> {
    let layout = layout.unwrap_or_else(|| default_layout(media));
    all().into_iter().find(|structure| {
        structure.kind() == kind
            && structure.entries().can_hold(entries)
            && structure.layout().is_none_or(|its| its == layout)
    })
}

/// The kind of a new map with these entries, if its caller has not chosen one.
pub(crate) fn default_kind(media: &impl Media, entries: Entries) -> Kind {
    match entries {
        Entries::Words => Kind::FastFair,
        // A record costs a fence. FAST & FAIR takes one more for each line of a leaf that an insert moves, if lines are
        // flushed.
        Entries::WordKeys if media.needs_flush() && has_pair_exchange() => Kind::NbTree,
        Entries::WordKeys => Kind::FastFair,
        Entries::Bytes => Kind::Roart,
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
