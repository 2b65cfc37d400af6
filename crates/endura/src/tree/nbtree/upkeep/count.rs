//! How many entries the tree has.
//!
//! Writers count what they do, in counters that no two cores share. After an unclean close the
//! counters start from nothing; then each block is counted when it is read for the first time, which
//! is before anybody writes to it. When all were read, all are counted.

use crate::Result;
use crate::media::Media;

use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::tree::Tree;

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// Has all blocks read, in this thread. Others may use the map meanwhile. O(n).
    pub(crate) fn count_all(&self) -> Result<()> {
        self.rebuild(1)
    }
}
