//! A hook that a thread calls instead of waiting for another thread.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    /// The function that the thread calls instead of waiting. It is read only when the thread has to wait.
    pub(super) static WAITING: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Makes the calling thread call `turn` wherever it would wait for another thread, and check again when `turn` returns.
/// With `None` the thread waits as usual. Returns the previous setting.
///
/// For schedulers that run many logical threads on one thread of the operating system. A logical thread that blocks
/// would block all of them, so `turn` lets the others continue. See [`Worker`](crate::space::Worker).
pub fn set_waiting(turn: Option<fn()>) -> Option<fn()> {
    WAITING.replace(turn)
}

/// Whether the calling thread calls a `turn` instead of waiting.
pub(crate) fn is_scheduled() -> bool {
    WAITING.get().is_some()
}

/// Lets other threads run: for `pause`, or with `None` for one yield.
pub(crate) fn rest(pause: Option<Duration>) {
    match (WAITING.get(), pause) {
        (Some(turn), _) => turn(),
        (None, None) => std::thread::yield_now(),
        (None, Some(pause)) => std::thread::sleep(pause),
    }
}
