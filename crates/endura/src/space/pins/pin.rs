//! Admission to a pool: pins, and the states that turn them away.
//!
//! | state | readers | writers | set by |
//! | --- | --- | --- | --- |
//! | READ_ONLY | enter | [`Error::ReadOnly`] | the open |
//! | QUIESCED | enter | wait | [`Space::quiesce`], cleared when its guard is dropped, or after a second in vain |
//! | HELD | enter | wait | [`Space::hold`], cleared when its guard is dropped, or when its time is up |
//! | SLOWED | enter | wait, for 60 ms at the most | [`Space::slow_down`], cleared when its guard is dropped |
//! | POISONED | [`Error::Poisoned`], [`Error::Corrupt`] | the same | a panic, an I/O error, damage found |
//! | CLOSED | [`Error::Closed`] | the same | [`Space::close`] |
//!
//! A child of a fork gets [`Error::Forked`], whatever the state, also inside a pin that it inherited. A pin
//! inside another one of the same thread that may do as much (any pin for a reader, a writer's for a
//! writer) is admitted, because a thread that waits for the pool to empty waits for the outer one. A hold does not wait for a
//! [parked](super::park) one, so that a writer's pin inside of that, and of no other, waits for the hold. There is no other rule.

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

/// Whether the owner's innermost pin may go on, which has found these bits in the gate.
fn is_admitted<T>(slot: &Slot<T>, mode: Mode, gate: u64) -> bool {
    gate == 0 || slot.is_nested(mode) && !(gate & HELD != 0 && slot.is_nested_in_parked())
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

    /// Enters an operation that may write. Waits while the pool is [quiesced](Self::quiesce) or [held](Self::hold), and a little
    /// while writers are [slowed down](Self::slow_down).
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
        is_admitted(slot, Mode::Writer, gate).then(|| write(&guard))
    }

    /// Enters an operation that the bits of `shut_by` in the gate turn away, unless it is nested in one that
    /// may do as much. Waits while the pool is quiesced and nothing else keeps it out.
    #[inline(always)]
    pub(crate) fn enter(&self, mode: Mode, shut_by: u64) -> Result<Guard<'_, M>> {
        // First: in a child every lock, also that of a thread's first pin, may be held for ever.
        if self.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        let slot = self.epochs.slot(thread::current());
        let gate = self.epochs.pin(slot, mode) & shut_by;
        if gate != 0 {
            self.stay_in_shut(slot, mode, shut_by, gate)?;
        }
        // In one place, so that the compiler knows the guard's mode where it is dropped.
        Ok(Guard::new(self, slot, mode))
    }

    /// Admits a pin that the gate turned away if another one is around it that it is part of. Otherwise ends the pin, and takes
    /// it again as soon as the pool is no longer quiesced or held, nor slowed down for it.
    #[cold]
    #[inline(never)]
    fn stay_in_shut(
        &self,
        slot: &Slot<Mutex<ThreadCache>>,
        mode: Mode,
        shut_by: u64,
        gate: u64,
    ) -> Result<()> {
        // Relaxed: a hint for the next one that quiesces the pool, which looks again and again.
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
            // A verification waits for a writer that is parked, and so for what is nested in it.
            let ends = if slot.is_writer() { HELD } else { NOT_NOW };
            // The threads that set these bits wait for no other for long, so that this wait ends.
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
            Error::Closed
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

    /// Lets no operation begin any more until the next open: one panicked while it held a lock, or
    /// failed in a way that leaves the pool in doubt.
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

    /// Whether the pool was poisoned: then it must not be marked as cleanly closed.
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
