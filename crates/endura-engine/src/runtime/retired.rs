//! Retired things: no longer reachable, but perhaps still in use by threads inside an operation.

use crate::runtime::epoch::RetireTag;

/// Something that was retired. It can be read, but not reused before it has expired.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retired<T> {
    tag: RetireTag,
    item: T,
}

impl<T> Retired<T> {
    /// Retires `item`, which was unlinked before `tag` was read.
    pub(crate) fn new(tag: RetireTag, item: T) -> Self {
        Self { tag, item }
    }

    /// The retired thing, whether or not it has expired.
    pub(crate) fn waiting(&self) -> &T {
        &self.item
    }

    /// The thing, if it has expired at epoch `now`: no thread can reach it any more, and it may be reused. All reuse
    /// goes through this function.
    pub(crate) fn expired(&self, now: u64) -> Option<&T> {
        self.tag.has_expired(now).then_some(&self.item)
    }
}
