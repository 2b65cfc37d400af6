//! Plain memory as a medium, for tests and for measurements without a file.

use std::sync::atomic::{AtomicU64, Ordering};

use super::medium::Media;
use crate::cpu::pair::{self, Pair};
use crate::cpu::prefetch::prefetch_range;

/// Words on the heap. Nothing survives a crash: a heap replaces a real medium in tests of the order of stores, not of
/// their survival.
pub struct Heap {
    words: Box<[Pair]>,
    needs_flush: bool,
}

impl Heap {
    /// A medium of `bytes` zero bytes (rounded up to whole lines) that needs no flushes, like `PageCache`.
    pub fn new(bytes: u64) -> Self {
        let words = vec![0_u128; 4 * bytes.div_ceil(64) as usize].into_boxed_slice();
        // SAFETY: `Pair` has the size, alignment and valid values of `u128`, and the box is converted as a whole. (The
        // allocator provides zeroed memory, so pages that are never used take no memory.)
        let words = unsafe { Box::from_raw(Box::into_raw(words) as *mut [Pair]) };
        Self { words, needs_flush: false }
    }

    /// Like [`new`](Self::new), but the medium claims to need flushes, like `Adr`: trees flush and readers help,
    /// although a flush does nothing here.
    pub fn adr(bytes: u64) -> Self {
        Self { needs_flush: true, ..Self::new(bytes) }
    }

    fn word(&self, at: u64) -> &AtomicU64 {
        &self.words[at as usize / 16].0[at as usize / 8 % 2]
    }
}

// SAFETY: the words live as long as the medium, their number is fixed, and each access is atomic.
unsafe impl Media for Heap {
    fn len(&self) -> u64 {
        16 * self.words.len() as u64
    }

    unsafe fn load(&self, at: u64, order: Ordering) -> u64 {
        self.word(at).load(order)
    }

    unsafe fn store(&self, at: u64, value: u64, order: Ordering) {
        self.word(at).store(value, order);
    }

    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        self.word(at).compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire)
    }

    unsafe fn compare_exchange_pair(
        &self,
        at: u64,
        old: [u64; 2],
        new: [u64; 2],
    ) -> Result<(), [u64; 2]> {
        pair::exchange(&self.words[at as usize / 16], old, new)
    }

    unsafe fn flush(&self, _at: u64, _len: u64) {}

    fn fence(&self) {}

    fn needs_flush(&self) -> bool {
        self.needs_flush
    }

    #[inline(always)]
    fn prefetch(&self, at: u64, len: u64) {
        prefetch_range(self.words.as_ptr().cast(), at, len);
    }
}
