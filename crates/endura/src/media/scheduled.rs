//! Memory whose every access is a point at which the scheduler may change over, and that knows
//! which lines a power loss would leave.

use std::sync::atomic::AtomicU64;

use super::{Heap, LINE, Mark, Media, Ordering};
use crate::Result;
use crate::sync::schedule;

/// See above. What is flushed counts as durable at once, which is the latest that a flush can be
/// relied on; what is not flushed is lost.
pub(crate) struct Scheduled {
    heap: Heap,
    durable: Box<[AtomicU64]>,
}

impl Scheduled {
    pub(crate) fn new(bytes: u64) -> Self {
        Self { heap: Heap::new(bytes), durable: Box::new([]) }
    }

    /// The same in the manner of `Adr`.
    pub(crate) fn adr(bytes: u64) -> Self {
        let durable = (0..bytes / 8).map(|_| AtomicU64::new(0)).collect();
        Self { heap: Heap::adr(bytes), durable }
    }

    /// What a power loss at this moment leaves.
    pub(crate) fn after_power_loss(&self) -> Self {
        let next = Self::adr(self.len());
        for (at, word) in (0..).step_by(8).zip(&self.durable) {
            let value = word.load(Ordering::Relaxed);
            // SAFETY: both media have the length of `durable`.
            unsafe { next.heap.store(at, value, Ordering::Relaxed) };
            next.durable[at as usize / 8].store(value, Ordering::Relaxed);
        }
        next
    }
}

// SAFETY: all accesses are those of `Heap`.
unsafe impl Media for Scheduled {
    fn len(&self) -> u64 {
        self.heap.len()
    }

    unsafe fn load(&self, at: u64, order: Ordering) -> u64 {
        schedule::point(false);
        // SAFETY: the caller's promise is passed on.
        unsafe { self.heap.load(at, order) }
    }

    unsafe fn store(&self, at: u64, value: u64, order: Ordering) {
        schedule::point(true);
        // SAFETY: the caller's promise is passed on.
        unsafe { self.heap.store(at, value, order) }
    }

    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        schedule::point(true);
        // SAFETY: the caller's promise is passed on.
        unsafe { self.heap.compare_exchange(at, old, new) }
    }

    unsafe fn flush(&self, at: u64, len: u64) {
        if self.durable.is_empty() {
            return;
        }
        let words = (at / LINE * LINE)..(at + len).next_multiple_of(LINE);
        for at in words.step_by(8) {
            // SAFETY: the caller's range lies in whole lines of the medium.
            let value = unsafe { self.heap.load(at, Ordering::Acquire) };
            self.durable[at as usize / 8].store(value, Ordering::Release);
        }
    }

    fn fence(&self) {}

    fn needs_flush(&self) -> bool {
        self.heap.needs_flush()
    }

    fn mark(&self, mark: Mark) {
        schedule::mark(match mark {
            Mark::Begin => "begin",
            Mark::Acknowledged => "acknowledged",
            Mark::Step(step) => step,
        });
    }
}
