//! What a thread does where it would have to wait for another one.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    /// What the thread does instead of waiting. Read only where it has to wait.
    pub(super) static WAITING: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// From now on the calling thread calls `turn` wherever it would have to wait for another one, and
/// looks again when `turn` returns. `None`: it waits. Gives back what held before.
///
/// For schedulers that run many logical threads on one of the operating system's, where to block is
/// to block all: `turn` lets the others go on. See [`Worker`](crate::pool::Worker).
pub fn set_waiting(turn: Option<fn()>) -> Option<fn()> {
    WAITING.replace(turn)
}

/// Lets others run: for so long, or for a moment.
pub(crate) fn rest(pause: Option<Duration>) {
    match (WAITING.get(), pause) {
        (Some(turn), _) => turn(),
        (None, None) => std::thread::yield_now(),
        (None, Some(pause)) => std::thread::sleep(pause),
    }
}
