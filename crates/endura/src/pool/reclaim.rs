//! When space is short: freeing what waits.
//!
//! An operation that runs out of space first frees what has expired in every thread's limbo and takes
//! back what every thread has cached. It cannot free what was retired since it began, nor in the
//! epoch before, for its own pin holds the epoch. If it fails for that reason it has to end, and to
//! begin again after [`Space::relieve`]; [`Space::with_room`] does so, and has the collection finished, if
//! one is under way, before it gives up.
//!
//! Before it comes to that: whoever retires something and moves the epoch frees a bite of what has expired, of
//! its own and of others that may have stopped to work; a thread that exits hands over what it has; and all
//! limbos and caches are looked at before the pool grows. None of them waits for a lock that another thread
//! holds, and none frees more than a [`Bite`] of each: while all threads together catch up with what has
//! gathered behind one that stayed inside an operation, no operation pays for all of it.

use std::sync::Arc;
use std::time::Duration;

use crate::media::Media;
use crate::pool::alloc::events::Event;
use crate::pool::alloc::thread_cache::{Bite, ThreadCache};
use crate::pool::patience::Patience;
use crate::pool::pins::guard::Guard;
use crate::pool::space::Space;
use crate::runtime::epoch::Slot;
use crate::runtime::thread;
use crate::sync::{self, Mutex};
use crate::{Error, Result};

/// How often [`Space::relieve`] looks whether those inside have left: first with a yield each, then
/// with a pause. Together about a quarter of a second, far more than an operation takes even where
/// many threads share a core.
const PATIENCE: usize = 1_000;
const PAUSE: Duration = Duration::from_micros(250);

/// How often an operation that runs out of space is begun again at the least; each bite that waits is worth
/// one more.
const ATTEMPTS: usize = 8;

/// Other threads' limbos that a thread looks at each time it frees from its own. They come in turn.
const LOOKS: usize = 2;

impl<M: Media> Space<M> {
    /// Moves the epoch on if nobody is left behind, and frees a bite of what has expired: of what the caller has
    /// retired, whose slot this is, and of others.
    pub(crate) fn free_expired(&self, own: &Slot<Mutex<ThreadCache>>) -> Result<()> {
        let now = self.epochs.advance();
        let look = {
            let mut cache = own.contents.lock();
            cache.free_expired(&self.media, &self.allocator, now, Bite::OWN)?;
            cache.next_look()
        };
        let from = LOOKS * look % self.epochs.slots().count().max(1);
        let mut expired = Vec::new();
        for slot in self.epochs.slots().skip(from).take(LOOKS) {
            if std::ptr::eq(slot, own) {
                continue;
            }
            // Its owner is at work: then it needs no help.
            let Some(mut cache) = slot.contents.try_lock() else { continue };
            cache.take_expired(now, Bite::OTHERS, &mut expired);
        }
        let mut result = Ok(());
        if !expired.is_empty() {
            let mut cache = own.contents.lock();
            for (at, bytes) in expired {
                result = result.and(cache.give(&self.media, &self.allocator, at, bytes));
            }
        }
        result
    }

    /// Before the pool grows: takes back what others have that is not in use, as far as it can be had at
    /// once. What they have cached may be all that keeps pages of sizes that are no longer asked for.
    pub(crate) fn look_around(&self) -> Result<()> {
        let now = self.epochs.advance();
        let mut left = Bite::SHORT;
        for slot in self.epochs.slots() {
            let Some(mut cache) = slot.contents.try_lock() else { continue };
            left.chunks -= self.empty(&mut cache, now, left)?;
        }
        self.release_spares()
    }

    /// Has the pool hear of threads that exit, to take back what they have.
    pub(crate) fn hear_of_exits(self: &Arc<Self>) {
        let weak = Arc::downgrade(self);
        let heir = self.heir.get_or_init(|| {
            Arc::new(move |number| {
                if let Some(space) = weak.upgrade() {
                    space.take_over(number);
                }
            })
        });
        thread::on_exit(heir);
    }

    /// Takes back what a thread has that is about to exit: the calling one, which has this number. What has not
    /// expired stays for others to find ([`free_expired`](Self::free_expired)), and so does all if writers are kept out.
    fn take_over(&self, number: usize) {
        let Some(slot) = self.epochs.slot_if_made(number) else { return };
        if self.is_elsewhere() || self.session.read_only || slot.contents.lock().is_empty() {
            return;
        }
        self.epochs.advance();
        let now = self.epochs.advance();
        // What is wrong has poisoned the pool.
        let _ = self.try_mut(|_| self.empty(&mut slot.contents.lock(), now, Bite::SHORT));
    }

