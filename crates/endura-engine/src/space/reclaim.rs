//! Reclamation: retired chunks become free, in small bites all the time and in larger ones when space is short.
//!
//! An operation that runs out of space first frees the expired chunks in every thread's limbo, and empties every
//! thread's cache. It cannot free chunks that were retired since it began, or in the epoch before, because its own pin
//! holds the epoch. If it fails for that reason, it ends, and starts again after [`Space::relieve`].
//! [`Space::with_room`] does this. Before the operation finally fails, `with_room` completes the leak recovery, if one
//! is running.
//!
//! Three things make that rare. A thread that retires chunks frees, from time to time, a bite of expired chunks: its
//! own, and those of threads that may have stopped working. A thread that exits frees what it can. And before the pool
//! grows, a thread looks at all limbos and caches. None of the three waits for a lock that another thread holds, and
//! none frees more than a [`Bite`] of each limbo. So when one thread has stayed inside an operation for a long time,
//! all threads together free what has gathered, and no single operation pays for all of it.

use std::sync::Arc;
use std::time::Duration;

use crate::media::Media;
use crate::os::own_file;
use crate::runtime::epoch::Slot;
use crate::runtime::thread;
use crate::space::alloc::events::Event;
use crate::space::alloc::thread_cache::{Bite, ThreadCache};
use crate::space::patience::Patience;
use crate::space::pins::guard::Guard;
use crate::space::space::Space;
use crate::sync::{self, Mutex};
use crate::{Error, Result};

/// How many times [`Space::relieve`] looks whether the operations inside have left: first with a yield after each look,
/// then with a pause. All looks take about a quarter of a second, far more than an operation takes even where many
/// threads share a core.
const PATIENCE: usize = 1_000;
const PAUSE: Duration = Duration::from_micros(250);

/// How many times an operation that runs out of space is repeated at least. Each [bite](Bite::SHORT) of waiting chunks
/// adds one.
const ATTEMPTS: usize = 8;

/// How many limbos of other threads a thread looks at each time it frees from its own. All other threads have their
/// turn.
const LOOKS: usize = 2;

impl<M: Media> Space<M> {
    /// Advances the epoch if no pin is behind, and frees a bite of expired chunks of the caller, whose slot is `own`,
    /// and of other threads.
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
            // The thread that owns the cache is working, and needs no help.
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

    /// Takes back the unused chunks of other threads before the pool grows, from caches whose locks are free. Cached
    /// chunks may be all that keeps spans in use whose sizes are no longer requested.
    pub(crate) fn look_around(&self) -> Result<()> {
        let now = self.epochs.advance();
        let mut left = Bite::SHORT;
        for slot in self.epochs.slots() {
            let Some(mut cache) = slot.contents.try_lock() else { continue };
            left.chunks -= self.empty(&mut cache, now, left)?;
        }
        self.release_spares()
    }

    /// Registers the pool with exiting threads, so that it takes back their chunks.
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

    /// Takes back the chunks of the calling thread, which has this number and is about to exit. Chunks that have not
    /// expired stay in its limbo, where other threads find them ([`free_expired`](Self::free_expired)). If writers are
    /// kept out, all chunks stay.
    fn take_over(&self, number: usize) {
        let Some(slot) = self.epochs.slot_if_made(number) else { return };
        if self.is_elsewhere() || self.session.read_only || slot.contents.lock().is_empty() {
            return;
        }
        self.epochs.advance();
        let now = self.epochs.advance();
        // An error has poisoned the pool, which reports it.
        let _ = self.try_mut(|_| self.empty(&mut slot.contents.lock(), now, Bite::SHORT));
    }

    /// Frees a bite of the expired chunks in all limbos, and empties all caches. Returns how many chunks left limbo.
    pub(crate) fn reclaim(&self, guard: &Guard<'_, M>) -> Result<usize> {
        self.epochs.advance();
        let now = self.epochs.advance();
        self.free_some_of_drops(guard, now)?;
        self.empty_all(now, Bite::SHORT)
    }

    /// Does what [`reclaim`](Self::reclaim) does, after two attempts to advance the epoch outside of a pin.
    #[cfg(all(test, loom))]
    pub(crate) fn reclaim_outside(&self) -> Result<usize> {
        self.epochs.advance();
        self.epochs.advance();
        self.reclaim(&self.pin_mut()?)
    }

