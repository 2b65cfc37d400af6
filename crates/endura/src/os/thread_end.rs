//! The very end of a thread, after its thread-locals are gone.
//!
//! A program cannot choose the order in which destructors of thread-locals run. If one of them uses a pool after the
//! thread has given back its number, the thread takes another number. The C library has a second kind of destructor,
//! that of a key (`pthread_key_create`). It runs after all of the first kind, and runs again if one of them sets its
//! key again, up to four times as POSIX requires. There the thread gives back the late number.
//!
//! The key has no other use. It names a function of this library, which the system would call even if the library had
//! been unloaded. A library is not unloaded while a thread destroys its thread-locals.

use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

/// A key, where there was one to be had, and what its destructor calls with the number.
struct Key {
    key: Option<libc::pthread_key_t>,
    give_back: fn(usize),
}

static KEY: OnceLock<Key> = OnceLock::new();

/// Has the calling thread call `give_back`, the same in all calls, with this number when it ends. Without a
/// key, which a process has a thousand of, the number stays taken.
pub(crate) fn at_the_end(number: usize, give_back: fn(usize)) {
    if let Some(key) = KEY.get_or_init(|| Key { key: key(), give_back }).key {
        // Not null for any number: the system runs no destructor for null.
        let value = ptr::without_provenance::<c_void>(number + 1);
        // SAFETY: the key was made by `key` and is never deleted. The value is no pointer to anybody; the
        // destructor takes it for the number that it is.
        unsafe { libc::pthread_setspecific(key, value) };
    }
}

fn key() -> Option<libc::pthread_key_t> {
    let mut key = 0;
    // SAFETY: writes one key to a place of its type; the destructor is a function of this library that takes
    // what `at_the_end` sets.
    let failed = unsafe { libc::pthread_key_create(&raw mut key, Some(end)) };
    (failed == 0).then_some(key)
}

extern "C" fn end(value: *mut c_void) {
    if let Some(key) = KEY.get() {
        (key.give_back)(value.addr() - 1);
    }
}
