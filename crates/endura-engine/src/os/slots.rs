//! A list of slots that only grows and is never freed. It is for code that cannot take a lock, such as the handler in
//! the child of a fork.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A block of slots, and the pointer to the next block.
pub(super) struct Slots<T: 'static> {
    slots: [T; 64],
    more: AtomicPtr<Slots<T>>,
}

impl<T: Default + 'static> Slots<T> {
    pub(super) const fn new(slots: [T; 64]) -> Self {
        Self { slots, more: AtomicPtr::new(ptr::null_mut()) }
    }

    pub(super) fn blocks(&'static self) -> impl Iterator<Item = &'static Self> {
        std::iter::successors(Some(self), |block| {
            // SAFETY: `more` is null or a leaked block. Pairs with the exchange in `append`.
            unsafe { block.more.load(Ordering::Acquire).as_ref() }
        })
    }

    pub(super) fn iter(&'static self) -> impl Iterator<Item = &'static T> {
        self.blocks().flat_map(|block| &block.slots)
    }

    /// Calls `take` with one slot after another until it returns `Some`. If it refuses all slots, appends new ones.
    pub(super) fn take<R>(&'static self, take: impl Fn(&'static T) -> Option<R>) -> R {
        loop {
            match self.iter().find_map(&take) {
                Some(taken) => return taken,
                None => self.append(),
            }
        }
    }

    /// Adds a block at the end of the list.
    fn append(&'static self) {
        let block = Box::into_raw(Box::new(Self::new(std::array::from_fn(|_| T::default()))));
        let mut end = self;
        loop {
            // Pairs with the load in `blocks`.
            let (none, release) = (ptr::null_mut(), Ordering::AcqRel);
            match end.more.compare_exchange(none, block, release, Ordering::Acquire) {
                Ok(_) => return,
                // SAFETY: a block in the list is never freed.
                Err(next) => end = unsafe { &*next },
            }
        }
    }
}
