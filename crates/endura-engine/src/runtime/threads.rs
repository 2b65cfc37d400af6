//! The start of threads. The work is a `dyn`, so that the start is compiled once, and not once for each closure.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{Builder, JoinHandle, scope};

/// Starts a thread with this name.
///
/// # Errors
///
/// That of the operating system.
pub(crate) fn start(name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.to_owned()).spawn(work)
}

/// Calls `work` with each number below `count`, in this thread and up to `others` further ones. A thread in which a call
/// has returned `false` takes no further number.
///
/// # Panics
///
/// If a call of `work` panics.
pub(crate) fn share(others: u32, count: u32, work: &(dyn Fn(u32) -> bool + Sync)) {
    let next = AtomicU32::new(0);
    let turn = || {
        // Relaxed: a number orders nothing.
        let mut numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        while numbers.next().is_some_and(|number| number < count && work(number)) {}
    };
    scope(|scope| {
        // If a thread cannot be started, the others do its work.
        let spawn = |_| Builder::new().spawn_scoped(scope, turn).ok();
        (0..others).map_while(spawn).for_each(drop);
        turn();
    });
}
