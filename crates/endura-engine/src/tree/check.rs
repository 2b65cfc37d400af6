//! The result of a check of a whole tree.

/// The result of a walk over a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeCheck {
    /// Live entries.
    pub entries: u64,
    /// Nodes of all levels.
    pub nodes: u64,
    /// Leaf arrays of a ROART, which `nodes` does not include.
    pub arrays: u64,
    /// Levels: nodes on the longest path to an entry.
    pub height: u64,
    /// States that later writers will repair.
    pub repairs: Repairs,
}

/// States that an interrupted operation left. Readers read them correctly; the next writer that reaches the node
/// repairs them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Entries that were being moved within a node.
    pub duplicates: u64,
    /// Splits and merges whose last step is missing. In an NBTree, replaced blocks to which the preceding block still
    /// points.
    pub unsettled_siblings: u64,
    /// Nodes without a separator in their parent.
    pub missing_separators: u64,
    /// Nodes that a writer of an earlier session was changing. In an NBTree, frozen blocks.
    pub interrupted: u64,
    /// In a ROART, words marked as possibly not durable.
    pub dirty: u64,
    /// In a ROART, arrays without a record, and nodes except the root with fewer than two children or keys: an
    /// operation was interrupted before it removed them.
    pub barren: u64,
}

impl Repairs {
    /// The sum of all counters.
    pub fn total(&self) -> u64 {
        let mended_in_place = self.duplicates + self.interrupted + self.dirty;
        mended_in_place + self.unsettled_siblings + self.missing_separators + self.barren
    }
}
