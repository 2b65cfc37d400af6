//! When space is short: freeing what waits.
//!
//! An operation that runs out of space first frees what is ripe in every thread's limbo and takes
//! back what every thread has cached. It cannot free what was retired since it began, nor in the
//! epoch before, for its own pin holds the epoch. If it fails for that reason it has to end, and to
//! begin again after [`Space::relieve`]; [`Space::with_room`] does so, and has the collection finished, if
//! one is under way, before it gives up.

use std::time::Duration;

use super::guard::Guard;
use super::space::Space;
use crate::media::Media;
use crate::sync;
use crate::volatile::thread;
use crate::{Error, Result};

/// How often [`Space::relieve`] looks whether those inside have left: first with a yield each, then
/// with a pause. Together about a quarter of a second, far more than an operation takes even where
/// many threads share a core.
const PATIENCE: usize = 1_000;
const PAUSE: Duration = Duration::from_micros(250);

/// How often an operation that runs out of space is begun again.
const ATTEMPTS: usize = 8;

impl<M: Media> Space<M> {
    /// Frees what is ripe in all limbos and empties all caches. How many chunks left limbo.
    pub(super) fn reclaim(&self, guard: &Guard<'_, M>) -> Result<usize> {
        self.epochs.advance();
        let now = self.epochs.advance();
        self.free_dropped_maps(guard, now)?;
        self.empty_stocks(now)
    }

    /// As [`reclaim`](Self::reclaim), with two steps of the epoch if nobody is inside.
    #[cfg(all(test, loom))]
    pub(crate) fn reclaim_outside(&self) -> Result<usize> {
        self.epochs.advance();
        self.epochs.advance();
        self.reclaim(&self.pin_mut()?)
    }

    /// Frees what may be reused at epoch `now`, takes back all caches, and lets go of the pages
    /// that become wholly free.
    pub(super) fn empty_stocks(&self, now: u64) -> Result<usize> {
        let mut freed = 0;
        for slot in self.epochs.slots() {
            // Each in turn: to hold two of these locks could be a deadlock.
            let mut stock = slot.contents.lock();
            let result = stock
                .ripen(&self.media, &self.allocator, now)
                .and_then(|n| stock.empty_caches(&self.media, &self.allocator).map(|()| n));
            match result {
                Ok(n) => freed += n,
                Err(error) => {
                    self.poison_with(&error);
                    return Err(error);
                }
            }
        }
        self.allocator.release_spares();
        Ok(freed)
    }

    fn limbo_bytes(&self) -> u64 {
        self.epochs.slots().map(|slot| slot.contents.lock().limbo_bytes()).sum()
    }

    /// Waits a little for the operations that keep retired chunks from being reused, and frees
    /// these. `true` if it freed any. To be called outside of operations.
    ///
    /// # Errors
    ///
    /// [`Error::ReclaimStalled`] if chunks wait and none became free, because some thread stays
    /// inside one operation; those of [`pin_mut`](Self::pin_mut).
    pub fn relieve(&self) -> Result<bool> {
        let waiting = self.limbo_bytes();
        let ripe = self.epochs.now() + 2;
        // No use in waiting for nothing, or for oneself.
        let own = self.epochs.slot(thread::current()).is_pinned();
        let patience = if own || waiting == 0 { 2 } else { PATIENCE };
        let mut have_left = false;
        for look in 0..patience {
            have_left = self.epochs.advance() >= ripe;
            if have_left {
                break;
            }
            // Where nobody is inside two looks are enough, and giving way costs a turn of all others.
            if look > 1 {
                sync::rest((look >= PATIENCE / 10).then_some(PAUSE));
            }
        }
        // Inside a pin, for whoever quiesced the pool counts what is free.
        let freed = self.reclaim(&self.pin_mut()?)?;
        let left = self.limbo_bytes();
        if freed > 0 || left < waiting {
            Ok(true)
        } else if left > 0 && !have_left {
            Err(Error::ReclaimStalled { waiting: left })
        } else {
            // What waited was freed by others, and what waits now came later.
            Ok(left > 0)
        }
    }

    /// Runs an operation, and again after freeing what waits if it ran out of space.
    ///
    /// # Errors
    ///
    /// Those of the operation, and of [`relieve`](Self::relieve).
    #[inline]
    pub fn with_room<T>(&self, mut operation: impl FnMut() -> Result<T>) -> Result<T> {
        match operation() {
            // Apart: a result is as large as an error, and all of it would be copied.
            Ok(value) => Ok(value),
            Err(full @ Error::Full { .. }) => self.with_room_made(full, operation),
            Err(error) => Err(error),
        }
    }

    #[cold]
    fn with_room_made<T>(
        &self,
        mut full: Error,
        mut operation: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        for attempt in 0..=ATTEMPTS {
            let relieved = if attempt < ATTEMPTS { self.relieve() } else { Ok(false) };
            let (has_freed, reason) = match relieved {
                // What was stranded may be found all the same: it waits for nobody.
                Err(stalled @ Error::ReclaimStalled { .. }) => (false, stalled),
                relieved => (relieved?, full),
            };
            if !has_freed && !self.finish_collection()? {
                return Err(reason);
            }
            match operation() {
                Err(again @ Error::Full { .. }) => full = again,
                result => return result,
            }
        }
        Err(full)
    }

    /// Has the collection finished that this session needs; whether that may have freed anything.
    fn finish_collection(&self) -> Result<bool> {
        if self.collection().is_done() {
            return Ok(false);
        }
        self.finish_collection.get().map_or(Ok(false), |finish| finish())
    }
}
