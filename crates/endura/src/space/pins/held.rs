//! The sleep of writers that a hold keeps out, or that are slowed down.

use std::time::{Duration, Instant};

use crate::media::Media;
use crate::os::futex;
use crate::space::session::SLOWED;
use crate::space::space::Space;
use crate::sync::{Backoff, Ordering, is_scheduled};

/// How long an operation waits at most because writers are slowed down.
const LONGEST: Duration = Duration::from_millis(60);
/// A wake-up that is lost costs this.
const MOST: Duration = Duration::from_millis(20);

/// How long an operation has waited at a gate that is shut by SLOWED.
#[derive(Debug, Default)]
pub(super) struct SlowWait(Option<Instant>);

impl SlowWait {
    /// Whether that was long enough. `gate` is what it finds there now.
    pub(super) fn is_over(&mut self, gate: u64) -> bool {
        gate & SLOWED != 0 && self.0.get_or_insert_with(Instant::now).elapsed() >= LONGEST
    }
}

impl<M: Media> Space<M> {
    /// Sleeps until the writers go on, or a little.
    pub(super) fn sleep_while_held(&self, backoff: &mut Backoff) {
        // The threads of a model, or of a schedule, take turns on one of the kernel's.
        match cfg!(all(test, loom)) || is_scheduled() {
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
