//! A leak recovery that others keep from its end is given up for the moment: who waits for it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use endura_engine::Result;
use endura_engine::media::{Heap, Media};
use endura_engine::space::{Guard, LeakRecoverer, LeakWalk, PAGE};
use endura_engine::tree::roart;
use endura_variants::sessions;

use crate::support::patience::ends;

/// A walk in front of which others enter keys as fast as it goes on.
struct Endless(Arc<AtomicU64>);

impl<M: Media> LeakWalk<M> for Endless {
    fn step(
        &mut self,
        _: &Guard<'_, M>,
        _: &mut dyn FnMut(u64, u64) -> Result<()>,
        _: usize,
    ) -> Result<bool> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(false)
    }
}

#[test]
fn a_leak_recovery_whose_walk_never_ends_is_given_up_for_the_moment() {
    ends("a leak recovery whose walk never ends", || {
        let medium = Arc::new(Heap::new(16 * PAGE));
        let first = sessions::first(Arc::clone(&medium)).unwrap();
        roart::Tree::<_>::open(&first, "m").unwrap();
        drop(first);
        let space = sessions::begin(medium, 2, false).unwrap();
        let steps = Arc::new(AtomicU64::new(0));
        let recoverer = LeakRecoverer::new(&space, vec![Box::new(Endless(Arc::clone(&steps)))], 64);
        assert!(!recoverer.finish().unwrap());
        let once = steps.swap(0, Ordering::Relaxed);
        assert!(once > 1000, "given up after {once} steps");
        // Whoever wants it the next time tries as long.
        assert!(!recoverer.finish().unwrap());
        assert_eq!(steps.load(Ordering::Relaxed), once);
        assert!(!space.leak_recovery().is_done());
    });
}
