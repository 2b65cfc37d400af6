//! How an operation allocates and frees chunks.

use crate::media::{Mark, Media};
use crate::runtime::epoch::before_reuse;
use crate::space::alloc::class::{Class, Room};
use crate::space::pins::guard::Guard;
use crate::space::space::Space;
use crate::{Error, Result, SpaceLimit};

impl<M: Media> Guard<'_, M> {
    /// Allocates a chunk of at least `bytes` bytes. Its contents are arbitrary, and nothing leads to it yet.
    ///
    /// The chunk starts at a multiple of 16. If `bytes` is a whole number of cache lines, it starts at a line. If its
    /// size is a power of two up to 4 KiB, it starts at a multiple of that size. The header of its span is durable on
    /// return, so the chunk may be linked as soon as its contents are durable. A chunk that is not linked when the
    /// process ends is stranded until a leak recovery.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] if neither the pool nor the medium has space, even after expired chunks in limbo were freed.
    /// (The chunks that this operation's own guard protects are not freed: see [`Space::with_room`].)
    pub fn alloc(&self, bytes: u64) -> Result<u64> {
        debug_assert!(self.slot.is_writer(), "a reader's guard");
        if !self.space.media.grant() && !self.is_set_aside(bytes) {
            return Err(Error::full(bytes, 0, SpaceLimit::MaxSize));
        }
        let at = match self.try_alloc(bytes) {
            Err(Error::Full { .. }) => {
                self.space.reclaim(self)?;
                match self.try_alloc(bytes) {
                    Err(full @ Error::Full { .. }) => self.alloc_from_aside(full, bytes),
                    result => result,
                }
            }
            result => result,
        }?;
        self.space.media.mark(Mark::Fresh { at, bytes });
        before_reuse();
        Ok(at)
    }

    /// Whether a chunk of this size was set aside for the commit of this thread, so that no lack of space can be meant.
    #[cold]
    fn is_set_aside(&self, bytes: u64) -> bool {
        self.slot.contents.lock().keeps(Room::of(bytes))
    }

    /// Allocates in a span that was set aside for the commit of this thread, if there is one.
    #[cold]
    pub(crate) fn alloc_from_aside(&self, full: Error, bytes: u64) -> Result<u64> {
        let Space { media, allocator, .. } = self.space;
        let taken = self.slot.contents.lock().take_of_run(media, allocator, Room::of(bytes));
        taken?.ok_or(full)
    }

    /// Runs what only improves the shape of a tree, and notes the damage that it meets. Between the changes of a commit it
    /// takes nothing of what is set aside for these: they may need all of it, and upkeep can fail.
    pub(crate) fn upkeep<R>(&self, work: impl FnOnce() -> Result<R>) {
        let hides = self.slot.applies() && self.slot.contents.lock().hide_kept();
        let result = work();
        if hides {
            self.slot.contents.lock().show_kept();
        }
        self.space.note_result(result);
    }

    fn try_alloc(&self, bytes: u64) -> Result<u64> {
        let Space { media, allocator, .. } = self.space;
        let room = Room::of(bytes);
        let look_around = || match allocator.would_grow(room) {
            true => self.space.look_around(),
            false => Ok(()),
        };
        match room {
            Room::Slab(class) => self.try_alloc_in_slab(class),
            Room::Run(units) => {
                look_around()?;
                allocator.take_run(media, units)
            }
            Room::Large(pages) => {
                look_around()?;
                allocator.take_large(media, pages)
            }
        }
    }

    fn try_alloc_in_slab(&self, class: Class) -> Result<u64> {
        let Space { media, allocator, .. } = self.space;
        let mut cache = self.slot.contents.lock();
        if let Some(chunk) = cache.take_ready(class) {
            return Ok(chunk);
        }
        if cache.lacks(class) && allocator.would_grow(Room::Slab(class)) {
            // `look_around` empties this cache too, if it can lock it. No thread holds two of these locks at once.
            drop(cache);
            self.space.look_around()?;
            cache = self.slot.contents.lock();
        }
        let taken = cache.take(media, allocator, class);
        if let Err(error @ Error::Corrupt { .. }) = &taken {
            // The error may be about a cached chunk that went back to its span, and that has two owners.
            self.space.poison_with(error);
        }
        let (need, limit) = (class.size(), SpaceLimit::MaxSize);
        taken?.ok_or(Error::full(need, 0, limit))
    }

    /// Frees a chunk of `bytes` bytes, as requested, that was never linked. It may be reused at once.
    pub fn discard(&self, at: u64, bytes: u64) {
        debug_assert!(self.slot.is_writer(), "a reader's guard");
        if self.space.is_elsewhere() {
            // A forked child does not continue this operation: the chunk belongs to its parent.
            return;
        }
        self.keep(at, bytes);
        let Space { media, allocator, .. } = self.space;
        let given = self.slot.contents.lock().give(media, allocator, at, bytes);
        self.checked(given);
    }

    /// Retires a chunk of `bytes` bytes, as requested, whose unlink is *durable*. It is reused once every operation
    /// that may have seen the link has ended.
    ///
    /// If `at` turns out not to be a chunk in use, it is not reused and the pool is poisoned: two owners of one chunk
    /// are worse than an error.
    pub fn retire(&self, at: u64, bytes: u64) {
        debug_assert!(self.slot.is_writer(), "a reader's guard");
        self.keep(at, bytes);
        let tag = self.space.epochs.tag();
        let is_time = self.slot.contents.lock().retire(tag, at, bytes);
        if is_time {
            self.checked(self.space.free_expired(self.slot));
        }
    }

    /// Marks a chunk for a leak recovery as owned, whether or not a walk finds it. A caller that removes a chunk from a
    /// place where walks look for it, and will link it again or retire it in another pin, calls this before it removes
    /// the chunk. Retiring and discarding mark the chunk themselves.
    #[inline]
    pub(crate) fn keep(&self, at: u64, bytes: u64) {
        if let Some(marks) = self.space.allocator.marks() {
            marks.keep(at, bytes);
        }
    }

    fn checked(&self, result: Result<()>) {
        if let Err(error) = result {
            self.space.poison_with(&error);
        }
    }
}
