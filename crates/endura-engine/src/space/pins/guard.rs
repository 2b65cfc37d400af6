//! The right to use the pool for the time of one operation.

use std::marker::PhantomData;

use crate::media::{Mark, Media};
use crate::runtime::epoch::{EpochStamp, Mode, Slot};
use crate::space::alloc::thread_cache::ThreadCache;
use crate::space::space::Space;
use crate::sync::Mutex;

/// Proof that the calling thread is inside an operation: no chunk that it can reach is reused meanwhile.
///
/// The thread that made the guard must drop it before that thread exits. The type is not `Send`. Allocating and freeing
/// need the guard of a writer. A guard that lives long keeps all memory that is freed meanwhile from being reused.
pub struct Guard<'s, M: Media> {
    pub(crate) space: &'s Space<M>,
    pub(crate) slot: &'s Slot<Mutex<ThreadCache>>,
    mode: Mode,
    _not_send: PhantomData<*const ()>,
}

impl<M: Media> Drop for Guard<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        self.slot.unpin(self.mode);
        if self.mode == Mode::Writer {
            self.space.media.mark(Mark::Left);
        }
    }
}

impl<'s, M: Media> Guard<'s, M> {
    #[inline(always)]
    pub(crate) fn new(space: &'s Space<M>, slot: &'s Slot<Mutex<ThreadCache>>, mode: Mode) -> Self {
        if mode == Mode::Writer {
            space.media.mark(Mark::Entered);
        }
        Self { space, slot, mode, _not_send: PhantomData }
    }

    /// The pool.
    #[inline(always)]
    pub fn space(&self) -> &'s Space<M> {
        self.space
    }

    /// The medium.
    #[inline(always)]
    pub fn media(&self) -> &'s M {
        &self.space.media
    }

    /// The stamp for places that are reached inside this pin, for a [`Seat`](crate::space::Seat).
    #[inline(always)]
    pub(crate) fn stamp(&self) -> EpochStamp {
        self.slot.stamp()
    }

    /// How many writing operations this thread has begun inside other operations.
    pub fn nested_writers(&self) -> u64 {
        self.slot.nested_writers()
    }
}
