//! A sentence on standard error before SIGBUS ends the process.
//!
//! The kernel sends SIGBUS to a thread that touches a mapped page that it cannot provide: a program shortened the file,
//! the disk failed, or the page needs a block and the disk is full. The store or load cannot be completed, so the
//! process ends as it would without this handler. (Section 3 of `docs/design.md` lists all causes, and says why the
//! thread cannot continue.)

use std::ptr;
use std::sync::OnceLock;

use crate::{Error, Result};

/// The sentence. It is set once, before the handler is installed: a handler may neither lock nor allocate.
static TEXT: OnceLock<Box<[u8]>> = OnceLock::new();

/// Installs a handler that writes `text` to standard error when SIGBUS arrives, for programs whose users would not know
/// what "bus error" means. The process then ends by that signal, as it would without this call. Only the text of the
/// first call is used.
///
/// # Errors
///
/// [`Error::Io`] if the system refuses the handler.
pub fn explain_bus_errors(text: &str) -> Result<()> {
    TEXT.get_or_init(|| text.as_bytes().into());
    // SAFETY: all zeros are a `sigaction` without flags and with an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = explain as extern "C" fn(libc::c_int) as usize;
    // The handler runs once: when the instruction is executed again, the default action ends the process.
    action.sa_flags = libc::SA_RESETHAND;
    // SAFETY: `action` is initialised, and `explain` does only what a signal handler may do.
    match unsafe { libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(Error::io("installing a handler for SIGBUS", std::io::Error::last_os_error())),
    }
}

/// Async-signal-safe: it reads a text that was set before the handler was installed, and calls `write`.
extern "C" fn explain(_: libc::c_int) {
    if let Some(text) = TEXT.get() {
        // SAFETY: the text lives as long as the process.
        unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    }
}
