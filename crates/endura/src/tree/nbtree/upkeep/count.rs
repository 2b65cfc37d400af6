//! How many entries the tree has.
//!
//! Writers count what they do, in counters that no two cores share. After an unclean close the
//! counters start from nothing; then each block is counted when it is read for the first time, which
//! is before anybody writes to it. When all were read, all are counted.

use crate::Result;
use crate::media::Media;
use crate::pool::Counted;
use crate::tree::Len;

use crate::tree::nbtree::design::Design;
use crate::tree::nbtree::tree::Tree;

impl<M: Media, const W: usize, const FANOUT: usize, D: Design> Tree<M, W, FANOUT, D> {
    /// The number of entries; has all blocks read where it is not known.
    pub(crate) fn length(&self) -> Result<Len> {
        drop(self.open.pin()?);
        if self.open.map().counted() == Counted::All {
            return Ok(Len::Exact(self.open.map().sum()));
        }
        if self.open.map().claim_count() {
            let tree = self.clone();
            let counter = std::thread::Builder::new().name("endura-count".to_owned());
            // An error ends the count; the next operation on the map reports it.
            if counter.spawn(move || _ = tree.rebuild(1)).is_err() {
                // No room for a thread: the caller counts.
                self.rebuild(1)?;
                return Ok(Len::Exact(self.open.map().sum()));
            }
        }
        Ok(Len::AtLeast(self.open.map().sum()))
    }
}
