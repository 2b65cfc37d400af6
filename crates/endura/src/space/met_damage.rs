//! The damage that a session met.
//!
//! An operation that meets something which no correct run can have written fails with [`Error::Corrupt`], and the next
//! one may work: one leaf of a million is damaged. But what the session would put into a checkpoint from then on is not
//! whole, and the checkpoint that it would replace may be. So the first damage is noted where it is told to a caller, or
//! ends work in the background, and stays for the session. Searches that begin anew beside writers make such errors
//! and drop them: to make one is no finding.

use crate::media::Media;
use crate::space::session::{NO_READERS, NO_STATE};
use crate::space::space::Space;
use crate::{Error, Result};

impl<M: Media> Space<M> {
    /// Notes damage that an operation is about to tell, or that ended work which nobody waits for. Other errors are none.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_damage(&self, error: &Error) {
        if let Error::Corrupt { offset, what } = *error {
            // The first finding is the one to report.
            let _ = self.met.set((offset, what));
        }
    }

    /// An error that is about to be told: damage is noted. For the branch that a caller has for errors, so that what ends
    /// well takes no instruction more.
    #[cold]
    #[inline(never)]
    pub(crate) fn noted(&self, error: Error) -> Error {
        self.note_damage(&error);
        error
    }

    /// The result of work that nobody waits for: damage that it met is noted.
    #[inline(always)]
    pub(crate) fn note_result<R>(&self, result: Result<R>) {
        if let Err(error) = result {
            self.note_damage(&error);
        }
    }

    /// The result of a call about the whole pool: damage is noted.
    pub(crate) fn told<R>(&self, result: Result<R>) -> Result<R> {
        result.inspect_err(|error| self.note_damage(error))
    }

    /// The first damage that this session met: where, and what.
    pub(crate) fn met_damage(&self) -> Option<(u64, &'static str)> {
        let of_headers = (0, "headers that contradict each other");
        self.met.get().copied().or_else(|| self.allocator.is_spoiled().then_some(of_headers))
    }

    /// Whether a pool that was found not closed is sound, as far as the walks of its collection see: they have met every
    /// chunk that was reachable then. Those that have not ended are finished now, also if the pool `is_closed`: O(chunks).
    /// Operations go on meanwhile. `false` also if this build cannot walk a map, or if other threads kept it from the end.
    ///
    /// # Errors
    ///
    /// Those of [`pin`](Self::pin).
    pub(crate) fn is_walked(&self, is_closed: bool) -> Result<bool> {
        if !self.has_walks_left() {
            return Ok(true);
        }
        let shut_by = if is_closed { NO_STATE } else { NO_READERS };
        self.finish_walks.get().map_or(Ok(false), |walk| walk(shut_by))
    }

    /// Whether these walks have not ended.
    pub(crate) fn has_walks_left(&self) -> bool {
        self.allocator.marks().is_some_and(|marks| !marks.has_met_all())
    }
}
