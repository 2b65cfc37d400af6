//! Asymmetric barriers: the frequent side pays nothing, the rare side pays for both.
//!
//! Two threads that each store one word and then load the other's need a full fence on both sides,
//! or both may miss the other's store. `membarrier(2)` moves the cost: it returns after every
//! running thread of the process has executed a full fence (a thread that does not run has done so
//! when it was switched out). The frequent side then needs only to keep the *compiler* from
//! swapping its store and its load.
//!
//! For any [`light`](Barriers::light) and any [`heavy`](Barriers::heavy) barrier one of these holds: the accesses
//! before the light one are visible to those after the heavy one, or the accesses before the heavy one are visible to
//! those after the light one. Where the kernel refuses `membarrier`, both sides are `SeqCst` fences, which give the
//! same guarantee.

use super::linux::membarrier;
use crate::sync::{Ordering, compiler_fence, fence};

/// The pair of barriers that a pool uses. Fixed when the pool is opened, because both sides must agree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Barriers {
    asymmetric: bool,
}

impl Barriers {
    /// The cheapest pair that this kernel offers. Registers the process where that is needed; repeated registration
    /// does no harm.
    pub(crate) fn cheapest() -> Self {
        let supported =
            !cfg!(any(miri, all(test, loom))) && membarrier::is_offered() && membarrier::register();
        Self { asymmetric: supported }
    }

    /// Full fences on both sides, which is also the pair where the kernel refuses `membarrier`.
    pub(crate) fn symmetric() -> Self {
        Self { asymmetric: false }
    }

    /// The frequent side's barrier.
    #[inline(always)]
    pub(crate) fn light(self) {
        if self.asymmetric {
            // Pairs with `heavy`, which makes the processor keep the order that this fence demands of the compiler.
            compiler_fence(Ordering::SeqCst);
        } else {
            // Pairs with the same fence in `heavy`.
            fence(Ordering::SeqCst);
        }
    }

    /// The rare side's barrier. Returns `false` if the kernel refused it (a system call filter that was installed after
    /// the registration). The caller must then not assume that it sees what threads stored before their light barriers.
    #[must_use]
    pub(crate) fn heavy(self) -> bool {
        // Pairs with `light`; orders the caller's own accesses around the system call as well.
        fence(Ordering::SeqCst);
        !self.asymmetric || membarrier::fence_all() || {
            // A forked child may have lost the registration.
            membarrier::register() && membarrier::fence_all()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::AtomicU64;

    /// Store buffering: with a barrier between store and load on both sides, at least one thread
    /// sees the other's store.
    fn never_both_miss(barriers: Barriers, rounds: u64) {
        let words = [AtomicU64::new(0), AtomicU64::new(0)];
        let seen = [AtomicU64::new(0), AtomicU64::new(0)];
        let gate = std::sync::Barrier::new(2);
        let side = |me: usize| {
            for round in 1..=rounds {
                gate.wait();
                words[me].store(round, Ordering::Relaxed);
                if me == 0 {
                    barriers.light();
                } else {
                    assert!(barriers.heavy());
                }
                seen[me].store(words[1 - me].load(Ordering::Relaxed), Ordering::Relaxed);
                gate.wait();
                let both = [&seen[0], &seen[1]].map(|s| s.load(Ordering::Relaxed));
                assert!(both.contains(&round), "both sides missed round {round}");
            }
        };
        std::thread::scope(|s| {
            s.spawn(|| side(0));
            s.spawn(|| side(1));
        });
    }

    #[test]
    fn one_side_always_sees_the_other() {
        never_both_miss(Barriers::cheapest(), 5_000);
        never_both_miss(Barriers::symmetric(), 5_000);
    }
}
