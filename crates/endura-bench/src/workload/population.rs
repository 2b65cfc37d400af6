//! Which keys are in a store, known without asking it.
//!
//! The keys of a store with `t` threads lie in `t` stripes: the key at position `p` of stripe `s` is
//! number `p * t + s`. A thread inserts at the end of its own stripe and removes at its beginning, so
//! that two numbers say which keys of a stripe are present. They are published so that every thread
//! can choose among all keys and judge every answer:
//!
//! * `end` is stored *after* the insert has returned: what lies before it must be found;
//! * `first` is stored *before* the remove begins: what is not found must lie before it.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers from here on are never inserted. Above any population, and within 32 bits.
pub(crate) const ABSENT: u64 = 3 << 30;

/// The most keys that ever were in a population.
pub const MOST_KEYS: u64 = 1 << 31;

/// Which keys are in a store.
#[derive(Debug)]
pub struct Population {
    stripes: Box<[Stripe]>,
}

/// Written by one thread. A pair of cache lines of its own: processors fetch them together.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe {
    first: AtomicU64,
    end: AtomicU64,
}

impl Population {
    /// Of an empty store that `threads` threads will use, at least one.
    pub fn new(threads: usize) -> Self {
        Self { stripes: (0..threads.max(1)).map(|_| Stripe::default()).collect() }
    }

    /// Of a store with the first `keys` keys, as a load leaves it.
    pub fn loaded(threads: usize, keys: u64) -> Self {
        let population = Self::new(threads);
        let threads = population.threads() as u64;
        for (stripe, s) in population.stripes.iter().zip(0..) {
            stripe.end.store((keys + threads - 1 - s) / threads, Ordering::Release);
        }
        population
    }

    /// How many threads use the store.
    pub fn threads(&self) -> usize {
        self.stripes.len()
    }

    /// How many keys there are.
    pub fn len(&self) -> u64 {
        (0..self.threads()).map(|stripe| self.window(stripe)).map(|w| w.end - w.start).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The positions of a stripe that are present.
    #[inline]
    pub(crate) fn window(&self, stripe: usize) -> Range<u64> {
        let stripe = &self.stripes[stripe];
        // Pairs with `inserted`: the insert of what lies before `end` has returned.
        let end = stripe.end.load(Ordering::Acquire);
        stripe.first.load(Ordering::Acquire).min(end)..end
    }

    /// The number of a key.
    #[inline]
    pub(crate) fn number(&self, stripe: usize, position: u64) -> u64 {
        position * self.stripes.len() as u64 + stripe as u64
    }

    /// Whether the key at a position was not being removed yet. Asked after a lookup that found
    /// nothing: whoever removed it had called [`removing`](Self::removing) before, with which this
    /// pairs.
    #[inline]
    pub(crate) fn not_removed(&self, stripe: usize, position: u64) -> bool {
        self.stripes[stripe].first.load(Ordering::Acquire) <= position
    }

    /// The thread of `stripe` has inserted the key at its end.
    #[inline]
    pub(crate) fn inserted(&self, stripe: usize, position: u64) {
        // Pairs with `window`.
        self.stripes[stripe].end.store(position + 1, Ordering::Release);
    }

    /// The thread of `stripe` is about to remove the key at its beginning.
    #[inline]
    pub(crate) fn removing(&self, stripe: usize, position: u64) {
        // Pairs with `not_removed`, by way of the store's own order of the remove and the lookup.
        self.stripes[stripe].first.store(position + 1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_number_all_keys_once() {
        assert!(Population::new(3).is_empty());
        assert_eq!([10, 11].map(|keys| Population::loaded(3, keys).len()), [10, 11]);
        let population = Population::loaded(3, 12);
        let numbers: std::collections::BTreeSet<u64> = (0..3)
            .flat_map(|stripe| population.window(stripe).map(move |p| (stripe, p)))
            .map(|(stripe, p)| population.number(stripe, p))
            .collect();
        assert!(numbers.into_iter().eq(0..12));
        population.removing(1, 0);
        assert_eq!((population.len(), population.window(1)), (11, 1..4));
        assert!(!population.not_removed(1, 0) && population.not_removed(1, 1));
    }
}
