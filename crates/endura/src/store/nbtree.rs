//! The sizes of an NBTree in a pool.

use crate::media::Mapped;
use crate::tree::nbtree::Tree;

/// An NBTree in a pool.
pub type NbTreeIndex = Tree<Mapped, WORDS, FANOUT>;

/// Words of a block: 1 KiB, 63 entries.
pub(super) const WORDS: usize = 128;
/// Children of an inner node.
pub(super) const FANOUT: usize = 64;
