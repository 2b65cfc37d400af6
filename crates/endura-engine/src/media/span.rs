//! Checked views of a medium: the range is verified once, and every later access is in bounds.

use std::sync::atomic::{AtomicU64, Ordering};

use super::medium::{Media, help_flush};
use crate::cpu::copy::{append_out, by_words, copy_out};
use crate::cpu::flush::LINE;
use crate::{Error, Result};

#[cold]
fn outside(offset: u64) -> Error {
    Error::Corrupt { offset, what: "an offset that is not inside the pool" }
}

/// `N` words of a medium, starting at a line. Range and alignment are checked when the span is made. A later access
/// needs no check of the medium.
///
/// A `Span` may cover any bytes of the pool, also damaged ones: words are plain numbers, and the code that reads them
/// checks their meaning.
pub struct Span<'m, M, const N: usize> {
    media: &'m M,
    at: u64,
}

impl<M, const N: usize> Clone for Span<'_, M, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, const N: usize> Copy for Span<'_, M, N> {}

impl<'m, M: Media, const N: usize> Span<'m, M, N> {
    /// Bytes covered.
    pub const BYTES: u64 = 8 * N as u64;

    /// The `N` words from byte `at` on.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if `at` is not a multiple of 64 or not all words are inside the medium.
    #[inline(always)]
    pub fn new(media: &'m M, at: u64) -> Result<Self> {
        Self::within(media, at).ok_or_else(|| outside(at))
    }

    /// Like [`new`](Self::new), but returns `None` instead of making an error.
    #[inline(always)]
    pub(crate) fn within(media: &'m M, at: u64) -> Option<Self> {
        let in_range = at.checked_add(Self::BYTES).is_some_and(|end| end <= media.len());
        (at.is_multiple_of(LINE) && in_range).then_some(Self { media, at })
    }

    /// The medium.
    #[inline(always)]
    pub fn media(&self) -> &'m M {
        self.media
    }

    /// Where the span starts, in bytes from the start of the medium.
    #[inline(always)]
    pub fn offset(&self) -> u64 {
        self.at
    }

    #[inline(always)]
    fn word(&self, i: usize) -> u64 {
        assert!(i < N);
        self.at + 8 * i as u64
    }

    /// Reads word `i`.
    #[inline(always)]
    #[track_caller]
    pub fn load(&self, i: usize, order: Ordering) -> u64 {
        // SAFETY: `word` is inside the N aligned words that `within` checked, and a medium keeps such words accessible,
        // also after a `cut`.
        unsafe { self.media.load(self.word(i), order) }
    }

    /// Writes word `i`.
    #[inline(always)]
    #[track_caller]
    pub fn store(&self, i: usize, value: u64, order: Ordering) {
        // SAFETY: as in `load`.
        unsafe { self.media.store(self.word(i), value, order) }
    }

    /// Replaces word `i` if it still is `old`, else returns the value found.
    #[inline(always)]
    #[track_caller]
    pub fn compare_exchange(&self, i: usize, old: u64, new: u64) -> Result<u64, u64> {
        // SAFETY: as in `load`.
        unsafe { self.media.compare_exchange(self.word(i), old, new) }
    }

    /// Replaces words `i` and `i + 1` if they still are `old`, else returns the words found. `i` must
    /// be even.
    #[inline(always)]
    #[track_caller]
    pub fn compare_exchange_pair(
        &self,
        i: usize,
        old: [u64; 2],
        new: [u64; 2],
    ) -> Result<(), [u64; 2]> {
        assert!(i.is_multiple_of(2) && i + 1 < N);
        // SAFETY: both words are inside those that `within` checked; word 0 is at a line, so an even one is at a
        // multiple of 16.
        unsafe { self.media.compare_exchange_pair(self.word(i), old, new) }
    }

    /// Starts the write-back of the lines that hold words `from..from + count`.
    #[inline(always)]
    #[track_caller]
    pub fn flush(&self, from: usize, count: usize) {
        assert!(from <= N && count <= N - from);
        // SAFETY: the assertion keeps the words inside the checked range.
        unsafe { self.media.flush(self.at + 8 * from as u64, 8 * count as u64) }
    }

    /// Makes words `from..from + count`, stored by another thread, durable before returning.
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub fn help_flush(&self, from: usize, count: usize) {
        assert!(from <= N && count <= N - from);
        // SAFETY: the assertion keeps the words inside the checked range.
        unsafe { help_flush(self.media, self.at + 8 * from as u64, 8 * count as u64) }
    }
}

/// Whether the medium has `words` words from byte `at` on.
#[inline(always)]
fn is_inside<M: Media>(media: &M, at: u64, words: usize) -> bool {
    let end = (words as u64).checked_mul(8).and_then(|bytes| at.checked_add(bytes));
    end.is_some_and(|end| end <= media.len())
}

