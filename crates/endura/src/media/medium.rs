//! Persistent memory as trees use it.
//!
//! A medium is a range of bytes that outlives a crash of the process, seen as little-endian 64-bit
//! words. Everything above this layer addresses persistent words *by offset through the medium*,
//! never by reference: the same generic tree then runs on a mapped file, on plain memory in a
//! test, on a counter of flushes, and on a recorder that explores crash states.
//!
//! # When stores become durable
//!
//! | domain | [`flush`](Media::flush) | [`fence`](Media::fence) | [`drain`](Media::drain) | an operation that returned survives |
//! | --- | --- | --- | --- | --- |
//! | [`Domain::Adr`](crate::media::Domain::Adr) | `clwb`, `clflushopt`, `clflush`, `dc cvap` | `sfence`, `dsb` | the same | power loss |
//! | [`Domain::Eadr`](crate::media::Domain::Eadr) | nothing | nothing | `sfence`, `dsb` | power loss |
//! | [`Domain::PageCache`](crate::media::Domain::PageCache) | nothing | nothing | nothing | the end of the process |
//!
//! A word is stored whole: after a crash it holds its old or its new value. Of the stores of one thread
//! to one 64-byte line, a `Release` store reaches persistence after all that were made before it.
//! Stores to different lines reach it in any order, unless a flush and a fence stand between.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// A moment that a test or an explorer wants to see. Production media ignore it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mark {
    /// An operation of the map begins.
    Begin,
    /// The operation returns: from here on its effect must survive.
    Acknowledged,
    /// A numbered step of a protocol was reached (`docs/trees.md` has the names).
    Step(&'static str),
    /// A chunk was allocated: the contents of its words mean nothing.
    Fresh {
        /// Where it starts, in bytes.
        at: u64,
        /// How many bytes it has.
        bytes: u64,
    },
    /// A volatile word that stands for the word at this offset is about to be stored with `Release`.
    Published(u64),
    /// It was loaded with `Acquire`.
    Observed(u64),
    /// A fence has put the thread's earlier loads before its later ones.
    LoadsFenced,
    /// The thread is inside a pin that may write, or inside one more.
    Entered,
    /// It has left that one. If it is inside of none, a checkpoint may copy what it has flushed.
    Left,
}

