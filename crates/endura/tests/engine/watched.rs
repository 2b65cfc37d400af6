//! A medium that tells whether a thread has stored anything since its last locked instruction: such stores may
//! still be in its store buffer.

use std::cell::Cell;
use std::panic::Location;

use endura::Result;
use endura::media::{Heap, LINE, Media, Ordering};
use endura::pool::PAGE;

thread_local! {
    /// Where the calling thread has stored since its last exchange.
    static WAITING: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// The first store of the calling thread that no locked instruction has come behind, and forgets it. What
/// nobody sees yet does not count (it is stored `Relaxed`), nor what the pool keeps for itself: page 0, and
/// the header lines of pages.
pub(crate) fn unfenced() -> Option<&'static Location<'static>> {
    WAITING.take()
}

/// Memory on the heap, in the manner of `PageCache` or of `Adr`.
pub(crate) struct Watched(pub(crate) Heap);

// SAFETY: every access goes to the inner medium, which keeps the contract.
unsafe impl Media for Watched {
    fn len(&self) -> u64 {
        self.0.len()
    }

    unsafe fn load(&self, at: u64, order: Ordering) -> u64 {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.0.load(at, order) }
    }

    #[track_caller]
    unsafe fn store(&self, at: u64, value: u64, order: Ordering) {
        let is_seen = order == Ordering::Release && at >= PAGE && at % PAGE >= LINE;
        if order == Ordering::SeqCst {
            WAITING.set(None);
        } else if is_seen && WAITING.get().is_none() {
            WAITING.set(Some(Location::caller()));
        }
        // SAFETY: the caller's promise, passed on.
        unsafe { self.0.store(at, value, order) }
    }

    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        WAITING.set(None);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.0.compare_exchange(at, old, new) }
    }

    unsafe fn compare_exchange_pair(
        &self,
        at: u64,
        old: [u64; 2],
        new: [u64; 2],
    ) -> std::result::Result<(), [u64; 2]> {
        WAITING.set(None);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.0.compare_exchange_pair(at, old, new) }
    }

    unsafe fn flush(&self, at: u64, len: u64) {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.0.flush(at, len) }
    }

    fn fence(&self) {
        self.0.fence();
    }

    fn needs_flush(&self) -> bool {
        self.0.needs_flush()
    }
}
