//! The mode in which writers claim what they write (B2).
//!
//! The first commit sets BATCHES in the gate, and then waits until every writer inside has seen it. Later commits find the
//! mode on. It is left when there was no commit for a while ([`claims`](crate::space::pins::claims)).

use std::time::{Duration, Instant};

use crate::media::Media;
use crate::runtime::thread;
use crate::space::batch::batches::Mode;
use crate::space::session::{BATCHES, NO_READERS};
use crate::space::space::Space;
use crate::sync::{Backoff, MutexGuard};
use crate::{Error, Result};

/// How long a commit waits for writers that do not end.
const PATIENCE: Duration = Duration::from_secs(1);

/// A user of the mode, which stays until this is dropped.
pub(super) struct InMode<'s, M: Media>(&'s Space<M>);

impl<M: Media> Drop for InMode<'_, M> {
    fn drop(&mut self) {
        // In a child that a closure has forked, the lock may be held by a thread of the parent for ever.
        if self.0.is_elsewhere() {
            return;
        }
        let batches = self.0.batches();
        batches.note_end();
        batches.mode.lock().users -= 1;
    }
}

impl<M: Media> Space<M> {
    /// Enters the mode. Returns when no other thread can be writing without a claim.
    ///
    /// # Errors
    ///
    /// [`Error::WritersStay`] if others write for too long in operations that began before.
    pub(super) fn enter_mode(&self) -> Result<InMode<'_, M>> {
        let mut mode = self.lock_mode()?;
        if !mode.is_entered {
            self.epochs.shut(BATCHES);
            match self.wait_for_careless() {
                Ok(true) => (mode.is_shown, mode.is_entered) = (true, true),
                refused => {
                    // Nobody has marked anything.
                    if !mode.is_shown {
                        self.epochs.open(BATCHES);
                    }
                    return Err(refused.err().unwrap_or_else(|| self.writers_stay()));
                }
            }
        }
        mode.users += 1;
        Ok(InMode(self))
    }

    /// Sets the bit of the mode, by which operations of the calling thread notice that it reads at one moment. Other threads
    /// need not have seen it.
    pub(super) fn show_mode(&self) -> Result<InMode<'_, M>> {
        let mut mode = self.lock_mode()?;
        if !mode.is_shown {
            self.epochs.shut(BATCHES);
            mode.is_shown = true;
        }
        mode.users += 1;
        Ok(InMode(self))
    }

    /// Locks the mode, unless another commit waits for writers for too long.
    fn lock_mode(&self) -> Result<MutexGuard<'_, Mode>> {
        let (begun, mut backoff) = (Instant::now(), Backoff::default());
        loop {
            if let Some(mode) = self.batches().mode.try_lock() {
                return Ok(mode);
            }
            if begun.elapsed() > 2 * PATIENCE {
                return Err(self.writers_stay());
            }
            backoff.wait();
        }
    }

    /// Waits until each other thread has been outside of writing, or has published a claim, since BATCHES was set. Parked
    /// threads look at the gate when they go on. Returns `false` if that takes too long.
    fn wait_for_careless(&self) -> Result<bool> {
        if !self.epochs.settle() {
            let what = "the kernel took membarrier(2) away after the pool was opened; allow it";
            return Err(Error::Unsupported { what });
        }
        let own = self.epochs.slot(thread::current());
        let (begun, mut backoff) = (Instant::now(), Backoff::default());
        for slot in self.epochs.slots().filter(|slot| !std::ptr::eq(*slot, own)) {
            while slot.is_careless() {
                let gate = self.epochs.gate();
                if gate & NO_READERS != 0 {
                    return Err(self.refusal(gate));
                }
                if begun.elapsed() > PATIENCE {
                    return Ok(false);
                }
                backoff.wait();
            }
        }
        Ok(true)
    }
}
