//! Which pages of a mapped file were stored to since a checkpoint copied them.
//!
//! There is one byte for each 4 KiB of the file. [`Media::flush`](super::Media::flush) sets the bytes of the pages that
//! it is told of: every store that must outlive a crash is followed by a flush, and nothing else needs to be in a
//! checkpoint. Whoever copies takes a page's byte away first and then reads the page.
//!
//! # No change is missed
//!
//! A thread stores to a page, and then looks at the byte. If the byte is set, it does nothing more. Its store must
//! then be visible to whoever takes the byte away and reads the page, and a processor may delay the store beyond the
//! look. So the copier puts a heavy barrier between the two, and `note` a light one ([`Barriers`]): either the copier sees
//! the store, or the thread sees that the byte was taken, and sets it again. Where the copier has ended all operations
//! that may write before it takes the bytes, that wait is this barrier.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::os::barrier::Barriers;
use crate::os::memory::{HUGE_PAGE, Reservation};
use crate::{Error, Result};

/// Bytes of the file for which there is one byte.
pub const DIRTY_GRAIN: u64 = 4096;

/// The pages of a file that were flushed since somebody took them.
#[derive(Debug)]
pub struct DirtyPages {
    /// One byte for each page, as far as `cover` has made it accessible.
    table: Reservation,
    barriers: Barriers,
}

impl DirtyPages {
    /// None; for a file of at most `limit` bytes, of which there are `len`.
    pub(super) fn new(limit: u64, len: u64) -> Result<Self> {
        let bytes = limit.div_ceil(DIRTY_GRAIN).max(1);
        let table = Reservation::new(bytes)
            .map_err(|error| Error::io("reserving addresses for a note of each page", error))?;
        let pages = Self { table, barriers: Barriers::cheapest() };
        pages.cover(0, len)?;
        Ok(pages)
    }

    /// Lets the pages of bytes `have..len` of the file be noted. One call at a time; `have` is the `len` of the last one.
    pub(super) fn cover(&self, have: u64, len: u64) -> Result<()> {
        let [from, to] =
            [have, len].map(|len| len.div_ceil(DIRTY_GRAIN).next_multiple_of(HUGE_PAGE));
        // SAFETY: nothing was noted behind `from`, and the caller's threads note nothing behind `have` yet.
        unsafe { self.table.fill(&(from..to.min(self.table.len()))) }
            .map_err(|error| Error::io("memory for a note of each page (`ulimit -d`)", error))
    }

    /// # Safety
    ///
    /// The page was covered.
    #[inline(always)]
    unsafe fn byte(&self, page: u64) -> &AtomicU8 {
        // SAFETY: covered: mapped readable and writable until the reservation is dropped. Each access is atomic.
        unsafe { self.table.base().add(page as usize).cast().as_ref() }
    }

    /// Notes the pages of bytes `at..at + len`, which the calling thread has stored to.
    ///
    /// # Safety
    ///
    /// They were covered, and are not none.
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

    /// Apart, because nearly all that is flushed lies in one page.
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

    /// After the light barrier.
    ///
    /// # Safety
    ///
    /// The page was covered.
    #[inline(always)]
    unsafe fn note_page(&self, page: u64) {
        // SAFETY: the caller's promise.
        note(unsafe { self.byte(page) });
    }

    /// The numbers of the noted pages of the first `len` bytes, ascending. They are noted no longer. The file is at least
    /// so long. O(`len` / 4096).
    ///
    /// A page whose store the caller has not seen yet is noted again: see the module. If operations go on meanwhile,
    /// the caller puts a [barrier](Self::barrier) between this call and its first look at a page.
    pub fn take(&self, len: u64) -> Vec<u64> {
        let is_noted = |&page: &u64| {
            // SAFETY: the file is so long, and so were its pages covered.
            take(unsafe { self.byte(page) })
        };
        (0..len.div_ceil(DIRTY_GRAIN)).filter(is_noted).collect()
    }

    /// How many pages of the first `len` bytes are noted. The file is at least so long. O(`len` / 4096).
    pub fn count(&self, len: u64) -> u64 {
        // SAFETY: as in `take`. Relaxed: a figure.
        let is_noted = |&page: &u64| unsafe { self.byte(page) }.load(Ordering::Relaxed) != 0;
        (0..len.div_ceil(DIRTY_GRAIN)).filter(is_noted).count() as u64
    }

    /// Notes pages again that [`take`](Self::take) gave, because they could not be copied.
    pub fn put_back(&self, pages: impl Iterator<Item = u32>) {
        for page in pages {
            // SAFETY: `take` gave it. Release: as in `note`.
            unsafe { self.byte(page.into()) }.store(1, Ordering::Release);
        }
    }

    /// Orders what other threads have stored before they looked at a byte before what follows; `false` if the kernel
    /// refuses.
    #[must_use]
    pub fn barrier(&self) -> bool {
        // Pairs with the light barrier in `note`.
        self.barriers.heavy()
    }
}

/// The byte of a page. In models it is one of theirs.
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

/// Notes a page, after the light barrier.
#[inline(always)]
fn note(byte: &impl Byte) {
    // Relaxed: the barrier orders it.
    if byte.load(Ordering::Relaxed) == 0 {
        // Release: after the store that it stands for. Pairs with the exchange in `take`.
        byte.store(1, Ordering::Release);
    }
}

/// Whether a page was noted; it is no longer.
#[inline(always)]
fn take(byte: &impl Byte) -> bool {
    // Relaxed: most are not noted, and one that comes to be is for the next call.
    // Acquire: pairs with the Release in `note`.
    byte.load(Ordering::Relaxed) != 0 && byte.swap(0, Ordering::AcqRel) != 0
}

/// A copier beside a writer that goes on: what the copy does not have is noted.
#[cfg(all(test, loom))]
mod loom {
    use std::sync::Arc;

    use ::loom::sync::atomic::{AtomicU8 as ModelledByte, AtomicU64};

    use super::*;
    use crate::sync::loom::{check, spawn};

    byte!(ModelledByte);

    fn a_copy_beside_a_writer(has_barrier: bool) {
        // Noted by an earlier store, so that the writer finds it noted.
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
