//! A clock for histories of several threads.

use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

/// A clock that orders the operations of all threads.
#[derive(Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// The time now. The fences keep the operation's own loads and stores on their side of it:
    /// without them a store could still wait in the store buffer after the return was noted.
    pub(crate) fn now(self) -> u64 {
        fence(Ordering::SeqCst);
        let now = self.0.elapsed().as_nanos() as u64;
        fence(Ordering::SeqCst);
        now
    }
}
