//! Admission to a pool: pins, and the states in which they are refused.
//!
//! | state | readers | writers | set by |
//! | --- | --- | --- | --- |
//! | READ_ONLY | enter | [`Error::ReadOnly`] | the open |
//! | QUIESCED | enter | wait | [`Space::quiesce`]; cleared when its guard is dropped, or after a second in vain |
//! | HELD | enter | wait | [`Space::hold`]; cleared when its guard is dropped, or when its time is up |
//! | SLOWED | enter | wait, for 60 ms at the most | [`Space::slow_down`]; cleared when its guard is dropped |
//! | POISONED | [`Error::Poisoned`], [`Error::Corrupt`] | the same | a panic, an I/O error, damage found |
//! | CLOSED | [`Error::Closed`] | the same | [`Space::close`] |
//! | BATCHES | enter | enter; if they write one key, they [claim](super::claims) it | the first commit of several changes; cleared a while after the last |
//!
//! A forked child gets [`Error::Forked`] in every state, even inside a pin that it inherited.
//!
//! A pin inside another one of the same thread is admitted in every state, if the outer pin may do as much: a reader's
//! pin inside any pin, and a writer's pin inside a writer's. The reason is that a thread which waits for the pool to
//! empty waits for the outer pin. There is one exception. A hold does not wait for a [parked](super::park) writer, so a
//! writer's pin inside a parked one, and inside no other, waits for the end of the hold.

use crate::media::Media;
use crate::runtime::epoch::{Mode, Slot};
use crate::runtime::thread;
use crate::space::alloc::events::Event;
use crate::space::alloc::thread_cache::ThreadCache;
use crate::space::pins::guard::Guard;
use crate::space::pins::held::SlowWait;
use crate::space::session::{CLOSED, HELD, NO_READERS, NO_WRITERS, NOT_NOW, POISONED, SLOWED};
use crate::space::space::Space;
use crate::sync::{Backoff, Mutex, Ordering};
use crate::{Error, Result};

/// Whether the innermost pin of the slot's owner is admitted, given the bits that it found in the gate.
fn is_admitted<T>(slot: &Slot<T>, mode: Mode, gate: u64) -> bool {
    gate == 0 || slot.is_nested(mode) && !(gate & HELD != 0 && slot.is_nested_in_parked())
}

impl<M: Media> Space<M> {
    /// Begins an operation that reads.
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

