//! The types of the trees of a pool, with the sizes of their nodes.

use crate::media::{DIRTY_GRAIN, Media};
use crate::tree::fast_fair::{self, LineBinary};
use crate::tree::{fast_fair_bytes, nbtree};

/// Words of an inner node and of a leaf of [`Wide`].
pub(super) const WIDE: (usize, usize) = (256, 128);
/// Words of an inner node and of a leaf of [`NarrowLeaves`].
pub(super) const NARROW_LEAVES: (usize, usize) = (128, 64);
/// Words of an inner node and of a leaf of [`FairBytes`]: 1 KiB each, 56 slots.
pub(super) const BYTE_NODES: (usize, usize) = (128, 128);
/// Words of a block of [`NbTree`], with 63 entries, and of [`NbBytes`], with 60: 1 KiB.
pub(super) const BLOCK: usize = 128;
/// Children of an inner node of [`NbTree`] and [`NbBytes`].
const FANOUT: usize = 64;

// On media that need no flushes, the records of a node are moved line by line and the node is flushed once at the end.
// A checkpoint copies flushed pages of DIRTY_GRAIN bytes. So a node must be inside one such page.
const _: () = {
    let sizes = [WIDE.0, WIDE.1, NARROW_LEAVES.0, NARROW_LEAVES.1, BYTE_NODES.0, BYTE_NODES.1];
    let mut i = 0;
    while i < sizes.len() {
        assert!(DIRTY_GRAIN.is_multiple_of(8 * sizes[i] as u64));
        i += 1;
    }
};

/// A FAST & FAIR tree of [`NodeLayout::Wide`].
pub type Wide<M> = fast_fair::Tree<M, { WIDE.0 }, { WIDE.1 }, LineBinary>;
/// A FAST & FAIR tree of [`NodeLayout::NarrowLeaves`].
pub type NarrowLeaves<M> = fast_fair::Tree<M, { NARROW_LEAVES.0 }, { NARROW_LEAVES.1 }, LineBinary>;
/// A FAST & FAIR tree of byte strings.
pub type FairBytes<M> = fast_fair_bytes::Tree<M, { BYTE_NODES.0 }, { BYTE_NODES.1 }>;
/// An NBTree.
pub type NbTree<M> = nbtree::Tree<M, BLOCK, FANOUT>;
/// An NBTree of byte strings.
pub type NbBytes<M> = nbtree::ByteTree<M, BLOCK, FANOUT>;

/// The sizes of the nodes of a FAST & FAIR map with keys of at most 8 bytes, recorded when the map is created.
///
/// Larger nodes mean fewer levels, and faster lookups and scans. Smaller leaves mean fewer cache lines to flush per
/// insert. `docs/design.md` has the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeLayout {
    /// Inner nodes of 2 KiB and leaves of 1 KiB: the default if nothing is flushed.
    Wide,
    /// Inner nodes of 1 KiB, leaves of 512 bytes: the default if cache lines are flushed.
    NarrowLeaves,
}

/// The default layout of a FAST & FAIR map.
pub fn default_layout(media: &impl Media) -> NodeLayout {
    if media.needs_flush() { NodeLayout::NarrowLeaves } else { NodeLayout::Wide }
}

impl NodeLayout {
    /// Bytes of an inner node.
    pub fn inner_bytes(self) -> u64 {
        8 * self.words().0 as u64
    }

    /// Bytes of a leaf.
    pub fn leaf_bytes(self) -> u64 {
        8 * self.words().1 as u64
    }

    fn words(self) -> (usize, usize) {
        match self {
            Self::Wide => WIDE,
            Self::NarrowLeaves => NARROW_LEAVES,
        }
    }
}
