//! Futexes: threads that sleep until a word changes.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps until [`wake_all`] is called, but at most for `most`. Does not sleep if the word no longer has the value
/// `value`. May return early, so the caller must check the word again.
pub(crate) fn wait(word: &AtomicU32, value: u32, most: Duration) {
    let most = libc::timespec {
        tv_sec: most.as_secs().min(1 << 30) as i64,
        tv_nsec: most.subsec_nanos().into(),
    };
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and the time live until the call returns; the kernel reads them and nothing else.
    let _ = unsafe {
        // The result says whether the word has changed, the time is up, or a signal arrived. The caller checks the word
        // in any case.
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, &raw const most)
    };
}

/// Wakes all threads of this process that sleep on the word.
pub(crate) fn wake_all(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel uses the address of the word only to find its sleepers.
    let _ = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, i32::MAX) };
}
