//! What a check of a whole tree finds.

/// What a walk over a tree found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeCheck {
    /// Live entries.
    pub entries: u64,
    /// Nodes of all levels.
    pub nodes: u64,
    /// Leaf arrays of a ROART, which are not among the nodes.
    pub arrays: u64,
    /// Levels: nodes on the longest way to an entry.
    pub height: u64,
    /// What the next writers will mend.
    pub repairs: Repairs,
}

/// States that an interrupted operation left. Readers read them correctly; the next writer that
/// comes to the node mends them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Entries that were being moved within a node.
    pub duplicates: u64,
    /// Splits and merges whose last step is missing: in an NBTree, replaced blocks that the block
    /// before still leads to.
    pub unsettled_siblings: u64,
    /// Nodes that their parent does not name.
    pub missing_separators: u64,
    /// Nodes that a writer of an earlier session was changing: in an NBTree, frozen blocks.
    pub interrupted: u64,
    /// In a ROART, words that are marked as perhaps not durable.
    pub dirty: u64,
    /// In a ROART, arrays without a record, and nodes but for the root with less than two children or keys:
    /// an operation was interrupted before it took them out.
    pub barren: u64,
}

impl Repairs {
    /// All of them.
    pub fn total(&self) -> u64 {
        let mended_in_place = self.duplicates + self.interrupted + self.dirty;
        mended_in_place + self.unsettled_siblings + self.missing_separators + self.barren
    }
}
