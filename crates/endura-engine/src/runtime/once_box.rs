//! A value on the heap that is made on first use. Before that it takes the space of a pointer; an access costs one
//! comparison.

use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;

use crate::sync::Ordering;

/// A value that is made at most once, and then kept.
#[derive(Debug)]
pub(crate) struct OnceBox<T>(AtomicPtr<T>);

// SAFETY: it owns its value, as a `Box<T>` does, and lends only shared references. Any thread may make the value.
unsafe impl<T: Send + Sync> Sync for OnceBox<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for OnceBox<T> {}

impl<T> OnceBox<T> {
    pub(crate) const fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// The value, if it exists.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&T> {
        // SAFETY: the pointer is null or leads to a value that `make` made and that lives as long as `self`. Acquire:
        // pairs with the exchange in `make`, before which the value was made.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// The value; makes it if there is none. If several threads do so at once, all get the value of one of them, and
    /// the other values are dropped.
    #[cold]
    #[inline(never)]
    pub(crate) fn make(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(made) = self.get() {
            return made;
        }
        let fresh = Box::into_raw(Box::new(make()));
        // AcqRel: pairs with this exchange in other threads, and with the load in `get`.
        let exchanged =
            self.0.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire);
        let made = exchanged.map_or_else(
            |theirs| {
                // SAFETY: it was made just now, and no other thread has seen it.
                drop(unsafe { Box::from_raw(fresh) });
                theirs
            },
            |_| fresh,
        );
        // SAFETY: as in `get`.
        unsafe { &*made }
    }
}

impl<T> Drop for OnceBox<T> {
    fn drop(&mut self) {
        let made = *self.0.get_mut();
        if !made.is_null() {
            // SAFETY: the pointer came from a box in `make`, and no borrow of the value is left.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn all_threads_get_the_same_value_and_one_is_kept() {
        let alive = Arc::new(());
        for _ in 0..100 {
            let one = OnceBox::new();
            assert!(one.get().is_none());
            std::thread::scope(|scope| {
                for number in 0..4 {
                    let (one, alive) = (&one, &alive);
                    scope.spawn(move || {
                        let made = one.make(|| (number, Arc::clone(alive)));
                        assert!(std::ptr::eq(made, one.get().unwrap()));
                    });
                }
            });
            assert_eq!(Arc::strong_count(&alive), 2, "one is kept");
            let first = one.get().unwrap().0;
            assert_eq!(one.make(|| (7, Arc::clone(&alive))).0, first);
            drop(one);
            assert_eq!(Arc::strong_count(&alive), 1);
        }
        drop(OnceBox::<u64>::new());
    }
}
