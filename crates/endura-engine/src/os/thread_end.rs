//! The very end of a thread, after its thread-locals are gone.
//!
//! A thread that uses a pool has a number, which it returns in the destructor of a thread-local. A program cannot
//! choose the order in which such destructors run. If a later one uses a pool, the thread takes another number. The C
//! library has a second kind of destructor, that of a key (`pthread_key_create`). The destructors of keys run after
//! those of all thread-locals. If a destructor sets a key again, the destructor of that key runs again, up to four
//! times as POSIX requires. In the destructor of a key the thread returns the late number.
//!
//! The key has no other use. It names a function of this library, which the system would call even if the library had
//! been unloaded. A library is not unloaded while a thread destroys its thread-locals.

use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

/// The key, if the system had one left, and the function that its destructor calls with the number.
struct Key {
    key: Option<libc::pthread_key_t>,
    give_back: fn(usize),
}

static KEY: OnceLock<Key> = OnceLock::new();

/// Makes the calling thread call `give_back` with this number when it ends. All calls must pass the same function. A
/// process has about a thousand keys; if none is left, the number stays taken.
pub(crate) fn at_the_end(number: usize, give_back: fn(usize)) {
    if let Some(key) = KEY.get_or_init(|| Key { key: key(), give_back }).key {
        // The value is not null for any number, because the system runs no destructor for null.
        let value = ptr::without_provenance::<c_void>(number + 1);
        // SAFETY: the key was made by `key` and is never deleted. No code uses the value as a pointer: the destructor
        // converts it back to the number.
        unsafe { libc::pthread_setspecific(key, value) };
    }
}

fn key() -> Option<libc::pthread_key_t> {
    let mut key = 0;
    // SAFETY: the call writes one key to a place of its type. The destructor is a function of this library that takes
    // what `at_the_end` sets.
    let failed = unsafe { libc::pthread_key_create(&raw mut key, Some(end)) };
    (failed == 0).then_some(key)
}

extern "C" fn end(value: *mut c_void) {
    if let Some(key) = KEY.get() {
        (key.give_back)(value.addr() - 1);
    }
}
