//! Holding writers for a moment in which no thread stores, and parking writers that run a closure of the caller's.
//! A parked writer has no [claim](crate::runtime::claims) either.
//!
//! A checkpoint copies what `kill -9` would leave at one moment. At that moment operations may be half done, as after a
//! kill. But no thread may store, or the copy could have a later store without an earlier one. So the copier *holds*
//! the writers: it sets HELD in the gate, and waits until no thread is inside a pin for writing.
//!
//! A closure of a program may take any time, and may itself wait for a thread that is held. So a writer *parks* before
//! it runs one, and a hold does not wait for it.
//!
//! | the writer | the hold |
//! | --- | --- |
//! | begins an operation | keeps it waiting |
//! | is in a closure, even for an hour | does not wait for it |
//! | returns from a closure | keeps it waiting there |
//! | begins an operation in a closure | keeps it waiting, although it is nested |
//! | runs a closure in an operation that it began in a closure | waits for it: only one closure of a thread is parked |
//! | begins an operation in that second closure | lets it continue, and waits for it |
//! | is suspended by the kernel between two stores | waits for it |
//!
//! The last three cases may take long. So a hold gives up after some time: writers continue, and the copier tries again
//! later. A chunk that a parked writer has allocated has no owner in the copy, as after a kill.
//!
//! The filler of `insert_from` stores into its own chunk while it is parked. Nothing leads to that chunk yet, and the
//! chunk is flushed as a whole once it is filled.

use std::time::Duration;

use crate::media::{Mark, Media};
use crate::runtime::epoch::{Inside, Slot};
use crate::runtime::thread;
use crate::space::alloc::thread_cache::ThreadCache;
use crate::space::session::{HELD, NO_READERS};
use crate::space::space::Space;
use crate::sync::{Backoff, Mutex, MutexGuard, Ordering};
use crate::{Error, Result};

/// Proof that no thread stores to the pool. Writers wait until it is dropped; readers continue.
///
/// The owner of a hold must neither write to the pool nor wait for a thread that writes to it: such a write waits for
/// the end of the hold.
#[must_use = "writers go on when it is dropped"]
pub struct Hold<'s, M: Media> {
    space: &'s Space<M>,
    _turn: MutexGuard<'s, ()>,
}

impl<M: Media> Drop for Hold<'_, M> {
    fn drop(&mut self) {
        self.space.epochs.open(HELD);
        self.space.wake_held();
    }
}

/// A writer that is parked while it runs a closure. It is parked until this value is dropped, which also happens if the
/// closure panics.
struct Parked<'s, M: Media> {
    space: &'s Space<M>,
    slot: &'s Slot<Mutex<ThreadCache>>,
}

impl<M: Media> Drop for Parked<'_, M> {
    fn drop(&mut self) {
        if self.space.epochs.unpark(self.slot) & HELD != 0 {
            self.space.stay_parked(self.slot);
        }
        self.space.media.mark(Mark::Entered);
    }
}

impl<M: Media> Space<M> {
    /// Parks the slot's owner again, until the hold ends.
    #[cold]
    #[inline(never)]
    fn stay_parked(&self, slot: &Slot<Mutex<ThreadCache>>) {
        // Relaxed, as for pins that are kept out.
        self.kept_out.fetch_add(1, Ordering::Relaxed);
        let mut backoff = Backoff::default();
        // In a forked child no thread ends the hold. The operation fails there and stores nothing more.
        while !self.is_elsewhere() {
            slot.park();
            self.sleep_while_held(&mut backoff);
            if self.epochs.unpark(slot) & HELD == 0 {
                break;
            }
        }
        self.kept_out.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes that this session makes checkpoints.
    pub fn expect_checkpoints(&self) {
        // Relaxed: a hint for walks.
        self.has_checkpoints.store(true, Ordering::Relaxed);
    }

    /// Whether the session makes checkpoints.
    pub(crate) fn makes_checkpoints(&self) -> bool {
        self.has_checkpoints.load(Ordering::Relaxed)
    }

    /// Runs a closure of the caller's inside a pin for writing. The thread holds no lock meanwhile, and has no claim. If
    /// the pin has a key, the caller [claims it again](crate::space::OpenMap::claims_again) behind the closure.
    #[inline]
    pub(crate) fn parked<R>(&self, closure: impl FnOnce() -> R) -> R {
        let slot = self.epochs.slot(thread::current());
        let _parked = slot.park().then(|| {
            // A hold may begin.
            self.media.mark(Mark::Left);
            Parked { space: self, slot }
        });
        closure()
    }

    /// Keeps writers out until the result is dropped. Waits until no thread can store, then returns; readers continue. If
    /// `patience` runs out before that, returns `None`, and writers continue. One caller at a time; other
    /// callers, and those of [`quiesce`](Self::quiesce), wait for their turn.
    ///
    /// # Errors
    ///
    /// [`Error::InsideOperation`] if the calling thread has a guard itself; else as for [`pin`](Self::pin), also if the
    /// pool was closed or poisoned during the wait.
    pub fn hold(&self, patience: Duration) -> Result<Option<Hold<'_, M>>> {
        // This is checked first, as in `quiesce`.
        if self.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        if self.is_inside() {
            return Err(Error::InsideOperation);
        }
        let turn = self.turn_to_quiesce()?;
        // As in `quiesce`: one hold may follow another, and the writers of the first have to wake up.
        self.let_writers_in();
        self.hold_in_turn(turn, patience)
    }

    /// Does what [`hold`](Self::hold) does, for a caller whose turn it is.
    pub(super) fn hold_in_turn<'s>(
        &'s self,
        turn: MutexGuard<'s, ()>,
        patience: Duration,
    ) -> Result<Option<Hold<'s, M>>> {
        self.begin_holding();
        let gate = self.epochs.shut(HELD);
        // From here on, every return clears the bit.
        let hold = Hold { space: self, _turn: turn };
        if gate & NO_READERS != 0 {
            return Err(self.refusal(gate));
        }
        let left = self.wait_until_left(Inside::Storing, Some(patience))?;
        // Read again: a writer that the hold waited for may have left by a panic, with half an operation done.
        let gate = self.epochs.gate();
        if gate & NO_READERS != 0 {
            return Err(self.refusal(gate));
        }
        Ok(left.then_some(hold))
    }
}
