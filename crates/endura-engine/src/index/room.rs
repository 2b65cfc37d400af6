//! How much the changes of a commit may allocate in an index.
//!
//! A key that is there costs no chunk: its value, or the offset of its record, is replaced in place. A key that is absent
//! costs at most what is below. What the trees allocate besides, they can do without, and take from what is free besides
//! ([`Guard::upkeep`](crate::space::Guard::upkeep)): separators and smaller nodes after removes wait for a later writer.
//!
//! | index | for each absent key |
//! | --- | --- |
//! | FAST & FAIR of numbers | a leaf |
//! | FAST & FAIR of byte strings | two leaves, which take the place of a full one, each with a record of its [fences](Fences) if they are long |
//! | NBTree | two blocks, for the same reason; of byte strings each with such a record. Besides two for the map: a block that a crash left frozen is copied |
//! | ROART | a node, and two arrays; or a node and the arrays of the groups into which a full array is divided |

use super::bytes::ByteTree;
use super::sizes::{BLOCK, BYTE_NODES, NodeLayout};
use super::words::WordTree;
use crate::Result;
use crate::media::Media;
use crate::space::{Needs, OpenMap};
use crate::tree::records::leaf_texts::LeafTexts;
use crate::tree::records::record::bytes_for;
use crate::tree::roart;

/// Up to so many absent keys each counts with all that it may cost.
pub(super) const EXACT: usize = 4_096;
/// If there are more, each leaf of the map may be full, and divided once. Any further division needs as many keys as half
/// of a leaf has, of which the smallest has 28: the keys of a commit are sorted. Other writers may fill the same leaves
/// meanwhile, and [`EXACT`] is for those.
const SHARED: usize = 7;
/// For so many absent keys the chunks into which full arrays of ROART are divided are counted by their sizes.
const BY_SIZE: usize = 16;

/// The leaves that so many absent keys fill, in a pool with that many chunks of the size of a leaf.
fn splits(absent: usize, leaves: impl FnOnce() -> usize) -> usize {
    match absent <= EXACT {
        true => absent,
        false => absent.min(EXACT + leaves() + absent.div_ceil(SHARED)),
    }
}

const BLOCK_BYTES: u64 = 8 * BLOCK as u64;
const BYTE_LEAF_BYTES: u64 = 8 * BYTE_NODES.1 as u64;
/// Bytes of fences that fit into each node of byte strings. If they are more, the node has a record of them.
const SHORT: usize = 40;
/// So many keys may other writers add to a leaf between the look at it and the commit's change of it. If they add more,
/// and there are long keys in the leaf, and its fences are short, a record may be longer than what is counted here.
const AHEAD: usize = 8;

/// The records of fences that the divisions of a commit may need: two for each key that is absent.
///
/// A new fence is as long as a key of the leaf at most, of which the commit adds some, and the other fences are those of
/// the leaf. The keys of a leaf are looked at only if it may be divided.
#[derive(Default)]
pub(super) struct Fences {
    /// The offset of the leaf of the last key.
    leaf: u64,
    /// How many keys the commit has added to this leaf, and the bytes of its longest text, as far as it was looked at.
    added: usize,
    longest: usize,
    is_read: bool,
    /// How many keys need records, and the bytes of all these records, and of the largest one.
    keys: usize,
    bytes: u64,
    largest: u64,
}

impl Fences {
    /// Counts a key that comes into this leaf, of so many bytes. The keys of a leaf come one after the other.
    fn count(
        &mut self,
        leaf: LeafTexts,
        key: usize,
        longest_key: impl FnOnce(u64) -> Result<usize>,
    ) -> Result<()> {
        if self.leaf != leaf.at {
            (self.leaf, self.added, self.longest, self.is_read) = (leaf.at, 0, 0, false);
        }
        self.added += 1;
        self.longest = self.longest.max(leaf.fence).max(key);
        if !self.is_read && self.added + AHEAD > leaf.free {
            self.longest = self.longest.max(longest_key(leaf.at)?);
            self.is_read = true;
        }
        if 2 * self.longest > SHORT {
            let record = bytes_for(self.longest, self.longest);
            self.keys += 1;
            self.bytes += 2 * record;
            self.largest = self.largest.max(record);
        }
        Ok(())
    }

    fn add_to(&self, splits: usize, needs: &mut Needs) {
        let records = 2 * splits.min(self.keys);
        needs.add_loose(self.bytes.min(records as u64 * self.largest), records, self.largest);
    }
}

