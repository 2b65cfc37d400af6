//! The pages of a mapped file that were stored to since a checkpoint copied them.
//!
//! There is one byte for each page, which is 4 KiB of the file. While the byte is set, the page is *noted*.
//! [`Media::flush`](super::Media::flush) notes the pages that it flushes. That is enough: every store that must outlive
//! a crash is followed by a flush, and nothing else needs to be in a checkpoint. A thread that copies a page (the
//! *copier*) clears its byte first and then reads the page.
//!
//! # No change is missed
//!
//! A thread stores to a page, and then loads the byte. If the byte is set, it does nothing more. The copier, which
//! clears the byte and reads the page, must then see the store; but a processor may delay the store until after the
//! load. So the copier issues a heavy barrier between clearing and reading, and `note` a light one between store and
//! load ([`Barriers`]). Either the copier sees the store, or the thread sees that the byte was cleared, and sets it
//! again. If the copier has waited for the end of all operations that may write before it clears the bytes, that wait
//! takes the place of the barrier.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::os::barrier::Barriers;
use crate::os::memory::{HUGE_PAGE, Reservation};
use crate::{Error, Result};

/// Bytes of a page: the table has one byte for each page.
pub const DIRTY_GRAIN: u64 = 4096;

/// The pages of a file that were flushed since they were last [taken](Self::take).
#[derive(Debug)]
pub struct DirtyPages {
    /// One byte for each page. The bytes of the pages that were passed to `cover` are accessible.
    table: Reservation,
    barriers: Barriers,
}

impl DirtyPages {
    /// A table with no page noted, for a file that is `len` bytes long now and may grow to `limit` bytes.
    pub(super) fn new(limit: u64, len: u64) -> Result<Self> {
        let bytes = limit.div_ceil(DIRTY_GRAIN).max(1);
        let table = Reservation::new(bytes)
            .map_err(|error| Error::io("reserving addresses for a note of each page", error))?;
        let pages = Self { table, barriers: Barriers::cheapest() };
        pages.cover(0, len)?;
        Ok(pages)
    }

    /// Makes the bytes for pages `have..len` (in bytes of the file) accessible, so that these pages can be noted. There
    /// is one call at a time, and its `have` is the `len` of the last call.
    pub(super) fn cover(&self, have: u64, len: u64) -> Result<()> {
        let [from, to] =
            [have, len].map(|len| len.div_ceil(DIRTY_GRAIN).next_multiple_of(HUGE_PAGE));
        // SAFETY: no page was noted in the table from `from` on, and no thread notes a page after byte `have` before
        // this call returns.
        unsafe { self.table.fill(&(from..to.min(self.table.len()))) }
            .map_err(|error| Error::io("memory for a note of each page (`ulimit -d`)", error))
    }

    /// # Safety
    ///
    /// The page was covered.
    #[inline(always)]
    unsafe fn byte(&self, page: u64) -> &AtomicU8 {
        // SAFETY: a covered byte is mapped readable and writable until the reservation is dropped. Each access is
        // atomic.
        unsafe { self.table.base().add(page as usize).cast().as_ref() }
    }

    /// Notes the pages of bytes `at..at + len`, which the calling thread has stored to.
    ///
    /// # Safety
    ///
    /// The pages were covered, and `len` is not 0.
    #[inline(always)]
    pub(super) unsafe fn note(&self, at: u64, len: u64) {
        // Pairs with the heavy barrier of a copier.
        self.barriers.light();
        let (first, last) = (at / DIRTY_GRAIN, (at + len - 1) / DIRTY_GRAIN);
        // SAFETY: the caller's promise.
        unsafe { self.note_page(first) };
        if first != last {
            // SAFETY: as above.
            unsafe { self.note_others(first + 1, last) };
        }
    }

    /// Notes the pages `from..=to`. A separate function, because nearly every flush is within one page.
    ///
    /// # Safety
    ///
    /// These pages were covered.
    #[cold]
    #[inline(never)]
    unsafe fn note_others(&self, from: u64, to: u64) {
        for page in from..=to {
            // SAFETY: the caller's promise.
            unsafe { self.note_page(page) };
        }
    }

    /// Notes a page, after the light barrier.
    ///
    /// # Safety
    ///
    /// The page was covered.
    #[inline(always)]
    unsafe fn note_page(&self, page: u64) {
        // SAFETY: the caller's promise.
        note(unsafe { self.byte(page) });
    }

    /// Clears the notes of all pages of the first `len` bytes, and returns the numbers of the pages that were noted,
    /// ascending. The file must have at least `len` bytes. O(`len` / 4096).
    ///
    /// If writers are running meanwhile, the caller must issue a [barrier](Self::barrier) between this call and its
    /// first read of a page. If the caller then misses a store to a page, that page is noted again: see the module.
    pub fn take(&self, len: u64) -> Vec<u64> {
        let is_noted = |&page: &u64| {
            // SAFETY: the file has at least `len` bytes, so these pages were covered.
            take(unsafe { self.byte(page) })
        };
        (0..len.div_ceil(DIRTY_GRAIN)).filter(is_noted).collect()
    }

