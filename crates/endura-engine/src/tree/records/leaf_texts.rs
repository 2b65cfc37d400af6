//! What a division of a leaf of byte strings may copy to the fences of the new leaves.

/// The leaf that covers a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeafTexts {
    /// The offset of the leaf.
    pub(crate) at: u64,
    /// How many more keys the leaf takes before it is divided.
    pub(crate) free: usize,
    /// The number of bytes of its longest fence.
    pub(crate) fence: usize,
}
