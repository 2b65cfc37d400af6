//! Slowing writers down, so that a copier that runs beside them comes to an end.
//!
//! A page that is stored to after the copier has read it has to be copied again. If writers change pages faster than
//! the copier writes them to its disk, that never ends. So the copier shuts the gate to writing operations that begin
//! (SLOWED) while it copies for some milliseconds, opens the gate for a few, shuts it again, and so on.
//!
//! Unlike a [hold](super::park), this waits for no thread: operations that are running continue, and so do those nested
//! in them. It promises nothing except that fewer operations begin. A writer that has waited for [60 ms](super::held)
//! enters in any case, because the copier's disk may have stopped. A hold that [begins here](Slowed::hold) finds few
//! operations to wait for, because hardly any has begun for a while.

use std::time::Duration;

use crate::media::Media;
use crate::space::pins::park::Hold;
use crate::space::session::{NO_READERS, SLOWED};
use crate::space::space::Space;
use crate::sync::MutexGuard;
use crate::{Error, Result};

/// Proof that writing operations are kept from beginning. They may begin when this value is dropped, or when they have
/// waited for 60 ms.
#[must_use = "writers go on when it is dropped"]
pub struct Slowed<'s, M: Media> {
    space: &'s Space<M>,
    /// `None` after the turn has passed to a hold.
    turn: Option<MutexGuard<'s, ()>>,
}

impl<M: Media> Drop for Slowed<'_, M> {
    fn drop(&mut self) {
        self.space.epochs.open(SLOWED);
        if self.turn.is_some() {
            self.space.wake_held();
        }
    }
}

impl<'s, M: Media> Slowed<'s, M> {
    /// Turns this into a hold. No operation begins in between.
    ///
    /// # Errors
    ///
    /// As for [`Space::hold`].
    pub fn hold(mut self, patience: Duration) -> Result<Option<Hold<'s, M>>> {
        match self.turn.take() {
            // SLOWED is cleared when this returns. HELD has been set by then, and keeps out the same writers.
            Some(turn) => self.space.hold_in_turn(turn, patience),
            None => Ok(None),
        }
    }
}

impl<M: Media> Space<M> {
    /// Keeps operations that write from beginning until the result is dropped, or until they have waited for 60 ms.
    /// Does not wait for operations that have begun. One caller at a time, as for a [`hold`](Self::hold).
    ///
    /// # Errors
    ///
    /// [`Error::InsideOperation`] if the calling thread has a guard itself; else as for [`pin`](Self::pin).
    pub fn slow_down(&self) -> Result<Slowed<'_, M>> {
        // This is checked first, as in `quiesce`.
        if self.is_elsewhere() {
            return Err(Error::Forked);
        }
        if self.is_inside() {
            return Err(Error::InsideOperation);
        }
        let turn = self.turn_to_quiesce()?;
        // Unlike before a hold, waiting writers are not let in first: a writer that has waited for long enough enters
        // anyway.
        self.begin_holding();
        let gate = self.epochs.shut(SLOWED);
        // From here on, every return clears the bit.
        let slowed = Slowed { space: self, turn: Some(turn) };
        if gate & NO_READERS != 0 { Err(self.refusal(gate)) } else { Ok(slowed) }
    }
}