    /// Frees a bite of what has expired in all limbos, and empties all caches. How many chunks left limbo.
    pub(crate) fn reclaim(&self, guard: &Guard<'_, M>) -> Result<usize> {
        self.epochs.advance();
        let now = self.epochs.advance();
        self.free_some_of_drops(guard, now)?;
        self.empty_all(now, Bite::SHORT)
    }

    /// As [`reclaim`](Self::reclaim), with two steps of the epoch if nobody is inside.
    #[cfg(all(test, loom))]
    pub(crate) fn reclaim_outside(&self) -> Result<usize> {
        self.epochs.advance();
        self.epochs.advance();
        self.reclaim(&self.pin_mut()?)
    }

    /// Frees what may be reused at epoch `now`, a bite of it, takes back all caches, and lets go of the
    /// pages that become wholly free.
    pub(crate) fn empty_all(&self, now: u64, bite: Bite) -> Result<usize> {
        let mut left = bite;
        for slot in self.epochs.slots() {
            // Each in turn: to hold two of these locks could be a deadlock.
            left.chunks -= self.empty(&mut slot.contents.lock(), now, left)?;
        }
        self.release_spares()?;
        Ok(bite.chunks - left.chunks)
    }

    fn empty(&self, cache: &mut ThreadCache, now: u64, bite: Bite) -> Result<usize> {
        let expired = cache.free_expired(&self.media, &self.allocator, now, bite);
        let freed = expired
            .and_then(|freed| cache.empty_caches(&self.media, &self.allocator).map(|()| freed));
        freed.inspect_err(|error| self.poison_with(error))
    }

    fn release_spares(&self) -> Result<()> {
        let released = self.allocator.release_spares(&self.media);
        released.inspect_err(|error| self.poison_with(error))
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
        let latest = self.epochs.latest_tag();
        // No use in waiting for nothing, or for oneself.
        let own = self.epochs.slot(thread::current()).is_pinned();
        let patience = if own || waiting == 0 { 2 } else { PATIENCE };
        let mut have_left = false;
        for look in 0..patience {
            have_left = latest.has_expired(self.epochs.advance());
            if have_left {
                break;
            }
            // Where nobody is inside two looks are enough, and giving way costs a turn of all others.
            if look > 1 {
                sync::rest((look >= PATIENCE / 10).then_some(PAUSE));
            }
        }
        let freed_maps = self.free_drops(None)?;
        // Inside a pin, for whoever quiesced the pool counts what is free.
        let freed = self.reclaim(&self.pin_mut()?)?;
        let left = self.limbo_bytes();
        if freed_maps || freed > 0 || left < waiting {
            Ok(true)
        } else if left > 0 && !have_left {
            self.tell(|| Event::ReclaimStalled { waiting_bytes: left });
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
        if self.allocator.marks().is_some() {
            self.collect_before_growing()?;
            match operation() {
                Err(again @ Error::Full { .. }) => full = again,
                result => return result,
            }
        }
        let attempts = ATTEMPTS + self.bites_waiting();
        for attempt in 0..=attempts {
            let relieved = if attempt < attempts { self.relieve() } else { Ok(false) };
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

    fn bites_waiting(&self) -> usize {
        let waiting = |slot: &Slot<Mutex<ThreadCache>>| slot.contents.lock().limbo().count();
        self.epochs.slots().map(waiting).sum::<usize>() / Bite::SHORT.chunks
    }

    /// Has the collection finished that this session needs; whether that may have freed anything.
    fn finish_collection(&self) -> Result<bool> {
        if self.collection().is_done() {
            return Ok(false);
        }
        self.finish_collection.get().map_or(Ok(false), |finish| finish(Patience::Long))
    }

    /// Has the collection finished before the pool grows beyond what it may while part of its free space is
    /// not known. It then grows as it must: also where somebody stays inside an operation, for whose end
    /// the collection has to wait, and inside an operation of the caller.
    fn collect_before_growing(&self) -> Result<()> {
        if !self.allocator.pages().is_held_back() {
            return Ok(());
        }
        let finished =
            self.finish_collection.get().map_or(Ok(false), |finish| finish(Patience::Short));
        self.allocator.pages().let_grow();
        finished.map(drop)
    }
}
