//! [`Media`]: persistent memory as the trees see it.
//!
//! A medium is a range of bytes that outlives a crash of the process, accessed as little-endian 64-bit words.
//! Everything above this layer addresses persistent words *by offset through the medium*, never by reference. So the
//! same generic tree runs on a mapped file, on plain memory in a test, on a counter of flushes, and on a recorder that
//! explores crash states.
//!
//! # When stores become durable
//!
//! | domain | [`flush`](Media::flush) | [`fence`](Media::fence) | [`drain`](Media::drain) | an operation that returned survives |
//! | --- | --- | --- | --- | --- |
//! | [`Domain::Adr`](crate::media::Domain::Adr) | `clwb`, `clflushopt`, `clflush`, `dc cvap` | `sfence`, `dsb` | the same | power loss |
//! | [`Domain::Eadr`](crate::media::Domain::Eadr) | nothing | nothing | `sfence`, `dsb` | power loss |
//! | [`Domain::PageCache`](crate::media::Domain::PageCache) | nothing | nothing | nothing | the end of the process |
//!
//! A word is stored atomically: after a crash it holds its old or its new value. Among the stores of one thread to one
//! 64-byte line, a `Release` store becomes durable after all that precede it. Stores to different lines become durable
//! in any order, unless a flush and a fence separate them.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result, SpaceLimit};

/// An event that a test or an explorer observes. Production media ignore it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mark {
    /// An operation of the map begins.
    Begin,
    /// The operation returns: from here on its effect must survive a crash.
    Acknowledged,
    /// A named step of a protocol was reached (`docs/trees.md` has the names).
    Step(&'static str),
    /// A chunk was allocated: the contents of its words mean nothing.
    Fresh {
        /// The offset of its first byte.
        at: u64,
        /// Its size in bytes.
        bytes: u64,
    },
    /// A volatile word that is a copy of the word at this offset is about to be stored with `Release`.
    Published(u64),
    /// A volatile word that is a copy of the word at this offset was loaded with `Acquire`.
    Observed(u64),
    /// A fence has ordered the thread's earlier loads before its later ones.
    LoadsFenced,
    /// The thread has entered a pin that may write. Pins may nest.
    Entered,
    /// The thread has left a pin that may write. Once it is inside none, a checkpoint may copy what it has flushed.
    Left,
}

/// A range of bytes that survives a crash, as 64-bit words addressed by byte offset.
///
/// # Concurrency
///
/// Every access is one atomic operation on one aligned word (two for a pair). Any number of threads
/// may use a medium at once.
///
/// A medium may be read-only ([`Mapping::read_only`](super::Mapping::read_only)). A store to such a medium is a bug of
/// the caller, and so is an exchange, even one that would fail. Such an access ends the process and changes nothing.
///
/// # Safety
///
/// An implementor promises:
///
/// * Every word in `0..len()` stays accessible for the life of the medium, even if [`cut`](Self::cut) makes `len`
///   smaller later. Each access to it is atomic.
/// * The words that [`in_memory`](Self::in_memory) returns are the requested ones. They stay accessible at their
///   addresses as long as the medium is borrowed, and every access to them is atomic.
///
/// [`Span`](super::Span) and [`Region`](super::Region) rely on these promises.
pub unsafe trait Media: Send + Sync + 'static {
    /// How many bytes can be accessed now. The number grows, and shrinks only when the medium is being closed, by
    /// [`cut`](Self::cut).
    fn len(&self) -> u64;

    /// Whether the length is 0.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes at least `len` bytes accessible, or fails and changes nothing. New bytes are zero.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] where the medium or the file system below it has no space.
    fn grow(&self, len: u64) -> Result<()> {
        let have = self.len();
        match len.checked_sub(have).filter(|&need| need > 0) {
            None => Ok(()),
            Some(need) => Err(Error::full(need, 0, SpaceLimit::MaxSize)),
        }
    }

    /// Frees the bytes after the first `len`, where the medium can, and ends its growth. To be called last: all
    /// operations have ended, everything is durable, and no byte after the first `len` is needed. From then on a load
    /// of such a byte through an older [`Span`](super::Span) or [`Region`](super::Region) returns zero, and a store to
    /// it ends the process. The medium may stay longer than `len`, and after a crash may be as long as before.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::Io`] where the bytes could not be freed, which does no harm.
    fn cut(&self, len: u64) -> Result<()> {
        let _ = len;
        Ok(())
    }

    /// The `words` words from byte `at` on, for direct access, if they are in memory and no observer has to see each
    /// access. A direct store counts as a [`store`](Self::store): it has to be flushed.
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

    /// Replaces a word if it still has the value `old` (`AcqRel`), else returns the value found. An exchange is not a
    /// persist fence.
    ///
    /// # Safety
    ///
    /// As for [`load`](Self::load).
    #[track_caller]
    unsafe fn compare_exchange(&self, at: u64, old: u64, new: u64) -> Result<u64, u64>;

    /// Replaces two neighbouring words if they still are `old` (`AcqRel`), else returns the words found. Other threads
    /// see both words change or neither, but a crash may keep only one of the changes. Always fails where the processor
    /// [has no such instruction](crate::cpu::pair::has_pair_exchange).
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

    /// Starts the write-back of every line that `at..at + len` touches. It includes this thread's earlier stores to
    /// those lines, which are durable after the next [`fence`](Self::fence).
    ///
    /// # Safety
    ///
    /// `at + len <= self.len()`.
    #[track_caller]
    unsafe fn flush(&self, at: u64, len: u64);

    /// Writes one word by a non-temporal store where the processor has one, elsewhere by a store and a flush. The word
    /// is durable after the next [`fence`](Self::fence). Only fences order this store with others. So the caller issues
    /// one fence before it, which makes the data that the word refers to durable first, and one fence after it.
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

    /// Ends an operation: returns when this thread's earlier flushes are durable and its earlier stores are inside the
    /// persistence domain. On eADR this is the only fence of an operation: without it an acknowledged store might still
    /// be in the store buffer, which is lost at power loss.
    #[track_caller]
    fn drain(&self) {
        self.fence();
    }

    /// Whether a store is durable only after a flush. If a store is durable without a flush, readers need not flush for
    /// writers ([`help_flush`]).
    fn needs_flush(&self) -> bool;

    /// Whether a flush has any effect: it writes back, or notes for a checkpoint that the page has changed.
    fn hears_flushes(&self) -> bool {
        self.needs_flush()
    }

    /// Prefetches the lines of `at..at + len`. A hint, for which any offset and length is allowed.
    fn prefetch(&self, at: u64, len: u64) {
        let _ = (at, len);
    }

    /// Whether the pool may allocate one more chunk. A medium that tests exhaustion refuses the n-th one; all others
    /// return true.
    #[inline(always)]
    fn grant(&self) -> bool {
        true
    }

    /// Reports an event to an observing medium. Does nothing in production.
    #[track_caller]
    #[inline(always)]
    fn mark(&self, mark: Mark) {
        let _ = mark;
    }

    /// Whether the medium is a model, whose accesses take so long that the time of a fence does not matter. Both sides
    /// of a barrier then fence, and no system call interrupts other processors for the sake of the frequent side.
    fn is_modelled(&self) -> bool {
        false
    }

    /// Makes all stores so far durable on the disk, where the domain does not do so by itself (`msync` of a mapped
    /// file).
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; the pool is then poisoned, because a second attempt may report success although the kernel has
    /// dropped pages.
    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

/// Flushes lines that *another* thread wrote, for a reader whose result depends on them.
///
/// A flush is ordered only after earlier stores of the same thread. The full fence also orders it after the load that
/// saw the value.
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
