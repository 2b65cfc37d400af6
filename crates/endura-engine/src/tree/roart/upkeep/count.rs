//! The number of entries of the tree.
//!
//! Writers count their own inserts and removes, in counters that no two cores share. After an unclean close the
//! counters start from zero, and the entries of earlier sessions are added when they are found. The thread that first
//! locks a node or array in this session adds the entries of that chunk, before anything in the chunk changes. To find
//! all entries, one thread visits all chunks ([`tour`](crate::tree::roart::upkeep::tour)), some in each pin, and locks
//! each. So the entries of a node or array are counted exactly once, wherever they move later.

use std::ops::{Bound, ControlFlow};

use crate::Result;
use crate::media::Media;
use crate::space::Counted;
use crate::tree::ByteIndex;

use crate::tree::roart::read::scan::Cursor;
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;
use crate::tree::roart::upkeep::tour::{Chunk, Tour};

/// Chunks visited in one pin.
const BITE: usize = 512;

impl<M: Media, T: Techniques> Tree<M, T> {
    /// Counts the entries of earlier sessions, in this thread, by locking every chunk. Other threads may write
    /// meanwhile, and add the entries of the chunks that they lock first. O(n).
    ///
    /// # Errors
    ///
    /// As for [`ByteIndex::get_with`].
    pub fn count_all(&self) -> Result<()> {
        if self.open.space().session().read_only {
            return self.count_unchanging();
        }
        let mut tour = Tour::default();
        loop {
            let guard = self.pin_mut()?;
            let mut lock = |chunk: Chunk<'_, M>| {
                let lock = match chunk {
                    Chunk::Node(node) => self.lock_node(&guard, &node)?,
                    Chunk::Array(array) => self.lock_array(&guard, &array)?,
                    Chunk::Record(_) => None,
                };
                if let Some(lock) = lock {
                    lock.unchanged();
                }
                Ok(())
            };
            if tour.step(&guard, self.root(&guard)?, &mut lock, BITE)? {
                break;
            }
        }
        self.open.map().set_counted(Counted::All);
        Ok(())
    }

    /// Counts a tree that no thread can change.
    fn count_unchanging(&self) -> Result<()> {
        let mut entries = 0;
        self.scan_up(&mut Cursor::default(), (Bound::Unbounded, Bound::Unbounded), |_, _| {
            entries += 1;
            ControlFlow::Continue(())
        })?;
        self.open.map().add(entries);
        self.open.map().set_counted(Counted::All);
        Ok(())
    }
}
