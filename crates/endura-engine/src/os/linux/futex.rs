//! Futexes: threads that sleep until a word changes.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::fs::Timespec;
use rustix::thread::futex::{self, Flags};

/// Sleeps until [`wake_all`] is called, but at most for `most`. Does not sleep if the word no longer has the value
/// `value`. May return early, so the caller must check the word again.
pub(crate) fn wait(word: &AtomicU32, value: u32, most: Duration) {
    let most = Timespec {
        tv_sec: most.as_secs().min(1 << 30) as i64,
        tv_nsec: most.subsec_nanos().into(),
    };
    // The result says whether the word has changed, the time is up, or a signal arrived. The caller checks the word in
    // any case.
    let _ = futex::wait(word, Flags::PRIVATE, value, Some(&most));
}

/// Wakes all threads of this process that sleep on the word.
pub(crate) fn wake_all(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::PRIVATE, i32::MAX as u32);
}
