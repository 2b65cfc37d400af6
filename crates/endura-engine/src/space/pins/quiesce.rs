//! Quiescing a pool (no writers for a while) and closing it (no operations from then on).

use std::time::{Duration, Instant};

use crate::media::Media;
use crate::runtime::epoch::Inside;
use crate::runtime::thread;
use crate::space::session::{CLOSED, NO_READERS, QUIESCED};
use crate::space::space::Space;
use crate::sync::{self, Backoff, MutexGuard, Ordering};
use crate::{Error, Result};

/// How long other writers are kept out while one of them stays inside.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many times a thread looks, before it quiesces the pool, whether the writers that were kept out before have been
/// let in. All looks take some five milliseconds, in which each of those writers looks at the gate several times.
const LOOKS: u32 = Backoff::AWAKE + 8;
/// The pause between two attempts to get the turn.
const PAUSE: Duration = Duration::from_micros(250);

/// Proof that no thread writes to the pool. Writers wait until it is dropped; readers continue.
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
    /// Keeps writers out until the result is dropped, and returns when none is inside. Readers continue. One caller at
    /// a time; others wait for their turn.
    ///
    /// It waits for the writers inside for about a second at the most, because one of them may itself wait for a writer
    /// that is kept out.
    ///
    /// # Errors
    ///
    /// [`Error::InsideOperation`] if the calling thread has a guard itself; [`Error::WritersStay`] if
    /// others have one for too long; else as for [`pin`](Self::pin).
    pub fn quiesce(&self) -> Result<Quiesced<'_, M>> {
        // Checked first, as in `enter`: in a forked child the turn may belong to a thread that the child does not have.
        if self.birthplace.is_elsewhere() {
            return Err(Error::Forked);
        }
        // A reader's guard counts as well: the thread whose turn it is may be closing the pool, and wait for that
        // guard.
        if self.is_inside() {
            return Err(Error::InsideOperation);
        }
        let turn = self.turn_to_quiesce()?;
        self.let_writers_in();
        let gate = self.epochs.shut(QUIESCED);
        // From here on, every return clears the bit.
        let quiesced = Quiesced { space: self, _turn: turn };
        if gate & NO_READERS != 0 {
            return Err(self.refusal(gate));
        }
        match self.wait_until_left(Inside::Writing, Some(PATIENCE))? {
            true => Ok(quiesced),
            false => Err(self.writers_stay()),
        }
    }

    /// Waits for the turn, unless its owner is closing the pool.
    pub(super) fn turn_to_quiesce(&self) -> Result<MutexGuard<'_, ()>> {
        loop {
            if let Some(turn) = self.quiescing.try_lock() {
                return Ok(turn);
            }
            let gate = self.epochs.gate();
            if gate & NO_READERS != 0 {
                return Err(self.refusal(gate));
            }
            // A verification may hold the turn for long.
            sync::rest(Some(PAUSE));
        }
    }

    /// Waits a little for the writers that the previous caller kept out. They sleep, and where one verification follows
    /// another they would wake up too late each time.
    pub(super) fn let_writers_in(&self) {
        let mut backoff = Backoff::default();
        for _ in 0..LOOKS {
            // Relaxed: a hint.
            if self.kept_out.load(Ordering::Relaxed) == 0 {
                break;
            }
            backoff.wait();
        }
    }

    /// The error for writers that stayed inside for too long.
    pub(crate) fn writers_stay(&self) -> Error {
        let writers: Vec<usize> = self.epochs.inside(Inside::Writing).collect();
        let thread = writers.iter().find_map(|&number| thread::system_id(number));
        Error::WritersStay { threads: writers.len(), thread: thread.unwrap_or(0) }
    }

    /// Refuses all operations from now on, and returns when the last one has ended. Returns `false` if the pool was
    /// closed before.
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
        // Lets a thread that quiesced the pool finish, so that a verification sees one state throughout.
        let _turn = self.quiescing.lock();
        let first = self.epochs.shut(CLOSED) & CLOSED == 0;
        self.wait_until_left(Inside::Any, None)?;
        // From then on no cursor can continue from its seat. Only pins that are being refused can delay this.
        let mut backoff = Backoff::default();
        self.epochs.end_stamps(|| backoff.wait());
        Ok(first)
    }

    /// Waits until all operations have ended that did not see the bit that was just set in the gate. Returns `false` if
    /// they have not ended within `patience`.
    pub(super) fn wait_until_left(&self, how: Inside, patience: Option<Duration>) -> Result<bool> {
        if !self.epochs.settle() {
            return Err(Error::Unsupported {
                what: "the kernel took membarrier(2) away after the pool was opened; allow it",
            });
        }
        let begun = Instant::now();
        let mut backoff = Backoff::default();
        while self.epochs.inside(how).next().is_some() {
            if patience.is_some_and(|patience| begun.elapsed() > patience) {
                return Ok(false);
            }
            backoff.wait();
        }
        Ok(true)
    }
}
