//! Who may enter a pool: pins, and the states that turn them away.
//!
//! | state | readers | writers | set by |
//! | --- | --- | --- | --- |
//! | READ_ONLY | enter | [`Error::ReadOnly`] | the open |
//! | QUIESCED | enter | wait | [`Space::quiesce`], cleared when its guard is dropped, or after a second in vain |
//! | POISONED | [`Error::Poisoned`], [`Error::Corrupt`] | the same | a panic, an I/O error, damage found |
//! | CLOSED | [`Error::Closed`] | the same | [`Space::close`] |
//!
//! A child of a fork gets [`Error::Forked`], whatever the state, also inside a pin that it inherited. A pin
//! inside another one of the same thread that may do as much (any pin for a reader, a writer's for a
//! writer) is let in: whoever waits for the pool to empty waits for the outer one. There is no other rule.

use std::time::{Duration, Instant};

use super::guard::Guard;
use super::space::Space;
use super::stock::Stock;
use crate::media::Media;
use crate::runtime::epoch::{Mode, Slot};
use crate::runtime::thread;
use crate::sync::{self, Backoff, Mutex, MutexGuard};
use crate::{Error, Result};

const CLOSED: u64 = 1;
const POISONED: u64 = 2;
pub(super) const READ_ONLY: u64 = 4;
const QUIESCED: u64 = 8;

/// How long writers are kept out while one of them stays inside.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two looks at whose turn it is.
const PAUSE: Duration = Duration::from_micros(250);

/// States that keep readers out.
const NO_READERS: u64 = CLOSED | POISONED;
/// States that keep writers out.
const NO_WRITERS: u64 = NO_READERS | READ_ONLY | QUIESCED;
/// Lets in whom no state keeps out: who does what is left to do in a closed pool.
pub(super) const NO_STATE: u64 = 0;

/// Proof that nobody writes to the pool. Writers wait until it is dropped; readers go on.
#[must_use = "writers go on when it is dropped"]
pub struct Quiesced<'s, M: Media> {
    space: &'s Space<M>,
    _turn: MutexGuard<'s, ()>,
}

impl<M: Media> Quiesced<'_, M> {
    /// The pool.
    pub fn space(&self) -> &Space<M> {
        self.space
    }
}

impl<M: Media> Drop for Quiesced<'_, M> {
    fn drop(&mut self) {
        self.space.epochs.open(QUIESCED);
    }
}

