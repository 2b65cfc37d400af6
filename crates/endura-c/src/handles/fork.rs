//! Forks: the locks of the table are held across one, so that a child never begins with a lock that another thread of
//! its parent had.

use std::cell::Cell;
use std::sync::{MutexGuard, Once};

use super::announce::{Record, forget_other_threads, records};
use super::state::{State, state};

type Locks = (MutexGuard<'static, State>, MutexGuard<'static, Vec<&'static Record>>);

thread_local! {
    static ACROSS: Cell<Option<Locks>> = const { Cell::new(None) };
}

// A thread that forks while it ends has no place for the locks; its child should not open pools.
extern "C" fn before() {
    let _ = ACROSS.try_with(|across| across.set(Some((state(), records()))));
}

extern "C" fn after_in_parent() {
    let _ = ACROSS.try_with(|across| drop(across.take()));
}

extern "C" fn after_in_child() {
    let _ = ACROSS.try_with(|across| {
        if let Some((_, records)) = across.take() {
            forget_other_threads(&records);
        }
    });
}

/// Prepares the process for forks, once.
pub(super) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the functions belong to this library, which stays loaded.
        unsafe { libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child)) };
    });
}
