//! What all handles of one map have: its index, and a pool that stays open.

use std::sync::Arc;

/// An index in a pool.
pub(super) struct Handle<I> {
    index: Arc<I>,
    /// Keeps the pool open for as long as the handle is there.
    pool: Option<Arc<dyn Send + Sync>>,
}

impl<I> Clone for Handle<I> {
    fn clone(&self) -> Self {
        Self { index: Arc::clone(&self.index), pool: self.pool.clone() }
    }
}

impl<I> Handle<I> {
    /// `pool`: what stays open as long as the handle is there; none if the caller sees to it.
    pub(super) fn new(index: I, pool: Option<Arc<dyn Send + Sync>>) -> Self {
        Self { index: Arc::new(index), pool }
    }

    #[inline(always)]
    pub(super) fn index(&self) -> &I {
        &self.index
    }
}
