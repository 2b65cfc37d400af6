//! The number of entries of the tree.
//!
//! Writers count their own inserts and removes, in counters that no two cores share. After an unclean close the
//! counters start from zero. Then the entries of each block are counted when it is first read, which is before any
//! thread writes to it. Once all blocks have been read, all entries are counted.

use crate::Result;
use crate::media::Media;

use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::tree::Tree;

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// Reads all blocks, in this thread. Other threads may use the map meanwhile. O(n).
    pub(crate) fn count_all(&self) -> Result<()> {
        self.rebuild(1)
    }
}
