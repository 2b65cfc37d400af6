//! Exact counts of what a medium is asked to do.

use std::sync::atomic::{AtomicU32, AtomicU64};

use endura_engine::Result;
use endura_engine::media::{LINE, Media, Ordering};

use crate::pass_on;

/// What a [`Counting`] medium has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines whose write-back was asked for.
    pub line_flushes: u64,
    /// Fences, those at the end of operations included.
    pub fences: u64,
    /// Those at the end of operations: all that is left of flushes and fences on eADR.
    pub drains: u64,
    /// Words stored; an exchange that succeeded, of a word or a pair, is one, and so is a store past the
    /// cache, which is no flush.
    pub stores: u64,
    /// Words loaded.
    pub loads: u64,
    /// Chunks that the pool handed out.
    pub allocations: u64,
    /// Lines loaded from, each once per operation. [`Counting::by_line`] only, as the next.
    pub lines_read: u64,
    /// Lines whose write-back was asked for while they held what was not written back yet, and lines
    /// written past the cache: what reaches the memory of an operation that flushes what it stores.
    pub lines_written: u64,
}

impl Counts {
    /// What happened since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            line_flushes: self.line_flushes - earlier.line_flushes,
            fences: self.fences - earlier.fences,
            stores: self.stores - earlier.stores,
            loads: self.loads - earlier.loads,
            drains: self.drains - earlier.drains,
            allocations: self.allocations - earlier.allocations,
            lines_read: self.lines_read - earlier.lines_read,
            lines_written: self.lines_written - earlier.lines_written,
        }
    }
}

/// Counts the calls that pass through to the medium inside.
pub struct Counting<M> {
    inner: M,
    line_flushes: AtomicU64,
    fences: AtomicU64,
    drains: AtomicU64,
    stores: AtomicU64,
    loads: AtomicU64,
    allocations: AtomicU64,
    lines_read: AtomicU64,
    lines_written: AtomicU64,
    /// The operation that is under way.
    operation: AtomicU32,
    lines: Box<[Line]>,
}

/// What is known of a line.
#[derive(Default)]
struct Line {
    /// The operation that loaded from it last.
    read_in: AtomicU32,
    /// 1 if it holds what was not written back.
    dirty: AtomicU32,
}

impl<M> Counting<M> {
    /// Counts for `inner`, from zero.
    pub fn new(inner: M) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            inner,
            line_flushes: zero(),
            fences: zero(),
            drains: zero(),
            stores: zero(),
            loads: zero(),
            allocations: zero(),
            lines_read: zero(),
            lines_written: zero(),
            operation: AtomicU32::new(1),
            lines: Box::default(),
        }
    }

    /// The counts so far. Exact while no other thread is inside an operation.
    pub fn counts(&self) -> Counts {
        // Relaxed: whoever wants exact counts has joined the threads that made them.
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            line_flushes: of(&self.line_flushes),
            fences: of(&self.fences),
            drains: of(&self.drains),
            stores: of(&self.stores),
            loads: of(&self.loads),
            allocations: of(&self.allocations),
            lines_read: of(&self.lines_read),
            lines_written: of(&self.lines_written),
        }
    }

    /// Begins an operation: lines loaded from before count again. For one thread.
    pub fn begin(&self) {
        self.operation.fetch_add(1, Ordering::Relaxed);
    }

    fn read_line(&self, at: u64) {
        let Some(line) = self.lines.get((at / LINE) as usize) else { return };
        let operation = self.operation.load(Ordering::Relaxed);
        if line.read_in.swap(operation, Ordering::Relaxed) != operation {
            add(&self.lines_read, 1);
        }
    }

    /// An exchange reads its line, and writes it if it succeeds.
    fn exchanged(&self, at: u64, stored: bool) {
        self.read_line(at);
        if stored {
            add(&self.stores, 1);
            self.dirty_line(at);
        }
    }

    fn dirty_line(&self, at: u64) {
        if let Some(line) = self.lines.get((at / LINE) as usize) {
            line.dirty.store(1, Ordering::Relaxed);
        }
    }
}

impl<M: Media> Counting<M> {
    /// Counts lines as well, of the bytes that `inner` has now; takes 8 bytes for each line.
    pub fn by_line(inner: M) -> Self {
        let lines = std::iter::repeat_with(Line::default).take(inner.len().div_ceil(LINE) as usize);
        Self { lines: lines.collect(), ..Self::new(inner) }
    }
}

fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

// SAFETY: every access goes to the inner medium, which keeps the contract; counting adds nothing.
unsafe impl<M: Media> Media for Counting<M> {
    pass_on!(inner: len, grow, cut, needs_flush, hears_flushes, prefetch, mark, sync);

    unsafe fn load(&self, at: u64, order: Ordering) -> u64 {
        add(&self.loads, 1);
        self.read_line(at);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.load(at, order) }
    }

    unsafe fn store(&self, at: u64, value: u64, order: Ordering) {
        add(&self.stores, 1);
        self.dirty_line(at);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.store(at, value, order) }
    }

    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        // SAFETY: the caller's promise, passed on.
        let result = unsafe { self.inner.compare_exchange(at, old, new) };
        self.exchanged(at, result.is_ok());
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
        self.exchanged(at, result.is_ok());
        result
    }

    unsafe fn flush(&self, at: u64, len: u64) {
        let lines = at / LINE..(at + len).div_ceil(LINE);
        add(&self.line_flushes, lines.end - lines.start);
        for line in lines {
            if let Some(line) = self.lines.get(line as usize) {
                add(&self.lines_written, line.dirty.swap(0, Ordering::Relaxed).into());
            }
        }
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.flush(at, len) }
    }

    unsafe fn stream(&self, at: u64, value: u64) {
        add(&self.stores, 1);
        add(&self.lines_written, u64::from(!self.lines.is_empty()));
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.stream(at, value) }
    }

    fn fence(&self) {
        add(&self.fences, 1);
        self.inner.fence();
    }

    fn drain(&self) {
        add(&self.fences, 1);
        add(&self.drains, 1);
        self.inner.drain();
    }

    fn grant(&self) -> bool {
        let granted = self.inner.grant();
        add(&self.allocations, u64::from(granted));
        granted
    }
}

#[cfg(test)]
mod tests {
    use endura_engine::media::{Heap, Region};

    use super::*;

    #[test]
    fn lines_count_once_per_operation_and_once_per_change() {
        let medium = Counting::by_line(Heap::adr(256));
        let words = Region::new(&medium, 0, 32).unwrap();
        for _ in 0..2 {
            medium.begin();
            words.load(0, Ordering::Relaxed);
            words.load(7, Ordering::Relaxed);
            words.load(8, Ordering::Relaxed);
        }
        words.store(8, 1, Ordering::Relaxed);
        words.store(9, 1, Ordering::Relaxed);
        words.compare_exchange(16, 0, 1).unwrap();
        words.flush(0, 32);
        words.flush(0, 32);
        medium.fence();
        medium.drain();
        let counts = medium.counts();
        assert_eq!((counts.loads, counts.lines_read), (6, 5));
        assert_eq!((counts.line_flushes, counts.lines_written, counts.stores), (8, 2, 3));
        assert_eq!((counts.fences, counts.drains), (2, 1));
        assert_eq!(Counting::new(Heap::new(64)).counts(), Counts::default());
    }
}