/// The splits of leaves, or blocks, of this size in the map.
fn splits_in<M: Media>(open: &OpenMap<M>, absent: usize, bytes: u64) -> usize {
    splits(absent, || open.space().chunks_in_use(bytes))
}

/// Adds leaves of FAST & FAIR of numbers.
fn add_leaves<M: Media>(open: &OpenMap<M>, layout: NodeLayout, absent: usize, needs: &mut Needs) {
    needs.add(layout.leaf_bytes(), splits_in(open, absent, layout.leaf_bytes()));
}

/// Adds the two blocks that a new one needs, and those for a frozen block; returns the number of splits.
fn add_blocks<M: Media>(open: &OpenMap<M>, absent: usize, needs: &mut Needs) -> usize {
    let splits = splits_in(open, absent, BLOCK_BYTES);
    needs.add(BLOCK_BYTES, 2 * splits + 2);
    splits
}

impl<M: Media> WordTree<M> {
    /// Adds what this map may allocate for changes of which so many add a key.
    pub(super) fn add_needs(&self, absent: usize, needs: &mut Needs) {
        let open = self.open_map();
        match self {
            Self::Wide(_) => add_leaves(open, NodeLayout::Wide, absent, needs),
            Self::NarrowLeaves(_) => add_leaves(open, NodeLayout::NarrowLeaves, absent, needs),
            Self::NbTree(_) => _ = add_blocks(open, absent, needs),
        }
    }
}

impl<M: Media> ByteTree<M> {
    /// Counts the records of fences for a key that is absent.
    pub(super) fn count_fences(&self, key: &[u8], fences: &mut Fences) -> Result<()> {
        let guard = self.open_map().pin()?;
        match self {
            Self::NbBytes(tree) => {
                let leaf = tree.leaf_texts(&guard, key)?;
                fences.count(leaf, key.len(), |at| tree.longest_key(&guard, at))
            }
            Self::FairBytes(tree) => {
                let leaf = tree.leaf_texts(&guard, key)?;
                fences.count(leaf, key.len(), |at| tree.longest_key(&guard, at))
            }
            Self::Wide(_) | Self::NarrowLeaves(_) | Self::NbTree(_) | Self::Roart(_) => Ok(()),
        }
    }

    /// As for [`WordTree`]; with the fences of all keys that are absent.
    pub(super) fn add_needs(&self, absent: usize, fences: &Fences, needs: &mut Needs) {
        let open = self.open_map();
        match self {
            Self::Wide(_) => add_leaves(open, NodeLayout::Wide, absent, needs),
            Self::NarrowLeaves(_) => add_leaves(open, NodeLayout::NarrowLeaves, absent, needs),
            Self::NbTree(_) => _ = add_blocks(open, absent, needs),
            Self::NbBytes(_) => fences.add_to(add_blocks(open, absent, needs), needs),
            Self::FairBytes(_) => {
                let splits = splits_in(open, absent, BYTE_LEAF_BYTES);
                needs.add(BYTE_LEAF_BYTES, 2 * splits);
                fences.add_to(splits, needs);
            }
            Self::Roart(_) => add_radix(open, absent, needs),
        }
    }
}

/// The chunks of ROART. A full array is divided into groups of its records, each in an array of the smallest size that
/// fits. The first keys count with as many arrays of each size as one full array can be divided into. So a size of which
/// that is not enough has the records of as many full arrays, and few sizes need space of their own for the other keys.
fn add_radix<M: Media>(open: &OpenMap<M>, absent: usize, needs: &mut Needs) {
    let smaller =
        |bytes: Option<u64>| move || bytes.map_or(absent, |b| open.space().chunks_in_use(b));
    let nodes = || roart::node_sizes().map(|bytes| open.space().chunks_in_use(bytes)).sum();
    let mut last = None;
    for bytes in roart::node_sizes() {
        // The smallest ones come between two nodes. Others take the place of a full one, or of a full array.
        let each =
            last.map_or_else(|| splits(absent, nodes), |last| splits(absent, smaller(Some(last))));
        needs.add(bytes, each);
        last = Some(bytes);
    }
    let mut last = None;
    for (bytes, groups) in roart::arrays_of_groups() {
        // The smallest ones take the place of a record.
        needs.add(bytes, splits(absent, smaller(last)) + absent.min(BY_SIZE) * groups);
        last = Some(bytes);
    }
    if absent > BY_SIZE {
        let bytes = absent.min(EXACT) as u64 * roart::most_bytes_of_groups();
        let largest = roart::arrays_of_groups().map(|(bytes, _)| bytes).max();
        needs.add_loose(bytes, roart::arrays_of_groups().count(), largest.unwrap_or(0));
    }
}
