//! A value that is used by the thread that made it.

use std::cell::{Cell, RefCell, RefMut};
use std::sync::atomic::{AtomicU64, Ordering};

/// A `RefCell` that may be seen, though not used, by other threads. A lock in its place took a third
/// of all the time of an exploration.
pub(crate) struct Owned<T> {
    owner: u64,
    value: RefCell<T>,
}

// SAFETY: `value` is reached through `borrow` alone, which refuses every thread but one; dropping
// needs the value itself, and `T` may be dropped anywhere.
unsafe impl<T: Send> Sync for Owned<T> {}

impl<T> Owned<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { owner: this_thread(), value: RefCell::new(value) }
    }

    /// # Panics
    ///
    /// On any thread but the one that made it, and if it is borrowed already.
    #[inline(always)]
    pub(crate) fn borrow(&self) -> RefMut<'_, T> {
        assert!(self.owner == this_thread(), "a medium of another thread");
        self.value.borrow_mut()
    }
}

/// A number that no other thread of the process has, nor ever had.
#[inline(always)]
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    NUMBER.with(|number| {
        if number.get() == 0 {
            // Relaxed: only that no number comes twice matters.
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}