impl<M: Media> Space<M> {
    /// Enters an operation that reads.
    ///
    /// Costs a few nanoseconds: two plain stores and a few loads, no fence.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`], [`Error::Forked`], [`Error::Poisoned`], or [`Error::Corrupt`] if that is
    /// why the pool was poisoned.
    #[inline(always)]
    pub fn pin(&self) -> Result<Guard<'_, M>> {
        self.enter(Mode::Reader, NO_READERS)
    }

    /// Enters an operation that may write. Waits while the pool is [quiesced](Self::quiesce).
    ///
    /// # Errors
    ///
    /// As for [`pin`](Self::pin), and [`Error::ReadOnly`].
    #[inline(always)]
    pub fn pin_mut(&self) -> Result<Guard<'_, M>> {
        self.enter(Mode::Writer, NO_WRITERS)
    }

    /// Runs `write` as part of an operation that may write, if one may begin at once; for writes that
    /// can be left out.
    pub fn try_mut<R>(&self, write: impl FnOnce(&Guard<'_, M>) -> R) -> Option<R> {
        if self.birthplace.is_elsewhere() {
            return None;
        }
        let slot = self.epochs.slot(thread::current());
        let gate = self.epochs.pin(slot, Mode::Writer) & NO_WRITERS;
        let guard = Guard::new(self, slot, Mode::Writer);
        (gate == 0 || slot.is_nested(Mode::Writer)).then(|| write(&guard))
    }

    /// Enters an operation that the bits of `shut_by` in the gate turn away, unless it is nested in one that
    /// may do as much. Waits while the pool is quiesced and nothing else keeps it out.
    #[inline(always)]
    pub(super) fn enter(&self, mode: Mode, shut_by: u64) -> Result<Guard<'_, M>> {
        // First: in a child every lock, also that of a thread's first pin, may be held for ever.
        if self.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        let slot = self.epochs.slot(thread::current());
        let gate = self.epochs.pin(slot, mode) & shut_by;
        if gate != 0 {
            self.stay_in_shut(slot, mode, shut_by, gate)?;
        }
        // In one place: what the guard is for is then known where it is dropped.
        Ok(Guard::new(self, slot, mode))
    }

    /// Goes on with a pin that the gate turns away, if another one is around it: whoever waits for the pool to
    /// empty waits for that. Else ends it, and begins it anew as soon as the pool is no longer quiesced.
    #[cold]
    #[inline(never)]
    fn stay_in_shut(
        &self,
        slot: &Slot<Mutex<Stock>>,
        mode: Mode,
        shut_by: u64,
        mut gate: u64,
    ) -> Result<()> {
        let mut backoff = Backoff::default();
        while gate != 0 && !slot.is_nested(mode) {
            slot.unpin(mode);
            if gate != QUIESCED {
                return Err(self.refusal(gate));
            }
            // Whoever quiesced the pool waits for nobody.
            while self.epochs.gate() & shut_by == QUIESCED {
                backoff.wait();
            }
            gate = self.epochs.pin(slot, mode) & shut_by;
        }
        Ok(())
    }

    #[cold]
    fn refusal(&self, gate: u64) -> Error {
        if self.birthplace.is_elsewhere() {
            Error::Forked
        } else if gate & CLOSED != 0 {
            Error::Closed
        } else if gate & POISONED != 0 {
            self.doubt()
        } else {
            Error::ReadOnly
        }
    }

    /// Why the pool is poisoned.
    pub(super) fn doubt(&self) -> Error {
        match self.damage.get() {
            Some(&(offset, what)) => Error::Corrupt { offset, what },
            None => Error::Poisoned,
        }
    }

    /// Lets no operation begin any more until the next open: one panicked while it held a lock, or
    /// failed in a way that leaves the pool in doubt.
    pub fn poison(&self) {
        self.epochs.shut(POISONED);
    }

    /// Poisons the pool because of what was found in it.
    #[cold]
    pub(super) fn poison_with(&self, error: &Error) {
        if let Error::Corrupt { offset, what } = *error {
            // The first finding is the one to report.
            let _ = self.damage.set((offset, what));
        }
        self.poison();
    }

    /// Whether the pool was poisoned: then it must not be marked as cleanly closed.
    pub fn is_poisoned(&self) -> bool {
        self.epochs.gate() & POISONED != 0
    }

    /// Keeps writers out until the result is dropped, and returns when none is inside. Readers go
    /// on. One caller at a time; others wait for their turn.
    ///
    /// Those inside are waited for no longer than about a second: one of them may wait for a writer that is
    /// kept out.
    ///
    /// # Errors
    ///
    /// [`Error::InsideOperation`] if the calling thread has a guard itself; [`Error::WritersStay`] if
    /// others have one for too long; else as for [`pin`](Self::pin).
    pub fn quiesce(&self) -> Result<Quiesced<'_, M>> {
        // First, as in `enter`: in a child the turn may be anybody's.
        if self.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        // Also a reader's: the one whose turn it is may be closing the pool, and wait for it.
        if self.is_inside() {
            return Err(Error::InsideOperation);
        }
        let turn = self.turn_to_quiesce()?;
        let gate = self.epochs.shut(QUIESCED);
        // From here on the bit is cleared on every way out.
        let quiesced = Quiesced { space: self, _turn: turn };
        if gate & NO_READERS != 0 {
            return Err(self.refusal(gate));
        }
        match self.wait_until_left(Mode::Writer, Some(PATIENCE))? {
            true => Ok(quiesced),
            false => Err(self.writers_stay()),
        }
    }

    /// Waits for the turn, unless whoever has it is closing the pool.
    fn turn_to_quiesce(&self) -> Result<MutexGuard<'_, ()>> {
        loop {
            if let Some(turn) = self.quiescing.try_lock() {
                return Ok(turn);
            }
            let gate = self.epochs.gate();
            if gate & NO_READERS != 0 {
                return Err(self.refusal(gate));
            }
            // A verification takes its time.
            sync::rest(Some(PAUSE));
        }
    }

    fn writers_stay(&self) -> Error {
        let writers: Vec<usize> = self.epochs.inside(Mode::Writer).collect();
        let thread = writers.iter().find_map(|&number| thread::system_id(number));
        Error::WritersStay { threads: writers.len(), thread: thread.unwrap_or(0) }
    }

    /// Turns all operations away from now on and returns when the last one has ended; `false` if
    /// the pool was closed before.
    ///
    /// # Errors
    ///
    /// [`Error::InsideOperation`] if the calling thread has a guard itself, [`Error::Forked`].
    pub fn close(&self) -> Result<bool> {
        if self.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        if self.is_inside() {
            return Err(Error::InsideOperation);
        }
        // Lets whoever quiesced the pool finish, so that a verification sees one state throughout.
        let _turn = self.quiescing.lock();
        let first = self.epochs.shut(CLOSED) & CLOSED == 0;
        self.wait_until_left(Mode::Reader, None)?;
        // A cursor then cannot go on from what it remembers. Only pins that are being turned away can hold
        // this up.
        let mut backoff = Backoff::default();
        self.epochs.end_stamps(|| backoff.wait());
        Ok(first)
    }

    /// Whether the calling thread is inside an operation.
    pub(crate) fn is_inside(&self) -> bool {
        self.epochs.slot(thread::current()).is_pinned()
    }

    /// Whether this process is a fork of the one that opened the pool.
    #[inline(always)]
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.birthplace.is_elsewhere()
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.epochs.gate() & CLOSED != 0
    }

    /// Waits until all operations that did not see a bit just set in the gate have ended; `false` if that
    /// takes too long.
    fn wait_until_left(&self, mode: Mode, patience: Option<Duration>) -> Result<bool> {
        if !self.epochs.settle() {
            return Err(Error::Unsupported {
                what: "the kernel took membarrier(2) away after the pool was opened; allow it",
            });
        }
        let begun = Instant::now();
        let mut backoff = Backoff::default();
        while self.epochs.inside(mode).next().is_some() {
            if patience.is_some_and(|patience| begun.elapsed() > patience) {
                return Ok(false);
            }
            backoff.wait();
        }
        Ok(true)
    }
}
