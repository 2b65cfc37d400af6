//! The damage that a session met.
//!
//! An operation that meets words which no correct run can have written fails with [`Error::Corrupt`]. The next
//! operation may succeed: perhaps one leaf of a million is damaged. But a checkpoint that the session makes from then
//! on would not be whole, and the checkpoint that it replaces may be. So the first damage is noted when an error is
//! returned to a caller or ends work in the background, and the note stays for the session.
//!
//! A search that starts again beside writers also makes such errors, and drops them. An error that is only made is no
//! finding.

use crate::media::Media;
use crate::space::session::{NO_READERS, NO_STATE};
use crate::space::space::Space;
use crate::{Error, Result};

impl<M: Media> Space<M> {
    /// Notes damage that an operation is about to return, or that ended background work. Errors other than
    /// [`Error::Corrupt`] are no damage.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_damage(&self, error: &Error) {
        if let Error::Corrupt { offset, what } = *error {
            // The first finding is the one to report.
            let _ = self.met.set((offset, what));
        }
    }

    /// Notes the damage of an error that is about to be returned, and returns the error. The call belongs in the
    /// caller's branch for errors, so that a success costs no further instruction.
    #[cold]
    #[inline(never)]
    pub(crate) fn noted(&self, error: Error) -> Error {
        self.note_damage(&error);
        error
    }

    /// Takes the result of background work, for which no caller waits, and notes the damage that the work met.
    #[inline(always)]
    pub(crate) fn note_result<R>(&self, result: Result<R>) {
        if let Err(error) = result {
            self.note_damage(&error);
        }
    }

    /// Returns the result of a call about the whole pool, and notes the damage in it.
    pub(crate) fn told<R>(&self, result: Result<R>) -> Result<R> {
        result.inspect_err(|error| self.note_damage(error))
    }

    /// The first damage that this session met: its offset, and what it is.
    pub(crate) fn met_damage(&self) -> Option<(u64, &'static str)> {
        let of_headers = (0, "headers that contradict each other");
        self.met.get().copied().or_else(|| self.allocator.is_spoiled().then_some(of_headers))
    }

    /// Whether a pool that was found unclosed is sound, as far as the walks of its leak recovery can see: they have met
    /// every chunk that was reachable at the open. Walks that have not ended are finished now, even if the pool
    /// `is_closed`. O(chunks). Operations continue meanwhile. Also `false` if this build cannot walk a map, or if other
    /// threads kept the walks from ending.
    ///
    /// # Errors
    ///
    /// The errors of [`pin`](Self::pin).
    pub(crate) fn is_walked(&self, is_closed: bool) -> Result<bool> {
        if !self.has_walks_left() {
            return Ok(true);
        }
        let shut_by = if is_closed { NO_STATE } else { NO_READERS };
        self.finish_walks.get().map_or(Ok(false), |walk| walk(shut_by))
    }

    /// Whether the walks of the leak recovery have not ended yet.
    pub(crate) fn has_walks_left(&self) -> bool {
        self.allocator.marks().is_some_and(|marks| !marks.has_met_all())
    }
}
