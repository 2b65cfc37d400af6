//! What a verification finds in a tree.

/// What a walk over a tree found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Survey {
    /// Live entries.
    pub entries: u64,
    /// Nodes of all levels.
    pub nodes: u64,
    /// Levels.
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
}

impl Repairs {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.duplicates + self.unsettled_siblings + self.missing_separators + self.interrupted
    }
}
