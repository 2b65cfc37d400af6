//! How much the changes of a commit may allocate in an index.
//!
//! A key that is there costs no chunk: its value, or the offset of its record, is replaced in place. A key that is absent
//! costs at most what is below. What the trees allocate besides, they can do without: separators and smaller nodes after
//! removes wait for a later writer.
//!
//! | index | for each absent key |
//! | --- | --- |
//! | FAST & FAIR of numbers | a leaf |
//! | FAST & FAIR of byte strings | two leaves, which take the place of a full one, each with a record of its fences if they are long |
//! | NBTree | two blocks, for the same reason; of byte strings each with such a record. Besides two for the map: a block that a crash left frozen is copied |
//! | ROART | a node, and two arrays; or a node and the arrays of the groups into which a full array is divided |

use super::bytes::ByteTree;
use super::sizes::{BLOCK, BYTE_NODES, NodeLayout};
use super::words::WordTree;
use crate::media::Media;
use crate::space::Needs;
use crate::tree::records::record::bytes_for;
use crate::tree::roart;

/// Up to so many absent keys each counts with all that it may cost.
const EXACT: usize = 4_096;
/// Of the keys above, one in so many: the keys of a commit are sorted, and those of one leaf share its splits. Half of the
/// smallest leaf has 14 entries.
const SHARED: usize = 7;

/// The leaves that so many absent keys fill.
fn splits(absent: usize) -> usize {
    absent.min(EXACT) + absent.saturating_sub(EXACT).div_ceil(SHARED)
}

/// The two blocks that a new one needs, and those for a frozen block.
fn blocks(absent: usize) -> usize {
    2 * splits(absent) + 2
}

const BLOCK_BYTES: u64 = 8 * BLOCK as u64;
const BYTE_LEAF_BYTES: u64 = 8 * BYTE_NODES.1 as u64;
/// A node of byte strings has a record of its fences if these have more bytes than fit into the node: 16 at least.
const SHORT: usize = 16;

/// Adds the records of fences of two nodes for each split, if the fences are as long as the longest of the keys.
fn add_fences(needs: &mut Needs, absent: usize, longest: usize) {
    if absent > 0 {
        let record =
            if longest > SHORT { bytes_for(longest, longest) } else { bytes_for(SHORT, SHORT) };
        needs.add_loose(2 * splits(absent) as u64 * record);
    }
}

impl<M: Media> WordTree<M> {
    /// Adds what this map may allocate for changes of which so many add a key.
    pub(super) fn add_needs(&self, absent: usize, needs: &mut Needs) {
        match self {
            Self::Wide(_) => needs.add(NodeLayout::Wide.leaf_bytes(), splits(absent)),
            Self::NarrowLeaves(_) => {
                needs.add(NodeLayout::NarrowLeaves.leaf_bytes(), splits(absent))
            }
            Self::NbTree(_) => needs.add(BLOCK_BYTES, blocks(absent)),
        }
    }
}

impl<M: Media> ByteTree<M> {
    /// As for [`WordTree`]; the longest of the keys has so many bytes.
    pub(super) fn add_needs(&self, absent: usize, longest: usize, needs: &mut Needs) {
        match self {
            Self::Wide(_) => needs.add(NodeLayout::Wide.leaf_bytes(), splits(absent)),
            Self::NarrowLeaves(_) => {
                needs.add(NodeLayout::NarrowLeaves.leaf_bytes(), splits(absent))
            }
            Self::NbTree(_) => needs.add(BLOCK_BYTES, blocks(absent)),
            Self::NbBytes(_) => {
                needs.add(BLOCK_BYTES, blocks(absent));
                add_fences(needs, absent, longest);
            }
            Self::FairBytes(_) => {
                needs.add(BYTE_LEAF_BYTES, 2 * splits(absent));
                add_fences(needs, absent, longest);
            }
            Self::Roart(_) => add_radix(needs, absent),
        }
    }
}

/// The chunks of ROART. A full array is divided into at most half as many groups as it has records, in arrays of the
/// smallest size that fits: a full array has its records from as many inserts, so this is for one in so many keys, and one
/// more.
fn add_radix(needs: &mut Needs, absent: usize) {
    if absent == 0 {
        return;
    }
    let each = splits(absent);
    roart::node_sizes().for_each(|bytes| needs.add(bytes, each));
    roart::array_sizes().for_each(|bytes| needs.add(bytes, each));
    let (smallest, groups) = roart::most_groups();
    needs.add(smallest, groups * (1 + absent / (2 * groups)));
    needs.add_loose(smallest * groups as u64);
}
