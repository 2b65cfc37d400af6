//! An open map, shared by its handles.

use std::sync::Arc;

use crate::media::Media;
use crate::space::batch::key::AnyKey;
use crate::space::directory::map_state::MapState;
use crate::space::directory::pops::Turn;
use crate::space::pins::guard::Guard;
use crate::space::session::NO_READERS;
use crate::space::space::Space;
use crate::sync::Backoff;
use crate::{Error, Result};

/// A map in an open pool. A clone is another handle of the same map.
pub(crate) struct OpenMap<M: Media> {
    space: Arc<Space<M>>,
    map: Arc<MapState>,
}

impl<M: Media> Clone for OpenMap<M> {
    fn clone(&self) -> Self {
        Self { space: Arc::clone(&self.space), map: Arc::clone(&self.map) }
    }
}

impl<M: Media> OpenMap<M> {
    /// A handle of `map`, a map of this pool.
    pub(crate) fn new(space: &Arc<Space<M>>, map: Arc<MapState>) -> Self {
        Self { space: Arc::clone(space), map }
    }

    /// The pool of the map.
    #[inline(always)]
    pub(crate) fn space(&self) -> &Space<M> {
        &self.space
    }

    /// The state that all handles share: its entry in the directory, and its counters.
    #[inline(always)]
    pub(crate) fn map(&self) -> &MapState {
        &self.map
    }

    /// Another owner of that state.
    pub(crate) fn shared_map(&self) -> Arc<MapState> {
        Arc::clone(&self.map)
    }

    /// Whether this is the map with that state.
    pub(crate) fn is_of(&self, map: &Arc<MapState>) -> bool {
        Arc::ptr_eq(&self.map, map)
    }

    /// Begins an operation that reads.
    ///
    /// # Errors
    ///
    /// [`Error::Dropped`]; the errors of [`Space::pin`].
    #[inline(always)]
    pub(crate) fn pin(&self) -> Result<Guard<'_, M>> {
        self.unless_dropped(self.space.pin()?)
    }

    /// Begins an operation that may write.
    ///
    /// # Errors
    ///
    /// [`Error::Dropped`]; the errors of [`Space::pin_mut`].
    #[inline(always)]
    pub(crate) fn pin_mut(&self) -> Result<Guard<'_, M>> {
        self.unless_dropped(self.space.pin_mut()?)
    }

    /// Begins a write of one key. While several changes at once are about, it claims the key, and waits for those that have
    /// it. `key` is called in that case only.
    ///
    /// # Errors
    ///
    /// As for [`pin_mut`](Self::pin_mut).
    #[inline(always)]
    pub(crate) fn pin_mut_for<'k>(&self, key: impl FnOnce() -> AnyKey<'k>) -> Result<Guard<'_, M>> {
        self.unless_dropped(self.space.pin_mut_for(self.map.entry(), key)?)
    }

    /// Claims the key of a pin again, behind a closure that ran [parked](Space::parked). Returns `false` if several changes
    /// at once have the key: the operation, which has stored nothing, ends its pin, and begins again.
    #[inline(always)]
    pub(crate) fn claims_again<'k>(&self, key: impl FnOnce() -> AnyKey<'k>) -> bool {
        !self.space.has_batches() || self.space.claim(self.map.entry(), key())
    }

    /// Whether a pin for an operation that reads would be granted now.
    #[inline(always)]
    pub(crate) fn admits_readers(&self) -> bool {
        !self.map.is_dropped() && self.space.epochs.gate() & NO_READERS == 0
    }

    /// Waits until it is this caller's turn to pop. One pop at a time runs in a map.
    ///
    /// # Errors
    ///
    /// The errors of [`pin_mut`](Self::pin_mut).
    pub(crate) fn begin_pop(&self) -> Result<Turn<'_>> {
        let pops = self.map.pops();
        // There is a pin in each try, because in a forked child the turn of a parent's thread never ends. There the pin
        // fails.
        drop(self.pin_mut()?);
        if let Some(turn) = pops.try_begin() {
            return Ok(turn);
        }
        let (mut waiting, mut backoff) = (pops.turns().wait(), Backoff::default());
        loop {
            backoff.wait();
            drop(self.pin_mut()?);
            if let Some(alone) = waiting.try_alone() {
                return Ok(pops.begin(alone));
            }
        }
    }

    /// Returns the guard, or an error if the map was dropped. The flag is read after the pin, because the thread that
    /// drops the map waits for every pin that read "not dropped".
    #[inline(always)]
    fn unless_dropped<'s>(&'s self, guard: Guard<'s, M>) -> Result<Guard<'s, M>> {
        if self.map.is_dropped() { Err(Error::Dropped) } else { Ok(guard) }
    }
}
