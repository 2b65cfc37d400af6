//! A medium for models. Its words are loom's, so that loom runs every interleaving of a few threads, with every value
//! that a load may return.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::medium::Media;
use crate::cpu::flush::LINE;
use crate::sync::loom::{Fault, has};
use crate::sync::{AtomicU64, Ordering};

/// A medium of loom's words. Nothing is ever durable. The model's first thread makes and [`fills`](Self::fill) it,
/// because a word of loom belongs to the thread that first uses it.
pub(crate) struct Modelled {
    words: Mutex<HashMap<u64, Arc<AtomicU64>>>,
    bytes: u64,
}

impl Modelled {
    pub(crate) fn new(bytes: u64) -> Self {
        Self { words: Mutex::default(), bytes }
    }

    /// Makes the words of bytes `at..at + len`. New words are zero.
    pub(crate) fn fill(&self, at: u64, len: u64) {
        (at..at + len).step_by(8).for_each(|at| _ = self.word(at));
    }

    fn word(&self, at: u64) -> Arc<AtomicU64> {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(words.entry(at).or_insert_with(|| Arc::new(AtomicU64::new(0))))
    }
}

// SAFETY: words are looked up by their offset, and each access is atomic in the model.
unsafe impl Media for Modelled {
    fn len(&self) -> u64 {
        self.bytes
    }

    unsafe fn load(&self, at: u64, order: Ordering) -> u64 {
        let order = if has(Fault::RelaxedLoads) { Ordering::Relaxed } else { order };
        self.word(at).load(order)
    }

    unsafe fn store(&self, at: u64, value: u64, order: Ordering) {
        let order = if has(Fault::RelaxedStores) { Ordering::Relaxed } else { order };
        self.word(at).store(value, order);
    }

    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        self.word(at).compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Always fails: loom has no word of 16 bytes, and no model needs one.
    unsafe fn compare_exchange_pair(
        &self,
        at: u64,
        _: [u64; 2],
        _: [u64; 2],
    ) -> Result<(), [u64; 2]> {
        Err([at, at + 8].map(|at| self.word(at).load(Ordering::Acquire)))
    }

    unsafe fn flush(&self, at: u64, len: u64) {
        debug_assert!(at / LINE * LINE + len <= self.bytes + LINE);
    }

    fn fence(&self) {}

    fn needs_flush(&self) -> bool {
        false
    }
}
