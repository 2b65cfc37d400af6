//! The interface between a tree and a leak recovery.

use crate::Result;
use crate::media::Media;
use crate::space::pins::guard::Guard;

/// A walk over the chunks that a map reaches: all of them, or those of one part.
pub trait LeakWalk<M: Media>: Send {
    /// Continues the walk: calls `visit` with about `bite` more chunks, each by its offset and its bytes as requested.
    /// Returns whether the walk has ended.
    ///
    /// Other threads write meanwhile. All walks of a map together must meet every chunk that existed when the pool was
    /// opened and is reachable from the first step to the last; a chunk may be met more than once. Each call has a
    /// guard of its own: chunks that were reached under an earlier guard may be gone. If the map was dropped, the walk
    /// has ended.
    ///
    /// A walk starts the write-back of the words that it follows, because what an earlier session stored in them may
    /// not be durable.
    ///
    /// # Errors
    ///
    /// The errors of `visit`; [`Error::Corrupt`](crate::Error::Corrupt). The leak recovery is given up after an error.
    fn step(
        &mut self,
        guard: &Guard<'_, M>,
        visit: &mut dyn FnMut(u64, u64) -> Result<()>,
        bite: usize,
    ) -> Result<bool>;
}

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeakStep {
    /// The step did some work.
    Worked,
    /// Other threads have to make progress first.
    Idle,
    /// Nothing is left to do.
    Ended,
}
