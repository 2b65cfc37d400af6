//! The sleep of writers that a hold keeps out.

#[cfg(not(all(test, loom)))]
use std::time::Duration;

use crate::media::Media;
use crate::pool::space::Space;
use crate::sync::Backoff;
#[cfg(not(all(test, loom)))]
use crate::{os::futex, sync, sync::Ordering};

/// A wake-up that is lost costs this.
#[cfg(not(all(test, loom)))]
const MOST: Duration = Duration::from_millis(20);

#[cfg(not(all(test, loom)))]
impl<M: Media> Space<M> {
    /// Sleeps until the writers go on, or a little.
    pub(super) fn sleep_while_held(&self, backoff: &mut Backoff) {
        match sync::is_scheduled() {
            true => backoff.wait(),
            // A holder copies, on the processor that a yielding thread would share with it.
            false => futex::wait(&self.held, 1, MOST),
        }
    }

    pub(super) fn begin_holding(&self) {
        // Relaxed: who finds the bit of the gate first looks again.
        self.held.store(1, Ordering::Relaxed);
    }

    pub(super) fn wake_held(&self) {
        // Release: after the bit of the gate was cleared. Who still sleeps is woken, and who comes finds 0.
        self.held.store(0, Ordering::Release);
        futex::wake_all(&self.held);
    }
}

/// In a model no thread sleeps.
#[cfg(all(test, loom))]
impl<M: Media> Space<M> {
    pub(super) fn sleep_while_held(&self, backoff: &mut Backoff) {
        backoff.wait();
    }

    pub(super) fn begin_holding(&self) {}

    pub(super) fn wake_held(&self) {}
}
