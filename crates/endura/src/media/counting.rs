//! Exact counts of what a medium is asked to do.

use std::sync::atomic::AtomicU64;

use super::{LINE, Mark, Media, Ordering};
use crate::Result;

/// What a [`Counting`] medium has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines whose write-back was asked for.
    pub line_flushes: u64,
    /// Fences, those at the end of operations included.
    pub fences: u64,
    /// Words stored; an exchange that succeeded, of a word or a pair, is one, and so is a store past the
    /// cache, which is no flush.
    pub stores: u64,
    /// Words loaded.
    pub loads: u64,
}

impl Counts {
    /// What happened since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            line_flushes: self.line_flushes - earlier.line_flushes,
            fences: self.fences - earlier.fences,
            stores: self.stores - earlier.stores,
            loads: self.loads - earlier.loads,
        }
    }
}

/// Counts the calls that pass through to the medium inside.
pub struct Counting<M> {
    inner: M,
    line_flushes: AtomicU64,
    fences: AtomicU64,
    stores: AtomicU64,
    loads: AtomicU64,
}

impl<M> Counting<M> {
    /// Counts for `inner`, from zero.
    pub fn new(inner: M) -> Self {
        let zero = || AtomicU64::new(0);
        Self { inner, line_flushes: zero(), fences: zero(), stores: zero(), loads: zero() }
    }

    /// The counts so far. Exact while no other thread is inside an operation.
    pub fn counts(&self) -> Counts {
        Counts {
            line_flushes: self.line_flushes.load(Ordering::Relaxed),
            fences: self.fences.load(Ordering::Relaxed),
            stores: self.stores.load(Ordering::Relaxed),
            loads: self.loads.load(Ordering::Relaxed),
        }
    }
}

fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

// SAFETY: every access goes to the inner medium, which keeps the contract; counting adds nothing.
unsafe impl<M: Media> Media for Counting<M> {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn grow(&self, len: u64) -> Result<()> {
        self.inner.grow(len)
    }

    unsafe fn load(&self, at: u64, order: Ordering) -> u64 {
        add(&self.loads, 1);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.load(at, order) }
    }

    unsafe fn store(&self, at: u64, value: u64, order: Ordering) {
        add(&self.stores, 1);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.store(at, value, order) }
    }

    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        // SAFETY: the caller's promise, passed on.
        let result = unsafe { self.inner.compare_exchange(at, old, new) };
        add(&self.stores, u64::from(result.is_ok()));
        result
    }

    unsafe fn compare_exchange_pair(
        &self,
        at: u64,
        old: [u64; 2],
        new: [u64; 2],
    ) -> Result<(), [u64; 2]> {
        // SAFETY: the caller's promise, passed on.
        let result = unsafe { self.inner.compare_exchange_pair(at, old, new) };
        add(&self.stores, u64::from(result.is_ok()));
        result
    }

    unsafe fn flush(&self, at: u64, len: u64) {
        add(&self.line_flushes, (at + len).div_ceil(LINE) - at / LINE);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.flush(at, len) }
    }

    unsafe fn stream(&self, at: u64, value: u64) {
        add(&self.stores, 1);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.stream(at, value) }
    }

    fn fence(&self) {
        add(&self.fences, 1);
        self.inner.fence();
    }

    fn drain(&self) {
        add(&self.fences, 1);
        self.inner.drain();
    }

    fn needs_flush(&self) -> bool {
        self.inner.needs_flush()
    }

    fn prefetch(&self, at: u64, len: u64) {
        self.inner.prefetch(at, len);
    }

    fn grant(&self) -> bool {
        self.inner.grant()
    }

    fn mark(&self, mark: Mark) {
        self.inner.mark(mark);
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }
}
