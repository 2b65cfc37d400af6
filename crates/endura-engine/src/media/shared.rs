//! A medium that several owners share.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::medium::{Mark, Media};
use crate::Result;

// SAFETY: every access goes to the inner medium, which keeps the contract and lives as long as any
// owner does.
unsafe impl<M: Media> Media for Arc<M> {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn grow(&self, len: u64) -> Result<()> {
        (**self).grow(len)
    }

    fn cut(&self, len: u64) -> Result<()> {
        (**self).cut(len)
    }

    unsafe fn load(&self, at: u64, order: Ordering) -> u64 {
        // SAFETY: the caller's promise, passed on.
        unsafe { (**self).load(at, order) }
    }

    unsafe fn store(&self, at: u64, value: u64, order: Ordering) {
        // SAFETY: the caller's promise, passed on.
        unsafe { (**self).store(at, value, order) }
    }

    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64> {
        // SAFETY: the caller's promise, passed on.
        unsafe { (**self).compare_exchange(at, old, new) }
    }

    unsafe fn compare_exchange_pair(
        &self,
        at: u64,
        old: [u64; 2],
        new: [u64; 2],
    ) -> Result<(), [u64; 2]> {
        // SAFETY: the caller's promise, passed on.
        unsafe { (**self).compare_exchange_pair(at, old, new) }
    }

    unsafe fn flush(&self, at: u64, len: u64) {
        // SAFETY: the caller's promise, passed on.
        unsafe { (**self).flush(at, len) }
    }

    unsafe fn stream(&self, at: u64, value: u64) {
        // SAFETY: the caller's promise, passed on.
        unsafe { (**self).stream(at, value) }
    }

    fn fence(&self) {
        (**self).fence();
    }

    fn drain(&self) {
        (**self).drain();
    }

    fn needs_flush(&self) -> bool {
        (**self).needs_flush()
    }

    fn hears_flushes(&self) -> bool {
        (**self).hears_flushes()
    }

    fn prefetch(&self, at: u64, len: u64) {
        (**self).prefetch(at, len);
    }

    fn grant(&self) -> bool {
        (**self).grant()
    }

    fn mark(&self, mark: Mark) {
        (**self).mark(mark);
    }

    fn sync(&self) -> Result<()> {
        (**self).sync()
    }
}
