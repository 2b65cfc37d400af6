//! A fuse in the supply of a disk: it burns after so many more requests that change something. So the power is cut between
//! any two steps of a sync, which a clock would rarely hit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const NONE: u64 = u64::MAX;

#[derive(Debug, Clone)]
pub(crate) struct Fuse(Arc<AtomicU64>);

impl Fuse {
    /// One that does not burn.
    pub(crate) fn unarmed() -> Self {
        Self(Arc::new(AtomicU64::new(NONE)))
    }

    /// Lets so many more requests pass.
    pub(crate) fn arm(&self, requests: u64) {
        self.0.store(requests, Ordering::Relaxed);
    }

    pub(crate) fn is_burnt(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Whether one more request passes.
    pub(crate) fn passes(&self) -> bool {
        let less = |left| (left != NONE).then(|| u64::saturating_sub(left, 1));
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
            Ok(before) => before > 0,
            Err(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_burns_after_as_many_as_it_was_armed_for() {
        let fuse = Fuse::unarmed();
        assert!((0..10).all(|_| fuse.passes()));
        fuse.arm(2);
        assert!(!fuse.is_burnt());
        assert_eq!([(); 4].map(|()| fuse.passes()), [true, true, false, false]);
        assert!(fuse.is_burnt());
    }
}
