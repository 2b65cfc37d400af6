//! Pins of writers of one key while several changes at once are about: steps W1 to W5 of the
//! [protocol](crate::space::batch).

use crate::media::Media;
use crate::runtime::epoch::{Mode, Slot};
use crate::runtime::thread;
use crate::space::alloc::thread_cache::ThreadCache;
use crate::space::batch::flights::Seen;
use crate::space::batch::intent::{Intent, Plan};
use crate::space::batch::key::AnyKey;
use crate::space::pins::guard::Guard;
use crate::space::session::{BATCHES, NO_WRITERS, POISONED};
use crate::space::space::Space;
use crate::sync::{Backoff, Mutex};
use crate::{Error, Result};

/// The milliseconds after the last commit for which the mode stays.
const STAYS: u64 = 100;
/// How many claims of a thread, or looks of a reader, pass until it looks whether the mode is over. A power of two.
const CLAIMS: u64 = 1_024;

/// A commit that has the key of another thread.
#[derive(Clone, Copy)]
pub(crate) struct Holder {
    flight: usize,
    pub(crate) seen: Seen,
}

impl<M: Media> Space<M> {
    /// Whether several changes at once are about, or were a moment ago.
    #[inline(always)]
    pub fn has_batches(&self) -> bool {
        self.epochs.gate() & BATCHES != 0
    }

    /// Begins a write of one key in the map with the directory entry at `map`. `key` is called only if several changes at
    /// once are about.
    ///
    /// # Errors
    ///
    /// As for [`pin_mut`](Self::pin_mut).
    #[inline(always)]
    pub(crate) fn pin_mut_for<'k>(
        &self,
        map: u64,
        key: impl FnOnce() -> AnyKey<'k>,
    ) -> Result<Guard<'_, M>> {
        // Checked first, as in `enter`.
        if self.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        let slot = self.epochs.slot(thread::current());
        let gate = self.epochs.pin(slot, Mode::Writer) & (NO_WRITERS | BATCHES);
        if gate != 0 {
            self.enter_beside(slot, gate, map, key())?;
        }
        Ok(Guard::new(self, slot, Mode::Writer))
    }

    /// Admits a writer's pin that found bits in the gate, and claims its key if several changes at once are about.
    #[cold]
    #[inline(never)]
    fn enter_beside(
        &self,
        slot: &Slot<Mutex<ThreadCache>>,
        mut gate: u64,
        map: u64,
        key: AnyKey<'_>,
    ) -> Result<()> {
        loop {
            if gate & NO_WRITERS != 0 {
                self.stay_in_shut(slot, Mode::Writer, NO_WRITERS, gate & NO_WRITERS)?;
                // The pin may be another one by now.
                gate = self.epochs.gate();
            }
            // A thread that applies its commit has marked the key, and needs no claim: no other commit can mark it.
            if gate & BATCHES == 0 || slot.applies() {
                return Ok(());
            }
            let Some(holder) =
                self.claim_beside(slot, map, key).inspect_err(|_| slot.unpin(Mode::Writer))?
            else {
                return Ok(());
            };
            // W4: the claim ends with the pin.
            slot.unpin(Mode::Writer);
            self.wait_for_commit(holder)?;
            gate = self.epochs.pin(slot, Mode::Writer) & (NO_WRITERS | BATCHES);
        }
    }

    /// Claims a key again in a pin of the calling thread, behind a closure. Returns `false` if a commit has the key.
    #[cold]
    #[inline(never)]
    pub(crate) fn claim(&self, map: u64, key: AnyKey<'_>) -> bool {
        let slot = self.epochs.slot(thread::current());
        // The next pin returns the error.
        matches!(self.claim_beside(slot, map, key), Ok(None))
    }

    /// W2 and W3: claims the key, and returns the commit that has it, if there is one.
    fn claim_beside(
        &self,
        slot: &Slot<Mutex<ThreadCache>>,
        map: u64,
        key: AnyKey<'_>,
    ) -> Result<Option<Holder>> {
        let stripe = key.stripe(map);
        if slot.claim(stripe).is_multiple_of(CLAIMS) {
            self.leave_mode_if_idle();
        }
        let Some(holder) = self.holder_of(stripe) else { return Ok(None) };
        if self.batches().flights.is_of(holder.flight, thread::current()) {
            return Ok(None);
        }
        Ok(self.plan_for(holder, map, key)?.map(|_| holder))
    }

    /// The commit that has marked a stripe, if it is still under way.
    pub(crate) fn holder_of(&self, stripe: u16) -> Option<Holder> {
        let batches = self.batches();
        let flight = batches.marks.owner(stripe)?;
        let seen = batches.flights.look(flight);
        // If it is free by now, the mark that was found is off, and all was applied.
        seen.intent().map(|_| Holder { flight, seen })
    }

    /// What a commit does to a key, inside a pin that began before the commit was looked up: [`Intent::find`].
    pub(crate) fn plan_for(
        &self,
        holder: Holder,
        map: u64,
        key: AnyKey<'_>,
    ) -> Result<Option<Plan>> {
        match holder.seen.intent() {
            Some(at) => Intent::enter(&self.media, at)?.find(map, key),
            None => Ok(None),
        }
    }

    /// Waits for the end of a commit, outside of pins of the operation that waits. It ends: a commit waits for running
    /// operations only, none of which waits for a commit, and for commits that have marked higher stripes.
    fn wait_for_commit(&self, holder: Holder) -> Result<()> {
        let mut backoff = Backoff::default();
        while self.batches().flights.is_under_way(holder.flight, holder.seen) {
            // An error may have ended the commit: the next open completes it.
            if self.epochs.gate() & POISONED != 0 {
                return Err(self.doubt());
            }
            backoff.wait();
        }
        Ok(())
    }

    /// Leaves the mode, if it had no user for a while. Called now and then by those whom the mode costs time.
    #[cold]
    fn leave_mode_if_idle(&self) {
        let batches = self.batches();
        if batches.idle() < STAYS {
            return;
        }
        let Some(mut mode) = batches.mode.try_lock() else { return };
        if mode.is_shown && mode.users == 0 {
            (mode.is_shown, mode.is_entered) = (false, false);
            // A writer that finds the bit clear claims nothing. No flight is under way, and the next one first waits for
            // that writer.
            self.epochs.open(BATCHES);
        }
    }

    /// Counts a look of a reader while the mode lasts.
    pub(crate) fn note_look(&self) {
        let slot = self.epochs.slot(thread::current());
        if slot.note_look().is_multiple_of(CLAIMS) {
            self.leave_mode_if_idle();
        }
    }
}
