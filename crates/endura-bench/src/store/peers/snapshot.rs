//! When a snapshot is out of date.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many writes to a store have been committed: a reader that keeps a snapshot open begins another
/// when there was one since, so that it finds what any thread was told.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Commits(AtomicU64);

impl Commits {
    /// A write has been committed.
    #[inline]
    pub(super) fn add(&self) {
        // Pairs with `count`: whoever hears of the write sees the new count.
        self.0.fetch_add(1, Ordering::Release);
    }

    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// What was begun when there were so many commits.
pub(super) struct Kept<T> {
    pub(super) commits: u64,
    pub(super) snapshot: T,
}