    /// Frees a bite of the chunks that may be reused at epoch `now`, empties all caches, and releases the spans that
    /// become wholly free. Returns how many chunks left limbo.
    pub(crate) fn empty_all(&self, now: u64, bite: Bite) -> Result<usize> {
        let mut left = bite;
        for slot in self.epochs.slots() {
            // One lock at a time: a thread that held two of them could deadlock.
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

    /// Waits a little for the operations that keep retired chunks from being reused, and frees these chunks. Returns
    /// whether it freed any. It must be called outside of operations.
    ///
    /// # Errors
    ///
    /// [`Error::ReclaimStalled`] if chunks wait and none became free, because some thread stays inside one operation;
    /// the errors of [`pin_mut`](Self::pin_mut).
    pub fn relieve(&self) -> Result<bool> {
        let waiting = self.limbo_bytes();
        let latest = self.epochs.latest_tag();
        // Waiting does not help if no chunk waits, or if the caller itself is inside an operation.
        let own = self.epochs.slot(thread::current()).is_pinned();
        let patience = if own || waiting == 0 { 2 } else { PATIENCE };
        let mut have_left = false;
        for look in 0..patience {
            have_left = latest.has_expired(self.epochs.advance());
            if have_left {
                break;
            }
            // If no thread is inside, two looks are enough. A yield would cost a turn of all other threads.
            if look > 1 {
                sync::rest((look >= PATIENCE / 10).then_some(PAUSE));
            }
        }
        let freed_maps = self.free_drops(None)?;
        // This is done inside a pin, because a verification counts the free chunks while it keeps writers out.
        let freed = self.reclaim(&self.pin_mut()?)?;
        let left = self.limbo_bytes();
        if freed_maps || freed > 0 || left < waiting {
            Ok(true)
        } else if left > 0 && !have_left {
            self.tell(|| Event::ReclaimStalled { waiting_bytes: left });
            Err(Error::ReclaimStalled { waiting: left })
        } else {
            // Other threads have freed the chunks that waited; those that wait now were retired later.
            Ok(left > 0)
        }
    }

    /// Runs an operation. If it runs out of space, frees waiting chunks and runs it again.
    ///
    /// # Errors
    ///
    /// The errors of the operation, and of [`relieve`](Self::relieve).
    #[inline]
    pub fn with_room<T>(&self, mut operation: impl FnMut() -> Result<T>) -> Result<T> {
        match operation() {
            // The value has an arm of its own. Otherwise the whole `Result`, which is as large as its error, would be
            // copied.
            Ok(value) => Ok(value),
            Err(error) => self.after_error(error, operation),
        }
    }

    /// The result of an operation after its first error. It takes the operation by value. If [`with_room`](Self::with_room)
    /// passed a reference instead, the compiler would have to keep what the operation has captured in memory, on every
    /// call.
    #[cold]
    #[inline(never)]
    fn after_error<T>(&self, error: Error, mut operation: impl FnMut() -> Result<T>) -> Result<T> {
        self.settle_error(error, &mut operation)
    }

    /// Notes damage, and runs the operation again after a lack of space. The type of the operation differs with each closure
    /// of a caller; as a `dyn` it does not, so this function is compiled once for each type of result.
    fn settle_error<T>(&self, error: Error, operation: &mut dyn FnMut() -> Result<T>) -> Result<T> {
        let result = match error {
            full @ Error::Full { .. } => self.again_with_room(full, operation),
            error => Err(error),
        };
        result.map_err(|error| match error {
            Error::Full { need, free, limit, .. } => {
                let free = self.allocator.pages().longest_piece(free);
                Error::Full { need, free, limit, pool: self.name() }
            }
            error => {
                // The lock of the pool was lost when its file was closed.
                if own_file::is_lost(&error) {
                    self.poison();
                }
                self.noted(error)
            }
        })
    }

    fn again_with_room<T>(
        &self,
        mut full: Error,
        operation: &mut dyn FnMut() -> Result<T>,
    ) -> Result<T> {
        if self.allocator.marks().is_some() {
            self.recover_before_growing()?;
            match operation() {
                Err(again @ Error::Full { .. }) => full = again,
                result => return result,
            }
        }
        let attempts = ATTEMPTS + self.bites_waiting();
        for attempt in 0..=attempts {
            let relieved = if attempt < attempts { self.relieve() } else { Ok(false) };
            let (has_freed, reason) = match relieved {
                // The leak recovery may still find stranded chunks, which no thread keeps.
                Err(stalled @ Error::ReclaimStalled { .. }) => (false, stalled),
                relieved => (relieved?, full),
            };
            if !has_freed && !self.finish_leak_recovery()? {
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

    /// Completes the leak recovery of this session, if it needs one. Returns whether that may have freed anything.
    fn finish_leak_recovery(&self) -> Result<bool> {
        if self.leak_recovery().is_done() {
            return Ok(false);
        }
        self.finish_leak_recovery.get().map_or(Ok(false), |finish| finish(Patience::Long))
    }

    /// Completes the leak recovery before the pool grows beyond the limit for sessions that do not know all free space.
    /// After that the pool grows without limit, even if the leak recovery could not be completed. That is so if another
    /// thread stays inside an operation whose end the leak recovery has to wait for, or if the caller is inside an
    /// operation itself.
    fn recover_before_growing(&self) -> Result<()> {
        if !self.allocator.pages().is_held_back() {
            return Ok(());
        }
        let finished =
            self.finish_leak_recovery.get().map_or(Ok(false), |finish| finish(Patience::Short));
        self.allocator.pages().let_grow();
        finished.map(drop)
    }
}
