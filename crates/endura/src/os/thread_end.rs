//! The very end of a thread, after its thread-locals are gone.
//!
//! Destructors of thread-locals run in an order that nobody can choose. One that uses a pool after the lease
//! of the thread's number was given back makes the thread take another number. The C library has a second
//! kind of destructor, that of a key (`pthread_key_create`), which runs behind all of the first kind, and is
//! run again where one of them sets its key anew: four times, as POSIX asks. There the number is given back.
//!
//! The key is used for that alone: it names a function of this library, which the system would call even if
//! the library was unloaded meanwhile. That cannot happen to a thread whose thread-locals are being destroyed.

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
