//! Who may enter a pool: pins, and the states that turn them away.
//!
//! | state | readers | writers | set by |
//! | --- | --- | --- | --- |
//! | READ_ONLY | enter | [`Error::ReadOnly`] | the open |
//! | QUIESCED | enter | wait | [`Space::quiesce`], cleared when its guard is dropped |
//! | POISONED | [`Error::Poisoned`], [`Error::Corrupt`] | the same | a panic, an I/O error, damage found |
//! | CLOSED | [`Error::Closed`] | the same | [`Space::close`] |
//!
//! A child of a fork gets [`Error::Forked`], whatever the state. A pin inside another pin of the
//! same thread is not checked again: whoever waits for the pool to empty waits for the outer one.

use super::guard::Guard;
use super::space::Space;
use super::stock::Stock;
use crate::media::Media;
use crate::sync::{Backoff, Mutex, MutexGuard};
use crate::volatile::epoch::{Mode, Slot};
use crate::volatile::thread;
use crate::{Error, Result};

const CLOSED: u64 = 1;
const POISONED: u64 = 2;
pub(super) const READ_ONLY: u64 = 4;
const QUIESCED: u64 = 8;

/// States that keep readers out.
const NO_READERS: u64 = CLOSED | POISONED;

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
        let slot = self.epochs.slot(thread::current());
        let nested = slot.is_pinned();
        let gate = self.epochs.pin(slot, Mode::Reader);
        if gate & NO_READERS == 0 && !self.birthplace.is_elsewhere() {
            Ok(Guard::new(self, slot))
        } else {
            self.pin_shut(slot, nested, gate)
        }
    }

    #[cold]
    fn pin_shut<'s>(
        &'s self,
        slot: &'s Slot<Mutex<Stock>>,
        nested: bool,
        gate: u64,
    ) -> Result<Guard<'s, M>> {
        if nested {
            return Ok(Guard::new(self, slot));
        }
        slot.unpin();
        Err(self.refusal(gate))
    }

    /// Enters an operation that may write. Waits while the pool is [quiesced](Self::quiesce).
    ///
    /// # Errors
    ///
    /// As for [`pin`](Self::pin), and [`Error::ReadOnly`].
    #[inline(always)]
    pub fn pin_mut(&self) -> Result<Guard<'_, M>> {
        let slot = self.epochs.slot(thread::current());
        let nested = slot.is_pinned() && slot.is_writer();
        let gate = self.epochs.pin(slot, Mode::Writer);
        if nested || (gate == 0 && !self.birthplace.is_elsewhere()) {
            Ok(Guard::new(self, slot))
        } else {
            self.pin_mut_slow(slot, gate)
        }
    }

    /// Runs `write` as part of an operation that may write, if one may begin at once; for writes that
    /// can be left out. Inside a reader's pin, that is a reader's again afterwards.
    pub fn try_mut<R>(&self, write: impl FnOnce(&Guard<'_, M>) -> R) -> Option<R> {
        let slot = self.epochs.slot(thread::current());
        let is_writer = slot.is_pinned() && slot.is_writer();
        let gate = self.epochs.pin(slot, Mode::Writer);
        let may = is_writer || (gate == 0 && !self.birthplace.is_elsewhere());
        let guard = Guard::new(self, slot);
        let result = may.then(|| write(&guard));
        if !is_writer {
            // Before the end of the pin around it: whoever waits for writers must not wait for that.
            slot.renounce();
        }
        result
    }

    #[cold]
    fn pin_mut_slow<'s>(
        &'s self,
        slot: &'s Slot<Mutex<Stock>>,
        mut gate: u64,
    ) -> Result<Guard<'s, M>> {
        let mut backoff = Backoff::default();
        loop {
            // Also inside a reader's pin, which goes on: the one who waits must not wait for it.
            slot.renounce();
            slot.unpin();
            if gate & !QUIESCED != 0 || self.birthplace.is_elsewhere() {
                return Err(self.refusal(gate));
            }
            while self.epochs.gate() == QUIESCED {
                backoff.wait();
            }
            gate = self.epochs.pin(slot, Mode::Writer);
            if gate == 0 {
                return Ok(Guard::new(self, slot));
            }
        }
    }

    /// Enters whatever the gate says, for what is left to do when the pool is closed.
    pub(super) fn pin_unchecked(&self) -> Guard<'_, M> {
        let slot = self.epochs.slot(thread::current());
        self.epochs.pin(slot, Mode::Writer);
        Guard::new(self, slot)
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
    /// # Errors
    ///
    /// [`Error::InsideOperation`] if the calling thread has a guard itself; else as for
    /// [`pin`](Self::pin).
    pub fn quiesce(&self) -> Result<Quiesced<'_, M>> {
        // Also a reader's: the one whose turn it is may be closing the pool, and wait for it.
        if self.epochs.slot(thread::current()).is_pinned() {
            return Err(Error::InsideOperation);
        }
        let turn = self.quiescing.lock();
        let gate = self.epochs.shut(QUIESCED);
        // From here on the bit is cleared on every way out.
        let quiesced = Quiesced { space: self, _turn: turn };
        if gate & NO_READERS != 0 || self.birthplace.is_elsewhere() {
            return Err(self.refusal(gate));
        }
        self.wait_until_left(Mode::Writer)?;
        Ok(quiesced)
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
        if self.epochs.slot(thread::current()).is_pinned() {
            return Err(Error::InsideOperation);
        }
        // Lets whoever quiesced the pool finish, so that a verification sees one state throughout.
        let _turn = self.quiescing.lock();
        let first = self.epochs.shut(CLOSED) & CLOSED == 0;
        self.wait_until_left(Mode::Reader)?;
        self.outdate_cursors();
        Ok(first)
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

    /// Moves the epoch on by two. A cursor then cannot go on from what it remembers: it has to pin,
    /// and is turned away. Only pins that are being turned away themselves can hold this up.
    fn outdate_cursors(&self) {
        let mut backoff = Backoff::default();
        let end = self.epochs.now() + 2;
        while self.epochs.advance() < end && self.epochs.settle() {
            backoff.wait();
        }
    }

    /// Waits until all operations that did not see a bit just set in the gate have ended.
    fn wait_until_left(&self, mode: Mode) -> Result<()> {
        if !self.epochs.settle() {
            return Err(Error::Unsupported {
                what: "the kernel took membarrier(2) away after the pool was opened; allow it",
            });
        }
        let mut backoff = Backoff::default();
        while !self.epochs.is_empty_of(mode) {
            backoff.wait();
        }
        Ok(())
    }
}
