//! How writers sleep while a hold keeps them out, or while they are slowed down.

use std::time::{Duration, Instant};

use crate::media::Media;
use crate::os::futex;
use crate::space::session::SLOWED;
use crate::space::space::Space;
use crate::sync::{Backoff, Ordering, is_scheduled};

/// The longest wait of an operation while writers are slowed down.
const LONGEST: Duration = Duration::from_millis(60);
/// The longest sleep, in case a wake-up is lost.
const MOST: Duration = Duration::from_millis(20);

/// For how long an operation has waited at a gate that is shut by SLOWED.
#[derive(Debug, Default)]
pub(super) struct SlowWait(Option<Instant>);

impl SlowWait {
    /// Whether the operation has waited for long enough. `gate` is the present state of the gate; the time starts with
    /// the first call that finds SLOWED in it.
    pub(super) fn is_over(&mut self, gate: u64) -> bool {
        gate & SLOWED != 0 && self.0.get_or_insert_with(Instant::now).elapsed() >= LONGEST
    }
}

impl<M: Media> Space<M> {
    /// Sleeps until writers are let in, for 20 ms at the most.
    pub(super) fn sleep_while_held(&self, backoff: &mut Backoff) {
        // The threads of a model, or of a schedule, take turns on one thread of the kernel, which must not sleep.
        match cfg!(all(test, loom)) || is_scheduled() {
            true => backoff.wait(),
            // This wait does not yield: the thread that holds the writers is copying, and a yielding thread would share
            // a processor with it.
            false => futex::wait(&self.held, 1, MOST),
        }
    }

    pub(super) fn begin_holding(&self) {
        // Relaxed: a thread that sees the bit of the gate, but not this store, does not sleep and looks again.
        self.held.store(1, Ordering::Relaxed);
    }

    pub(super) fn wake_held(&self) {
        // Release: after the bit of the gate was cleared. Sleepers are woken; later arrivals read 0 and do not sleep.
        self.held.store(0, Ordering::Release);
        futex::wake_all(&self.held);
    }
}
