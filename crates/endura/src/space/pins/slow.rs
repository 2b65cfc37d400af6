//! Writers that are let in only now and then, so that a copier beside them comes to an end.
//!
//! A page that is stored to after the copier has read it has to be copied again. Where writers change pages faster than the
//! copier writes them to its disk, that never ends. So the copier shuts the gate to writing operations that begin (SLOWED)
//! while it copies for some milliseconds, opens it for a few, shuts it again, and so on.
//!
//! Unlike a [hold](super::park), this waits for nobody: operations that are under way go on, also those nested in them. And it
//! promises nothing but leisure. So a writer that has waited for [60 ms](super::held) goes in all the same, whatever the copier does:
//! its disk may have stopped. A hold that [begins here](Slowed::hold) finds few operations to wait for, because none has begun for
//! a while.

use std::time::Duration;

use crate::media::Media;
use crate::space::pins::park::Hold;
use crate::space::session::{NO_READERS, SLOWED};
use crate::space::space::Space;
use crate::sync::MutexGuard;
use crate::{Error, Result};

/// Proof that writing operations are kept from beginning. They may when it is dropped, or after 60 ms.
#[must_use = "writers go on when it is dropped"]
pub struct Slowed<'s, M: Media> {
    space: &'s Space<M>,
    /// None once it belongs to a hold.
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
    /// Makes a hold of it. No operation begins in between.
    ///
    /// # Errors
    ///
    /// As for [`Space::hold`].
    pub fn hold(mut self, patience: Duration) -> Result<Option<Hold<'s, M>>> {
        match self.turn.take() {
            // SLOWED is cleared when this returns: HELD keeps out whom it has kept out.
            Some(turn) => self.space.hold_in_turn(turn, patience),
            None => Ok(None),
        }
    }
}

impl<M: Media> Space<M> {
    /// Keeps operations that write from beginning until the result is dropped, or they have waited for 60 ms. Does not wait
    /// for those that have begun. One caller at a time, as for a [`hold`](Self::hold).
    ///
    /// # Errors
    ///
    /// [`Error::InsideOperation`] if the calling thread has a guard itself; else as for [`pin`](Self::pin).
    pub fn slow_down(&self) -> Result<Slowed<'_, M>> {
        // First, as in `quiesce`.
        if self.is_elsewhere() {
            return Err(Error::Forked);
        }
        if self.is_inside() {
            return Err(Error::InsideOperation);
        }
        let turn = self.turn_to_quiesce()?;
        // Nobody is let in first, unlike before a hold: who has waited for long enough goes in anyway.
        self.begin_holding();
        let gate = self.epochs.shut(SLOWED);
        // From here on the bit is cleared on every way out.
        let slowed = Slowed { space: self, turn: Some(turn) };
        if gate & NO_READERS != 0 { Err(self.refusal(gate)) } else { Ok(slowed) }
    }
}
