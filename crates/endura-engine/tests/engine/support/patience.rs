//! A watchdog: what does not end in time has failed.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Longer than anything here takes on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// What `work` gives, which has a thread of its own; `None` if it does not end within `limit`. The
/// thread is left behind then.
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (tell, told) = channel();
    let worker = std::thread::spawn(move || tell.send(work()));
    match told.recv_timeout(limit) {
        Ok(result) => Some(result),
        Err(RecvTimeoutError::Timeout) => None,
        // It has panicked: so does the caller.
        Err(RecvTimeoutError::Disconnected) => match worker.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(_) => None,
        },
    }
}

/// What `work` gives.
///
/// # Panics
///
/// If it does not end.
pub(crate) fn ends<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    within(PATIENCE, work).unwrap_or_else(|| panic!("a hang: {what}"))
}
