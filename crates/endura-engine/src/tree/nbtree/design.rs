//! Variants of the tree without some of its techniques, to measure what each technique contributes.
//!
//! The paper measures its tree with leaves of one layer, and with locks for writers and for readers (figures 6 and 8).
//! Such trees are not for users; the benchmark crate has them as further designs.

/// The techniques of the paper that a tree uses. [`TwoLayers`] uses all of them.
pub trait Design: Send + Sync + 'static {
    /// Whether a search uses the fingerprints in DRAM to select slots. Otherwise it reads every claimed slot in the
    /// pool, or every slot if the claims are no longer known.
    const HAS_TAGS: bool = true;

    /// A guard that an operation holds while it is in a leaf.
    type Held;

    /// Called before a lookup searches the leaf with this number.
    fn before_read(leaf: u32) -> Self::Held;

    /// Called before a writer searches the leaf with this number, and again if the writer has to search for its leaf
    /// again.
    fn before_write(leaf: u32) -> Self::Held;
}

/// The complete tree, corrected: fingerprints are in DRAM, entries in the pool, and no operation waits for another.
#[derive(Debug, Clone, Copy)]
pub struct TwoLayers;

impl Design for TwoLayers {
    type Held = ();

    #[inline(always)]
    fn before_read(_: u32) {}

    #[inline(always)]
    fn before_write(_: u32) {}
}
