//! A hook for waits: a thread calls it in place of waiting for another one.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    /// The function that the thread calls instead of waiting. Read only where it has to wait.
    pub(super) static WAITING: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// From now on the calling thread calls `turn` wherever it would have to wait for another one, and
/// looks again when `turn` returns. `None`: it waits. Gives back what held before.
///
/// For schedulers that run many logical threads on one of the operating system's. A logical thread that blocks would
/// block all: `turn` lets the others continue. See [`Worker`](crate::space::Worker).
pub fn set_waiting(turn: Option<fn()>) -> Option<fn()> {
    WAITING.replace(turn)
}

/// Whether the calling thread calls a `turn` in place of waiting.
pub(crate) fn is_scheduled() -> bool {
    WAITING.get().is_some()
}

/// Lets others run: for so long, or for a moment.
pub(crate) fn rest(pause: Option<Duration>) {
    match (WAITING.get(), pause) {
        (Some(turn), _) => turn(),
        (None, None) => std::thread::yield_now(),
        (None, Some(pause)) => std::thread::sleep(pause),
    }
}
