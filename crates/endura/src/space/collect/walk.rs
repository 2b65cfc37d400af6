//! The interface of a tree to a collection.

use crate::Result;
use crate::media::Media;
use crate::space::pins::guard::Guard;

/// A walk over chunks that a map reaches: all of them, or those of one part.
pub trait GcWalk<M: Media>: Send {
    /// Continues the walk: calls `visit` with about `bite` more chunks, the offset of each and its bytes as requested.
    /// Whether that was the end.
    ///
    /// Others write meanwhile. All walks of a map together must meet every chunk that is reachable
    /// from the first step to the last, and that was there when the pool was opened; a chunk may be
    /// met more than once. Each call has a guard of its own: what was reached under an earlier one
    /// may be gone. A map that was dropped is at its end.
    ///
    /// It starts the write-back of the words that it goes by: what an earlier session stored in them
    /// may not be durable.
    ///
    /// # Errors
    ///
    /// Those of `visit`; [`Error::Corrupt`](crate::Error::Corrupt). The collection is then given up.
    fn step(
        &mut self,
        guard: &Guard<'_, M>,
        visit: &mut dyn FnMut(u64, u64) -> Result<()>,
        bite: usize,
    ) -> Result<bool>;
}

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GcStep {
    /// Something was done.
    Worked,
    /// Other threads have to make progress first.
    Idle,
    /// Nothing is left to do.
    Ended,
}
