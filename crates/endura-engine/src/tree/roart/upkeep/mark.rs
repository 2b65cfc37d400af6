//! A walk over all nodes, arrays and records for a leak recovery, while other threads change the tree. It is a
//! [`tour`](crate::tree::roart::upkeep::tour): the page of that module says why a tour meets every chunk that stays.
//!
//! A word that is empty and marked as not durable counts as empty: either its writer is inside a pin and will retire
//! the old target, or the writer was killed. The walk flushes all words that it reads, because those of a killed
//! process may not be durable.

use crate::Result;
use crate::media::Media;
use crate::space::{Guard, LeakWalk};
use crate::tree::roart::nodes::node::EOK;
use crate::tree::roart::techniques::Techniques;
use crate::tree::roart::tree::Tree;
use crate::tree::roart::upkeep::tour::{Chunk, Tour};

/// A walk over a tree.
struct Marking<M: Media, T> {
    tree: Tree<M, T>,
    tour: Tour,
}

impl<M: Media, T: Techniques> Tree<M, T> {
    /// A walk over all chunks, for a [`LeakRecoverer`](crate::space::LeakRecoverer).
    pub fn marking(&self) -> Box<dyn LeakWalk<M>> {
        Box::new(Marking { tree: self.clone(), tour: Tour::default() })
    }
}

impl<M: Media, T: Techniques> LeakWalk<M> for Marking<M, T> {
    fn step(
        &mut self,
        guard: &Guard<'_, M>,
        visit: &mut dyn FnMut(u64, u64) -> Result<()>,
        bite: usize,
    ) -> Result<bool> {
        if self.tree.open.map().is_dropped() {
            return Ok(true);
        }
        let root = self.tree.root(guard)?;
        // If a checkpoint may be replaced by what this walk finds, the walk reads records whole: in most pages that
        // have rotted, the lengths alone still look right.
        let reads_records = guard.space().makes_checkpoints();
        let mut met = |chunk: Chunk<'_, M>| {
            flush(&chunk);
            if let Chunk::Record(record) = &chunk
                && reads_records
            {
                record.check_sum()?;
            }
            let (at, bytes) = chunk.place();
            visit(at, bytes)
        };
        self.tour.step(guard, root, &mut met, bite)
    }
}

/// Starts the write-back of the words of a chunk.
fn flush<M: Media>(chunk: &Chunk<'_, M>) {
    match chunk {
        Chunk::Node(node) if node.words().media().needs_flush() => {
            node.words().flush(EOK, node.places().end - EOK);
        }
        Chunk::Array(array) if array.words().media().needs_flush() => {
            array.words().flush(array.place(0), array.kind().capacity());
        }
        _ => {}
    }
}
