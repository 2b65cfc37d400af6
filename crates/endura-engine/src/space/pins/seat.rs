//! Seats: places that a thread remembers from one pin to the next, and between two pins.

use crate::media::Media;
use crate::runtime::epoch::EpochStamp;
use crate::space::pins::guard::Guard;
use crate::space::space::Space;

/// A place that was reached inside a pin, and the time until which it is valid.
///
/// After a pin has ended, trees remember chunks and nodes only in seats: their cursors do, and the walks of a leak
/// recovery. A seat opens in two ways only, by the two rules of [`epoch`](crate::runtime::epoch):
/// [`within`](Self::within) another pin, or for a [`look`](Self::look) without one. A default seat opens in neither
/// way.
///
/// A seat that is taken inside a long pin may be void from the start. So a cursor first reads its entry under the pin
/// that found it, and takes the seat afterwards.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seat<P> {
    place: P,
    stamp: EpochStamp,
}

impl<P> Seat<P> {
    /// Remembers a place that was reached inside this pin.
    #[inline(always)]
    pub(crate) fn take<M: Media>(guard: &Guard<'_, M>, place: P) -> Self {
        Self { place, stamp: guard.stamp() }
    }

    /// A seat for another place, to which this one leads. It is valid as long as this one.
    #[inline(always)]
    pub(crate) fn onward<Q>(&self, place: Q) -> Seat<Q> {
        Seat { place, stamp: self.stamp }
    }

    /// Gives up the place: the seat no longer opens.
    #[inline(always)]
    pub(crate) fn leave(&mut self) {
        self.stamp = EpochStamp::default();
    }

    /// The place, if this pin may use it as if the place had been reached inside this pin.
    #[inline(always)]
    pub(crate) fn within<M: Media>(&self, guard: &Guard<'_, M>) -> Option<&P> {
        guard.space().epochs.protects(self.stamp).then_some(&self.place)
    }

    /// Calls `look` with the place, without a pin. Returns `None` if the place may have been reused by then. `look` has
    /// to load the words that it relies on with Acquire, or before an Acquire load or fence, because none of them may
    /// be younger than the epoch, which is read after them.
    #[inline(always)]
    pub(crate) fn look<M: Media, T>(
        &self,
        space: &Space<M>,
        look: impl FnOnce(&P) -> Option<T>,
    ) -> Option<T> {
        let seen = look(&self.place)?;
        // In a forked child the epoch does not advance. The next pin returns the error.
        (space.epochs.still_covers(self.stamp) && !space.is_elsewhere()).then_some(seen)
    }
}
