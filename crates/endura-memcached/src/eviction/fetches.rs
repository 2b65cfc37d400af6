//! How often keys were fetched of late: a counter for each hash of a key.
//!
//! The counters are in memory only, so a fetch writes nothing to the pool, and a start begins with none. A key that is not
//! in the cache has a counter as well. So a client that asks for a key again soon after it was evicted, and then stores it,
//! finds it worth more than a key that nobody has asked for. Keys with the same counter count as one, which makes both
//! worth a little more than they are.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of the cache for each counter, which has one byte.
const BYTES_A_COUNTER: u64 = 256;
const COUNTERS: std::ops::RangeInclusive<u64> = 1 << 12..=1 << 32;
/// The bits of a counter that count.
const COUNT: u8 = 0x7f;
/// The most that is counted. More would say little, and a counter that has it is only read.
const MOST: u8 = 15;
/// The bit of a counter that says whether a client has fetched the item since it was stored.
const FETCHED: u8 = 0x80;

/// How often keys were fetched of late.
#[derive(Debug)]
pub struct Fetches {
    counters: Box<[AtomicU8]>,
    /// The counter that is halved next.
    next: AtomicU64,
}

/// A key, as the counters know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Print(u64);

impl Print {
    /// That of this key.
    #[inline]
    pub fn of(key: &[u8]) -> Self {
        Self(xxh3_64(key))
    }
}

impl Fetches {
    /// The counters for a cache of so many bytes.
    pub fn new(bytes: u64) -> Self {
        let counters = (bytes / BYTES_A_COUNTER).clamp(*COUNTERS.start(), *COUNTERS.end());
        let counters = (0..counters.next_power_of_two()).map(|_| AtomicU8::new(0)).collect();
        Self { counters, next: AtomicU64::new(0) }
    }

    #[inline]
    fn counter(&self, Print(hash): Print) -> &AtomicU8 {
        &self.counters[hash as usize & (self.counters.len() - 1)]
    }

    /// Notes that a client has asked for a key. Two threads that do so at the same time may count once.
    #[inline]
    pub fn note(&self, print: Print, was_found: bool) {
        let counter = self.counter(print);
        // Relaxed here and below, because the counters order nothing.
        let old = counter.load(Ordering::Relaxed);
        let count = (old & COUNT) + u8::from(old & COUNT < MOST);
        let new = old & FETCHED | count | if was_found { FETCHED } else { 0 };
        // A cache line that many threads read is not written in vain.
        if new != old {
            counter.store(new, Ordering::Relaxed);
        }
    }

    /// Notes that a key has a new item, which nobody has fetched.
    #[inline]
    pub fn begin(&self, print: Print) {
        let counter = self.counter(print);
        let old = counter.load(Ordering::Relaxed);
        if old & FETCHED != 0 {
            counter.store(old & COUNT, Ordering::Relaxed);
        }
    }

    /// How often a client has asked for this key of late.
    pub fn count(&self, print: Print) -> u8 {
        self.counter(print).load(Ordering::Relaxed) & COUNT
    }

    /// Whether a client has fetched the item of this key since it was stored.
    pub fn was_fetched(&self, print: Print) -> bool {
        self.counter(print).load(Ordering::Relaxed) & FETCHED != 0
    }

    /// Halves a share of all counters: `part` of `whole`. The next call continues after them.
    pub fn fade(&self, part: u64, whole: u64) {
        let all = self.counters.len() as u64;
        let some = (all.saturating_mul(part) / whole.max(1)).clamp(1, all);
        let first = self.next.fetch_add(some, Ordering::Relaxed);
        for at in first..first + some {
            let counter = &self.counters[(at % all) as usize];
            let old = counter.load(Ordering::Relaxed);
            let new = old & FETCHED | (old & COUNT) / 2;
            if new != old {
                counter.store(new, Ordering::Relaxed);
            }
        }
    }

    /// Bytes of memory of all counters.
    pub fn bytes(&self) -> usize {
        self.counters.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_count_up_to_a_bound_and_fade() {
        let fetches = Fetches::new(0);
        let [a, b] = [&b"a"[..], b"b"].map(Print::of);
        (0..10).for_each(|_| fetches.note(a, true));
        assert_eq!((fetches.count(a), fetches.count(b)), (10, 0));
        assert!(fetches.was_fetched(a) && !fetches.was_fetched(b));
        (0..10).for_each(|_| fetches.note(a, true));
        assert_eq!(fetches.count(a), MOST);
        fetches.fade(1, 1);
        assert_eq!((fetches.count(a), fetches.was_fetched(a)), (MOST / 2, true));
        fetches.begin(a);
        assert_eq!((fetches.count(a), fetches.was_fetched(a)), (MOST / 2, false));
        fetches.note(b, false);
        assert_eq!((fetches.count(b), fetches.was_fetched(b)), (1, false));
        (0..4).for_each(|_| fetches.fade(1, 4));
        assert_eq!((fetches.count(a), fetches.count(b)), (MOST / 4, 0));
    }

    #[test]
    fn the_memory_is_bounded() {
        assert_eq!(Fetches::new(1 << 30).bytes(), 4 << 20);
        assert_eq!(Fetches::new(0).bytes(), 4 << 10);
    }
}
