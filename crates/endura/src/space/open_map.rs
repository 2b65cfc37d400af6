//! An open map, as its handles share it.

use std::sync::Arc;

use crate::media::Media;
use crate::space::directory::map_state::MapState;
use crate::space::directory::pops::Turn;
use crate::space::pins::guard::Guard;
use crate::space::session::NO_READERS;
use crate::space::space::Space;
use crate::sync::Backoff;
use crate::{Error, Result};

/// A map in an open pool. A copy is another handle of the same map.
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
    /// The map in its pool.
    pub(crate) fn new(space: &Arc<Space<M>>, map: Arc<MapState>) -> Self {
        Self { space: Arc::clone(space), map }
    }

    /// Its pool.
    #[inline(always)]
    pub(crate) fn space(&self) -> &Space<M> {
        &self.space
    }

    /// The state that all handles share: its entry in the directory, and its counters.
    #[inline(always)]
    pub(crate) fn map(&self) -> &MapState {
        &self.map
    }

    /// Enters an operation that reads.
    ///
    /// # Errors
    ///
    /// [`Error::Dropped`]; those of [`Space::pin`].
    #[inline(always)]
    pub(crate) fn pin(&self) -> Result<Guard<'_, M>> {
        self.unless_dropped(self.space.pin()?)
    }

    /// Enters an operation that may write.
    ///
    /// # Errors
    ///
    /// [`Error::Dropped`]; those of [`Space::pin_mut`].
    #[inline(always)]
    pub(crate) fn pin_mut(&self) -> Result<Guard<'_, M>> {
        self.unless_dropped(self.space.pin_mut()?)
    }

    /// Whether a pin for an operation that reads would be granted now.
    #[inline(always)]
    pub(crate) fn admits_readers(&self) -> bool {
        !self.map.is_dropped() && self.space.epochs.gate() & NO_READERS == 0
    }

    /// Waits for the turn to pop.
    ///
    /// # Errors
    ///
    /// Those of [`pin_mut`](Self::pin_mut).
    pub(crate) fn begin_pop(&self) -> Result<Turn<'_>> {
        let mut backoff = Backoff::default();
        loop {
            // Each time: in a forked child no thread ends the turn of a thread of the parent.
            drop(self.pin_mut()?);
            if let Some(turn) = self.map.pops().try_begin() {
                return Ok(turn);
            }
            backoff.wait();
        }
    }

    /// Read after the pin: the thread that drops the map waits for every pin that read "not dropped".
    #[inline(always)]
    fn unless_dropped<'s>(&'s self, guard: Guard<'s, M>) -> Result<Guard<'s, M>> {
        if self.map.is_dropped() { Err(Error::Dropped) } else { Ok(guard) }
    }
}
