//! A slice that is made on first use. An access costs one bounds check: the length of a slice that was not made yet is
//! 0, so that the check covers both cases.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize};

use crate::sync::{OnceLock, Ordering};

/// A slice, or none yet. Once made it stays.
#[derive(Debug)]
pub(crate) struct OnceSlice<T> {
    owner: OnceLock<Box<[T]>>,
    /// Where it begins, for [`get`](Self::get).
    start: AtomicPtr<T>,
    /// How long it is: 0 before `start` is stored.
    len: AtomicUsize,
}

impl<T> OnceSlice<T> {
    pub(crate) fn new() -> Self {
        Self { owner: OnceLock::new(), start: AtomicPtr::new(null_mut()), len: AtomicUsize::new(0) }
    }

    /// The value with this number, if the slice was made and is so long.
    #[inline(always)]
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        // Acquire: pairs with the Release in `make`, in front of which the start was stored.
        let is_there = number < self.len.load(Ordering::Acquire);
        // SAFETY: then there are more than `number` values behind `start`, in the box that `owner` has and never
        // gives away; they are only ever lent out shared.
        is_there.then(|| unsafe { &*self.start.load(Ordering::Relaxed).add(number) })
    }

    /// All values; none if they were not made yet.
    pub(crate) fn all(&self) -> &[T] {
        self.owner.get().map_or(&[], |values| values)
    }

    /// All values, so many as `make` makes if there are none.
    #[cold]
    #[inline(never)]
    pub(crate) fn make(&self, make: impl FnOnce() -> Box<[T]>) -> &[T] {
        let values = self.owner.get_or_init(make);
        self.start.store(values.as_ptr().cast_mut(), Ordering::Relaxed);
        // Release: pairs with `get`. Twice is as good as once.
        self.len.store(values.len(), Ordering::Release);
        values
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn all_threads_get_the_same_values_once_they_are_made() {
        for _ in 0..100 {
            let slice = OnceSlice::new();
            assert!(slice.get(0).is_none() && slice.all().is_empty());
            std::thread::scope(|scope| {
                for number in 0..4 {
                    let slice = &slice;
                    scope.spawn(move || {
                        let made = slice.make(|| [10 * number, 10 * number + 1].into());
                        let seen = [slice.get(0), slice.get(1), slice.get(2)];
                        assert_eq!(seen, [made.first(), made.get(1), None]);
                    });
                }
            });
            let all = slice.all();
            assert!(all.len() == 2 && all[0] + 1 == all[1]);
            assert_eq!(slice.get(usize::MAX), None);
        }
    }
}