    /// How many pages of the first `len` bytes are noted. The file must have at least `len` bytes. O(`len` / 4096).
    pub fn count(&self, len: u64) -> u64 {
        // SAFETY: as in `take`. Relaxed: the number is only for statistics and estimates.
        let is_noted = |&page: &u64| unsafe { self.byte(page) }.load(Ordering::Relaxed) != 0;
        (0..len.div_ceil(DIRTY_GRAIN)).filter(is_noted).count() as u64
    }

    /// Notes pages again that [`take`](Self::take) returned and that could not be copied.
    pub fn put_back(&self, pages: impl Iterator<Item = u32>) {
        for page in pages {
            // SAFETY: `take` returned the page, so it is covered. Release: as in `note`.
            unsafe { self.byte(page.into()) }.store(1, Ordering::Release);
        }
    }

    /// The heavy barrier of a copier, which makes the stores of threads that found a byte set visible to the reads that
    /// follow. Returns `false` if the kernel refuses it.
    #[must_use]
    pub fn barrier(&self) -> bool {
        // Pairs with the light barrier in `note`.
        self.barriers.heavy()
    }
}

/// The byte of a page: an atomic of the standard library or, in models, of loom.
trait Byte {
    fn load(&self, order: Ordering) -> u8;
    fn store(&self, value: u8, order: Ordering);
    fn swap(&self, value: u8, order: Ordering) -> u8;
}

macro_rules! byte {
    ($type:ty) => {
        impl Byte for $type {
            #[inline(always)]
            fn load(&self, order: Ordering) -> u8 {
                self.load(order)
            }
            #[inline(always)]
            fn store(&self, value: u8, order: Ordering) {
                self.store(value, order);
            }
            #[inline(always)]
            fn swap(&self, value: u8, order: Ordering) -> u8 {
                self.swap(value, order)
            }
        }
    };
}

byte!(AtomicU8);

/// Notes the page of a byte, after the light barrier.
#[inline(always)]
fn note(byte: &impl Byte) {
    // Relaxed: the barrier orders the load after the store to the page.
    if byte.load(Ordering::Relaxed) == 0 {
        // Release: the store to the page becomes visible first. Pairs with the exchange in `take`.
        byte.store(1, Ordering::Release);
    }
}

/// Clears the note of a page; returns whether it was set.
#[inline(always)]
fn take(byte: &impl Byte) -> bool {
    // Relaxed: most pages are not noted, and a page that is noted after this load is left to the next call. Acquire:
    // pairs with the Release in `note`.
    byte.load(Ordering::Relaxed) != 0 && byte.swap(0, Ordering::AcqRel) != 0
}

/// A copier beside a running writer: if the copy misses a store, its page is noted.
#[cfg(all(test, loom))]
mod loom {
    use std::sync::Arc;

    use ::loom::sync::atomic::{AtomicU8 as ModelledByte, AtomicU64};

    use super::*;
    use crate::sync::loom::{check, spawn};

    byte!(ModelledByte);

    fn a_copy_beside_a_writer(has_barrier: bool) {
        // The page was noted after an earlier store, so that the writer finds it noted.
        let page = Arc::new((AtomicU64::new(1), ModelledByte::new(1)));
        let barriers = Barriers::symmetric();
        let writer = {
            let page = Arc::clone(&page);
            spawn(move || {
                page.0.store(2, Ordering::Relaxed);
                barriers.light();
                note(&page.1);
            })
        };
        let was_noted = take(&page.1);
        if has_barrier {
            assert!(barriers.heavy());
        }
        let copied = page.0.load(Ordering::Relaxed);
        writer.join().unwrap();
        assert!(was_noted);
        assert!(copied == 2 || take(&page.1), "a store is neither copied nor noted");
    }

    #[test]
    fn a_store_beside_the_copier_is_copied_or_noted() {
        check(None, || a_copy_beside_a_writer(true));
    }

    #[test]
    #[should_panic(expected = "neither copied nor noted")]
    fn the_copier_without_its_barrier() {
        check(None, || a_copy_beside_a_writer(false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_is_taken_once_and_can_be_put_back() {
        let limit = 1 << 40;
        let pages = DirtyPages::new(limit, 1 << 20).unwrap();
        pages.cover(1 << 20, limit).unwrap();
        let ranges = [(0, 8), (4088, 8), (4096, 1), (8191, 2), (3 << 20, 9000), (limit - 8, 8)];
        for (at, len) in ranges {
            // SAFETY: all of `limit` is covered.
            unsafe { pages.note(at, len) };
        }
        let all = [0, 1, 2, 768, 769, 770, (limit >> 12) - 1];
        assert_eq!(pages.count(limit), all.len() as u64);
        assert_eq!(pages.take(1 << 20), all[..3]);
        assert_eq!(pages.take(limit), all[3..]);
        assert!(pages.take(limit).is_empty());
        pages.put_back(all[2..4].iter().map(|&page| page as u32));
        assert_eq!(pages.take(limit), all[2..4]);
    }
}
