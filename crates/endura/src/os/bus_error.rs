//! A sentence on standard error before SIGBUS ends the process.
//!
//! The kernel sends SIGBUS to a thread that touches a mapped page which it cannot give: a program shortened the file, the disk
//! failed, or the page needs a block that the disk does not have. The store or load cannot be completed, so the process ends
//! as it would without this handler. (Section 3 of `docs/design.md` has all ways, and says why the thread cannot go on.)

use std::ptr;
use std::sync::OnceLock;

use crate::{Error, Result};

/// The sentence. Set once: a handler may neither lock nor allocate.
static TEXT: OnceLock<Box<[u8]>> = OnceLock::new();

/// Has `text` written to standard error when SIGBUS comes, for programs whose users would not know what
/// "bus error" means. The process then ends by that signal, as without the call. The first call counts.
///
/// # Errors
///
/// [`Error::Io`] if the system takes no handler.
pub fn explain_bus_errors(text: &str) -> Result<()> {
    TEXT.get_or_init(|| text.as_bytes().into());
    // SAFETY: all zeros are a `sigaction` without flags and with an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = explain as extern "C" fn(libc::c_int) as usize;
    // The handler runs once: when the instruction is tried again, the default ends the process.
    action.sa_flags = libc::SA_RESETHAND;
    // SAFETY: `action` is initialised, and its handler only does what a handler may (see there).
    match unsafe { libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(Error::io("installing a handler for SIGBUS", std::io::Error::last_os_error())),
    }
}

/// Async-signal-safe: it reads what was set before it was installed, and calls `write`.
extern "C" fn explain(_: libc::c_int) {
    if let Some(text) = TEXT.get() {
        // SAFETY: the text lives as long as the process.
        unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    }
}