/// A run of words whose number is known only at run time: names, bitmaps, records.
pub struct Region<'m, M> {
    media: &'m M,
    at: u64,
    words: usize,
}

impl<M> Clone for Region<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Region<'_, M> {}

impl<'m, M: Media> Region<'m, M> {
    /// The `words` words from byte `at` on.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if `at` is not a multiple of 8 or not all words are inside the medium.
    #[inline]
    pub fn new(media: &'m M, at: u64, words: usize) -> Result<Self> {
        Self::within(media, at, words).ok_or_else(|| outside(at))
    }

    /// Like [`new`](Self::new), but returns `None` instead of making an error.
    #[inline(always)]
    pub(crate) fn within(media: &'m M, at: u64, words: usize) -> Option<Self> {
        (at.is_multiple_of(8) && is_inside(media, at, words)).then_some(Self { media, at, words })
    }

    #[inline(always)]
    fn word(&self, i: usize) -> u64 {
        assert!(i < self.words);
        self.at + 8 * i as u64
    }

    /// The medium.
    #[inline(always)]
    pub fn media(&self) -> &'m M {
        self.media
    }

    /// How many words the region has.
    #[inline(always)]
    pub fn words(&self) -> usize {
        self.words
    }

    /// Where the region starts, in bytes from the start of the medium.
    #[inline(always)]
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// Reads word `i`.
    #[inline(always)]
    #[track_caller]
    pub fn load(&self, i: usize, order: Ordering) -> u64 {
        // SAFETY: `word` is inside the aligned words that were checked when the region was made, and a medium keeps
        // such words accessible, also after a `cut`.
        unsafe { self.media.load(self.word(i), order) }
    }

    /// Writes word `i`.
    #[inline(always)]
    #[track_caller]
    pub fn store(&self, i: usize, value: u64, order: Ordering) {
        // SAFETY: as in `load`.
        unsafe { self.media.store(self.word(i), value, order) }
    }

    /// Writes word `i` by a non-temporal store: [`Media::stream`].
    #[inline(always)]
    #[track_caller]
    pub fn stream(&self, i: usize, value: u64) {
        // SAFETY: as in `load`.
        unsafe { self.media.stream(self.word(i), value) }
    }

    /// Replaces word `i` if it still is `old`, else returns the value found.
    #[inline(always)]
    #[track_caller]
    pub fn compare_exchange(&self, i: usize, old: u64, new: u64) -> Result<u64, u64> {
        // SAFETY: as in `load`.
        unsafe { self.media.compare_exchange(self.word(i), old, new) }
    }

    /// Starts the write-back of the lines that hold words `from..from + count`.
    #[inline(always)]
    #[track_caller]
    pub fn flush(&self, from: usize, count: usize) {
        assert!(from <= self.words && count <= self.words - from);
        // SAFETY: the assertion keeps the words inside the checked range.
        unsafe { self.media.flush(self.at + 8 * from as u64, 8 * count as u64) }
    }

    /// Makes words `from..from + count`, stored by another thread, durable before returning.
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub fn help_flush(self, from: usize, count: usize) {
        assert!(from <= self.words && count <= self.words - from);
        // SAFETY: the assertion keeps the words inside the checked range.
        unsafe { help_flush(self.media, self.at + 8 * from as u64, 8 * count as u64) }
    }

    /// Fills `out` with the bytes from byte `from` of the region on. If they change meanwhile, the copy mixes old and
    /// new bytes.
    ///
    /// # Panics
    ///
    /// If the region has fewer than `from + out.len()` bytes.
    #[track_caller]
    pub fn read(&self, from: usize, out: &mut [u8]) {
        // Relaxed: the load of the word that referred to these bytes synchronized with the writer.
        match self.in_memory() {
            Some(words) => copy_out(words, from, out),
            None => by_words(|word| self.load(word, Ordering::Relaxed), from, out),
        }
    }

    /// Appends the `len` bytes from byte `from` of the region on to `out`, as [`read`](Self::read) copies them.
    ///
    /// # Panics
    ///
    /// If the region has fewer than `from + len` bytes.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn append_to(&self, from: usize, len: usize, out: &mut Vec<u8>) {
        match self.in_memory() {
            Some(words) => append_out(words, from, len, out),
            None => {
                let start = out.len();
                out.resize(start + len, 0);
                self.read(from, &mut out[start..]);
            }
        }
    }

    /// The words for direct access, if they are in memory: for loads or stores of many words without a call for each.
    #[inline(always)]
    pub(crate) fn in_memory(&self) -> Option<&'m [AtomicU64]> {
        // SAFETY: the range was checked when the region was made, and a medium keeps such words accessible, also after
        // a `cut`.
        unsafe { self.media.in_memory(self.at, self.words) }
    }
}