    /// Begins an operation that may write. Waits while the pool is [quiesced](Self::quiesce) or [held](Self::hold), and
    /// for a short time while writers are [slowed down](Self::slow_down).
    ///
    /// # Errors
    ///
    /// As for [`pin`](Self::pin), and [`Error::ReadOnly`].
    #[inline(always)]
    pub fn pin_mut(&self) -> Result<Guard<'_, M>> {
        self.enter(Mode::Writer, NO_WRITERS)
    }

    /// Runs `write` as part of an operation that may write, if one may begin at once, and returns `None` otherwise. It
    /// is for writes that can be left out.
    pub fn try_mut<R>(&self, write: impl FnOnce(&Guard<'_, M>) -> R) -> Option<R> {
        if self.birthplace.is_elsewhere() {
            return None;
        }
        let slot = self.epochs.slot(thread::current());
        let gate = self.epochs.pin(slot, Mode::Writer) & NO_WRITERS;
        let guard = Guard::new(self, slot, Mode::Writer);
        is_admitted(slot, Mode::Writer, gate).then(|| write(&guard))
    }

    /// Begins an operation. The bits of `shut_by` in the gate keep it out, unless it is nested in an operation that may
    /// do as much. Waits if only a quiesced, held or slowed-down pool keeps it out.
    #[inline(always)]
    pub(crate) fn enter(&self, mode: Mode, shut_by: u64) -> Result<Guard<'_, M>> {
        // Checked first: in a forked child every lock may be held for ever, even the one that a thread's first pin
        // takes.
        if self.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        let slot = self.epochs.slot(thread::current());
        let gate = self.epochs.pin(slot, mode) & shut_by;
        if gate != 0 {
            self.stay_in_shut(slot, mode, shut_by, gate)?;
        }
        // The guard is made in one place, so that the compiler knows the mode of the guard where it is dropped.
        Ok(Guard::new(self, slot, mode))
    }

    /// Admits a pin that found the gate shut, if it is nested in a pin of which it is a part. Otherwise ends the pin,
    /// and begins it again as soon as the pool is no longer quiesced or held, or the pin has been slowed down for long
    /// enough.
    #[cold]
    #[inline(never)]
    pub(super) fn stay_in_shut(
        &self,
        slot: &Slot<Mutex<ThreadCache>>,
        mode: Mode,
        shut_by: u64,
        gate: u64,
    ) -> Result<()> {
        // Relaxed: a hint for the next thread that quiesces the pool, which looks again and again.
        self.kept_out.fetch_add(1, Ordering::Relaxed);
        let outcome = self.wait_for_gate(slot, mode, shut_by, gate);
        self.kept_out.fetch_sub(1, Ordering::Relaxed);
        outcome
    }

    fn wait_for_gate(
        &self,
        slot: &Slot<Mutex<ThreadCache>>,
        mode: Mode,
        mut shut_by: u64,
        mut gate: u64,
    ) -> Result<()> {
        let (mut backoff, mut slow) = (Backoff::default(), SlowWait::default());
        while !is_admitted(slot, mode, gate) {
            slot.unpin(mode);
            if gate & !NOT_NOW != 0 {
                return Err(self.refusal(gate));
            }
            // `quiesce` waits for a parked writer, and so for a pin nested in it. Such a pin waits for the end of a
            // hold only.
            let ends = if slot.is_writer() { HELD } else { NOT_NOW };
            // This wait ends: a thread that sets one of these bits waits for other threads for a limited time only.
            loop {
                let gate = self.epochs.gate() & shut_by;
                if slow.is_over(gate) {
                    shut_by &= !SLOWED;
                    continue;
                }
                if gate & ends == 0 || gate & !NOT_NOW != 0 {
                    break;
                }
                match gate & (HELD | SLOWED) {
                    0 => backoff.wait(),
                    _ => self.sleep_while_held(&mut backoff),
                }
            }
            gate = self.epochs.pin(slot, mode) & shut_by;
        }
        Ok(())
    }

    #[cold]
    pub(crate) fn refusal(&self, gate: u64) -> Error {
        if self.birthplace.is_elsewhere() {
            Error::Forked
        } else if gate & CLOSED != 0 {
            Error::Closed { pool: self.name() }
        } else if gate & POISONED != 0 {
            self.doubt()
        } else {
            Error::ReadOnly
        }
    }

    /// The reason why the pool is poisoned.
    pub(crate) fn doubt(&self) -> Error {
        match self.damage.get() {
            Some(&(offset, what)) => Error::Corrupt { offset, what },
            None => Error::Poisoned,
        }
    }

    /// Refuses all operations from now on, until the next open. It must be called when an operation panicked while it
    /// held a lock, or failed in a way that leaves the pool in doubt.
    pub fn poison(&self) {
        if !self.is_poisoned() {
            self.tell(|| Event::Poisoned);
        }
        self.epochs.shut(POISONED);
    }

    /// Poisons the pool because of damage that was found in it.
    #[cold]
    pub(crate) fn poison_with(&self, error: &Error) {
        self.note_damage(error);
        if let Error::Corrupt { offset, what } = *error {
            // The first finding is the one to report.
            let _ = self.damage.set((offset, what));
        }
        self.poison();
    }

    /// Whether the pool was poisoned. It must then not be marked as cleanly closed.
    pub fn is_poisoned(&self) -> bool {
        self.epochs.gate() & POISONED != 0
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
}
