//! Failures: their statuses, the text of the last one of each thread, and the border that no panic crosses.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use endura::Error;

use crate::status::{E_ARGUMENT, E_PANIC, Status, of_code};

/// Why a call failed.
pub(crate) enum Failure {
    /// An error of the library.
    Library(Error),
    /// A status of this face, and a sentence.
    Own(Box<(Status, String)>),
}

impl Failure {
    #[cold]
    pub(crate) fn new(status: Status, text: impl Into<String>) -> Self {
        Self::Own(Box::new((status, text.into())))
    }

    /// An argument is wrong.
    #[cold]
    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(E_ARGUMENT, text)
    }
}

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

/// What a function of the header returns, before it crosses the border.
pub(crate) type Outcome<T = Status> = Result<T, Failure>;

struct Last {
    text: CString,
    system_error: c_int,
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

fn keep(text: &str, system_error: c_int) {
    let text = CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default();
    // A thread that is ending has no last error.
    let _ = LAST.try_with(|last| *last.borrow_mut() = Some(Last { text, system_error }));
}

/// Keeps the text of an error, and returns its status.
#[cold]
#[inline(never)]
pub(crate) fn note(error: &Error) -> Status {
    let system_error = match error {
        Error::Io { source, .. } | Error::Write(source) => source.raw_os_error().unwrap_or(0),
        _ => 0,
    };
    keep(&error.to_string(), system_error);
    of_code(error.code())
}

#[cold]
#[inline(never)]
fn failed(failure: &Failure) -> Status {
    match failure {
        Failure::Library(error) => note(error),
        Failure::Own(own) => {
            keep(&own.1, 0);
            own.0
        }
    }
}

#[cold]
#[inline(never)]
fn panicked(panic: &(dyn Any + Send)) -> Status {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("without a text");
    keep(&format!("endura panicked ({text}): report this bug, and open the pool again"), 0);
    E_PANIC
}

/// Runs the body of a function of the header.
#[inline(always)]
pub(crate) fn call(body: impl FnOnce() -> Outcome) -> Status {
    // What a panic leaves half done is in the library, which poisons the pool.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status,
        Ok(Err(failure)) => failed(&failure),
        Err(panic) => panicked(&*panic),
    }
}

/// The sentence of this thread's last status below 0; empty if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn endura_last_error() -> *const c_char {
    let text = LAST.try_with(|last| last.borrow().as_ref().map(|last| last.text.as_ptr()));
    text.ok().flatten().unwrap_or(c"".as_ptr())
}

/// The `errno` of the same failure; 0 if it has none.
#[unsafe(no_mangle)]
pub extern "C" fn endura_last_errno() -> c_int {
    let number = LAST.try_with(|last| last.borrow().as_ref().map(|last| last.system_error));
    number.ok().flatten().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn last() -> String {
        // SAFETY: the text is this thread's, and stays until its next failure.
        unsafe { CStr::from_ptr(endura_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_is_a_status_with_its_text() {
        assert_eq!(call(|| panic!("a text")), E_PANIC);
        assert!(last().contains("(a text)"), "{}", last());
        let number = 7;
        assert_eq!(call(|| panic!("a text with {number}")), E_PANIC);
        assert!(last().contains("(a text with 7)"), "{}", last());
        assert_eq!(call(|| std::panic::panic_any(7)), E_PANIC);
        assert!(last().contains("without a text"), "{}", last());
    }

    #[test]
    fn a_failure_keeps_its_text_and_its_errno() {
        let source = std::io::Error::from_raw_os_error(libc::ENOSPC);
        assert_eq!(call(|| Err(Error::io("writing a\0b", source).into())), of_code("io"));
        assert!(last().contains("a\u{fffd}b"), "{}", last());
        assert_eq!(endura_last_errno(), libc::ENOSPC);
        assert_eq!(call(|| Err(Failure::argument("no"))), E_ARGUMENT);
        assert_eq!((last().as_str(), endura_last_errno()), ("no", 0));
        assert_eq!(std::thread::spawn(last).join().unwrap(), "");
    }
}