/// A range of bytes that survives a crash, as 64-bit words addressed by byte offset.
///
/// # Concurrency
///
/// Every access is one atomic operation on one aligned word (two for a pair). Any number of threads
/// may use a medium at once.
///
/// A medium may be one that can only be read ([`Mapping::read_only`](super::Mapping::read_only)). A store to it, an
/// exchange that fails included, is a mistake of the caller's that ends the process and changes nothing.
///
/// # Safety
///
/// An implementor promises that every word in `0..len()` stays accessible for the life of the
/// medium, also if [`cut`](Self::cut) has made `len` smaller since, and that each access is atomic; and of the words that
/// [`in_memory`](Self::in_memory) gives, that they are the requested words, stay at their addresses
/// and accessible as long as the medium is borrowed, and that every access to them is atomic.
/// [`Span`](super::Span) and [`Region`](super::Region) rely on it.
pub unsafe trait Media: Send + Sync + 'static {
    /// The bytes that can be accessed now. Grows, and shrinks only at the end, by [`cut`](Self::cut).
    fn len(&self) -> u64;

    /// Whether there is nothing to access.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes at least `len` bytes accessible, new ones zero, or fails and changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] where the medium or the file system below it has no room.
    fn grow(&self, len: u64) -> Result<()> {
        let have = self.len();
        if len <= have { Ok(()) } else { Err(Error::Full { need: len - have, free: 0 }) }
    }

    /// Gives back what is behind the first `len` bytes, where the medium can, and ends its growth. To be called last:
    /// all operations have ended, everything is durable, and nothing behind `len` is needed any more. From then on
    /// words there can still be loaded through an older [`Span`](super::Span) or [`Region`](super::Region), but are
    /// zero, and a store to them ends the process. A medium may be longer than that afterwards, and after a crash as long
    /// as before.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::Io`] where something could not be given back, which does no harm.
    fn cut(&self, len: u64) -> Result<()> {
        let _ = len;
        Ok(())
    }

    /// The `words` words from `at` on in memory, if they are in memory and no observer has to see loads and stores. A
    /// store there is one of [`store`](Self::store): it has to be flushed.
    ///
    /// # Safety
    ///
    /// `at` is a multiple of 8 and `at + 8 * words <= self.len()`.
    unsafe fn in_memory(&self, at: u64, words: usize) -> Option<&[AtomicU64]> {
        let _ = (at, words);
        None
    }

    /// Reads one word.
    ///
    /// # Safety
    ///
    /// `at` is a multiple of 8 and `at + 8 <= self.len()`.
    #[track_caller]
    unsafe fn load(&self, at: u64, order: Ordering) -> u64;

    /// Writes one word.
    ///
    /// # Safety
    ///
    /// As for [`load`](Self::load).
    #[track_caller]
    unsafe fn store(&self, at: u64, value: u64, order: Ordering);

    /// Replaces a word if it still has the value `old` (`AcqRel`); gives the value found if not.
    /// It is not a persist fence.
    ///
    /// # Safety
    ///
    /// As for [`load`](Self::load).
    #[track_caller]
    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64>;

    /// Replaces two neighbouring words if they still are `old` (`AcqRel`); gives what was found if
    /// not. Other threads see both words change or neither; a crash may keep either alone. Where
    /// the processor [cannot](crate::cpu::pair::has_pair_exchange) it never succeeds.
    ///
    /// # Safety
    ///
    /// `at` is a multiple of 16 and `at + 16 <= self.len()`.
    #[track_caller]
    unsafe fn compare_exchange_pair(
        &self,
        at: u64,
        old: [u64; 2],
        new: [u64; 2],
    ) -> Result<(), [u64; 2]>;

    /// Starts the write-back of every line that `at..at + len` touches. Ordered after this thread's
    /// earlier stores to those lines; durable after the next [`fence`](Self::fence).
    ///
    /// # Safety
    ///
    /// `at + len <= self.len()`.
    #[track_caller]
    unsafe fn flush(&self, at: u64, len: u64);

    /// Writes one word past the cache where the processor can, durable after the next
    /// [`fence`](Self::fence); elsewhere a store and a flush. In no order with other stores but by fences:
    /// the caller fences before, so that what the word leads to comes first, and after.
    ///
    /// # Safety
    ///
    /// As for [`load`](Self::load).
    #[track_caller]
    unsafe fn stream(&self, at: u64, value: u64) {
        // SAFETY: the caller's promise, passed on.
        unsafe {
            self.store(at, value, Ordering::Release);
            self.flush(at, 8);
        }
    }

    /// Returns when this thread's earlier flushes are durable.
    #[track_caller]
    fn fence(&self);

    /// Ends an operation: returns when this thread's earlier flushes are durable and its earlier
    /// stores are inside the persistence domain. On eADR this is the one fence of an operation
    /// (an acknowledged store may still sit in the store buffer, which no battery covers).
    #[track_caller]
    fn drain(&self) {
        self.fence();
    }

    /// Whether a store is durable only after a flush. Where it is not, readers need not help.
    fn needs_flush(&self) -> bool;

    /// Whether a flush does anything at all: it writes back, or notes for a checkpoint that the page has changed.
    fn hears_flushes(&self) -> bool {
        self.needs_flush()
    }

    /// Prefetches the lines of `at..at + len`. A hint; any address and any length.
    fn prefetch(&self, at: u64, len: u64) {
        let _ = (at, len);
    }

    /// Whether the pool may hand out one more chunk. A medium that tests exhaustion says no to the
    /// n-th; all others always agree.
    #[inline(always)]
    fn grant(&self) -> bool {
        true
    }

    /// Reports to an observing medium where the program is. Empty in production.
    #[track_caller]
    #[inline(always)]
    fn mark(&self, mark: Mark) {
        let _ = mark;
    }

    /// Makes everything that was stored survive a clean end of the machine, where the domain does
    /// not do so by itself (`msync` of a mapped file).
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; the pool is then poisoned, for a second attempt may report success for pages
    /// that the kernel has given up.
    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

/// Flushes lines that *another* thread wrote, for a reader whose answer depends on them.
///
/// A flush is ordered after older stores of the same thread only; the full fence keeps it behind
/// the load that saw the value.
///
/// # Safety
///
/// As for [`Media::flush`].
#[track_caller]
pub(crate) unsafe fn help_flush<M: Media>(media: &M, at: u64, len: u64) {
    if media.needs_flush() {
        // Pairs with the store whose value was just read: the load stays before the write-back.
        crate::sync::fence(Ordering::SeqCst);
        // SAFETY: the caller vouches for the range.
        unsafe { media.flush(at, len) };
        media.fence();
    }
}
