//! What a tree can be without, to see what it is worth.
//!
//! The paper measures its tree with leaves of one layer, and with locks for writers and for readers
//! (figures 6 and 8). Such trees are no product; the benchmark crate has them as other designs.

/// Which of the paper's techniques a tree has. [`TwoLayers`] has all.
pub trait Design: Send + Sync + 'static {
    /// Whether a search asks the fingerprints in DRAM which slots to look at; else it looks at every claimed
    /// one, in the pool (where that is not known any more, at all).
    const HAS_TAGS: bool = true;

    /// What an operation holds while it is in a leaf.
    type Held;

    /// Called before a lookup searches the leaf with this number.
    fn before_read(leaf: u32) -> Self::Held;

    /// Called before a writer searches it; once more if the writer has to look for its leaf again.
    fn before_write(leaf: u32) -> Self::Held;
}

/// The whole tree, corrected: fingerprints in DRAM, entries in the pool, no operation waits for another.
#[derive(Debug, Clone, Copy)]
pub struct TwoLayers;

impl Design for TwoLayers {
    type Held = ();

    #[inline(always)]
    fn before_read(_: u32) {}

    #[inline(always)]
    fn before_write(_: u32) {}
}
