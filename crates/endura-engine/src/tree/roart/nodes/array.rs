//! A leaf array: records whose keys share the bytes up to the one on which the parent branches. The array stores none
//! of the bytes that its keys share, so that it can move up in the tree unchanged.
//!
//! | byte | |
//! | --- | --- |
//! | 0 | lock, version, number of records ([`lock`](crate::tree::roart::nodes::lock)), volatile |
//! | 8 | what this is: magic, kind; immutable |
//! | 16 | for each slot a byte of its fingerprint, volatile |
//! | 16 + n | the slots in the order of their keys ([`order`](crate::tree::roart::nodes::order)), volatile |
//! | 16 + 2 n | n slots: offset of the record, fingerprint |

use crate::media::{LINE, Media, Ordering, Region};
use crate::space::Guard;
use crate::{Error, Result};

use crate::tree::records::fingerprint::Fingerprint;
use crate::tree::records::record::Record;
use crate::tree::roart::nodes::lock::{LOCK, LockWord};
use crate::tree::roart::nodes::word::{ArrayKind, Slot};

const META: usize = 1;
pub(crate) const FINGERPRINTS: usize = 2;

const MAGIC: u64 = 0xA47A << 48;

fn meta(kind: ArrayKind) -> u64 {
    MAGIC | kind.code() << 32
}

/// A leaf array.
pub(crate) struct Array<'m, M> {
    words: Region<'m, M>,
    kind: ArrayKind,
}

impl<M> Clone for Array<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Array<'_, M> {}

/// The number of words before the slots.
fn head(kind: ArrayKind) -> usize {
    FINGERPRINTS + kind.capacity() / 4
}

fn words_of(kind: ArrayKind) -> usize {
    head(kind) + kind.capacity()
}

/// A word in which the top bit is set of each byte of `word` that is equal to `byte`, and sometimes also of the byte
/// after such a byte.
fn matches(word: u64, byte: u8) -> u64 {
    const ONES: u64 = u64::MAX / 0xFF;
    let difference = word ^ (ONES * u64::from(byte));
    difference.wrapping_sub(ONES) & !difference & ONES << 7
}

impl<'m, M: Media> Array<'m, M> {
    /// Bytes of the chunk: whole cache lines.
    pub(crate) fn bytes_of(kind: ArrayKind) -> u64 {
        (8 * words_of(kind) as u64).next_multiple_of(LINE)
    }

    /// The array of this kind at `at`.
    #[inline]
    pub(crate) fn enter(media: &'m M, at: u64, kind: ArrayKind) -> Result<Self> {
        let words = Region::new(media, at, words_of(kind))?;
        // Relaxed: the word that led here was loaded with Acquire, and this one never changes.
        if words.load(META, Ordering::Relaxed) == meta(kind) {
            Ok(Self { words, kind })
        } else {
            Err(Error::Corrupt { offset: at, what: "not a leaf array of the expected size" })
        }
    }

    #[inline]
    pub(crate) fn at(&self) -> u64 {
        self.words.offset()
    }

    #[inline]
    pub(crate) fn words(&self) -> Region<'m, M> {
        self.words
    }

    pub(crate) fn kind(&self) -> ArrayKind {
        self.kind
    }

    #[cold]
    pub(crate) fn corrupt(self, what: &'static str) -> Error {
        Error::Corrupt { offset: self.at(), what }
    }

    #[inline]
    #[track_caller]
    pub(crate) fn version(&self) -> LockWord {
        LockWord::read(&self.words)
    }

    /// The index of the word of slot `i`.
    #[inline]
    pub(crate) fn place(&self, i: usize) -> usize {
        head(self.kind) + i
    }

    /// Slot `i`, durable or not: for walks that return no result from it, or that validate the version afterwards.
    pub(crate) fn peek(&self, i: usize) -> Slot {
        // Acquire, as in `load`.
        Slot(self.words.load(self.place(i), Ordering::Acquire))
    }

    /// The offset of the record of `key`, durable or not: for walks that validate what they have noted.
    pub(crate) fn peek_for(&self, key: &[u8], fingerprint: Fingerprint) -> Result<Option<u64>> {
        for i in 0..self.kind.capacity() {
            let slot = self.peek(i);
            if slot.fingerprint() == fingerprint
                && !slot.is_empty()
                && Record::enter(self.words.media(), slot.at())?.is_of(key)
            {
                return Ok(Some(slot.at()));
            }
        }
        Ok(None)
    }

    /// Slot `i`, made durable if necessary.
    #[inline]
    #[track_caller]
    pub(crate) fn load(&self, i: usize) -> Slot {
        // Acquire: pairs with the Release of `publish`, so that the whole record is visible.
        let slot = Slot(self.words.load(self.place(i), Ordering::Acquire));
        if slot.is_dirty() {
            self.words.help_flush(self.place(i), 1);
        }
        slot
    }

    /// The record of `key`, and its slot.
    #[track_caller]
    pub(crate) fn find(
        self,
        key: &[u8],
        fingerprint: Fingerprint,
        generation: u64,
    ) -> Result<Option<(usize, Record<'m, M>)>> {
        self.find_by(fingerprint, generation, |i, at| {
            Ok(Record::find(self.words.media(), at, key)?.map(|record| (i, record)))
        })
    }

    /// Calls `look` with the slot and the offset of each record with this fingerprint, until it returns a result.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn find_by<F>(
        self,
        fingerprint: Fingerprint,
        generation: u64,
        mut look: impl FnMut(usize, u64) -> Result<Option<F>>,
    ) -> Result<Option<F>> {
        let capacity = self.kind.capacity();
        if !self.version().is_ready(generation) {
            return self.find_in_all(fingerprint, look);
        }
        for group in 0..capacity.div_ceil(8) {
            let word = self.words.load(FINGERPRINTS + group, Ordering::Acquire);
            let mut hits = matches(word, fingerprint.0 as u8);
            while hits != 0 {
                let i = 8 * group + hits.trailing_zeros() as usize / 8;
                // In an array of 4, the upper half of the word has the order instead of fingerprints.
                if i < capacity
                    && let Some(at) = self.record_at(i, fingerprint)
                    && let Some(found) = look(i, at)?
                {
                    return Ok(Some(found));
                }
                hits &= hits - 1;
            }
        }
        Ok(None)
    }

    /// Prefetches all lines of an array that is not yet entered.
    pub(crate) fn prefetch_all(media: &M, at: u64, kind: ArrayKind) {
        media.prefetch(at, Self::bytes_of(kind));
    }

    /// Whether a search prefetches all lines of an array of this kind, so that the slots arrive with the fingerprints.
    /// A larger array has 16 lines or more, of which a search needs three.
    #[inline]
    pub(crate) fn is_prefetched_whole(kind: ArrayKind) -> bool {
        kind.capacity() <= 64
    }

    /// Prefetches the lines that a search reads first.
    #[inline]
    pub(crate) fn prefetch_for_search(media: &M, at: u64, kind: ArrayKind) {
        if Self::is_prefetched_whole(kind) {
            Self::prefetch_all(media, at, kind);
        } else {
            Self::prefetch_head(media, at, kind);
        }
    }

    /// Prefetches the lines that a search reads first; the slots follow if a fingerprint matches.
    fn prefetch_head(media: &M, at: u64, kind: ArrayKind) {
        media.prefetch(at, 8 * head(kind) as u64);
    }

    /// Prefetches the slots whose fingerprints match, or, with `RECORDS`, the records to which these lead. A hint: no
    /// result rests on it.
    pub(crate) fn prefetch_hits<const RECORDS: bool>(&self, fingerprint: Fingerprint) {
        for first in (0..self.kind.capacity()).step_by(8) {
            let word = self.words.load(FINGERPRINTS + first / 8, Ordering::Relaxed);
            let mut hits = matches(word, fingerprint.0 as u8);
            while hits != 0 {
                let i = first + hits.trailing_zeros() as usize / 8;
                hits &= hits - 1;
                if i >= self.kind.capacity() {
                    break;
                }
                let place = self.place(i);
                if RECORDS {
                    let slot = Slot(self.words.load(place, Ordering::Relaxed));
                    Record::prefetch(self.words.media(), slot.at());
                } else {
                    self.words.media().prefetch(self.at() + 8 * place as u64, 8);
                }
            }
        }
    }

    #[inline(never)]
    #[track_caller]
    fn find_in_all<F>(
        self,
        fingerprint: Fingerprint,
        mut look: impl FnMut(usize, u64) -> Result<Option<F>>,
    ) -> Result<Option<F>> {
        for i in 0..self.kind.capacity() {
            if let Some(at) = self.record_at(i, fingerprint)
                && let Some(found) = look(i, at)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The offset of the record in slot `i`, if it has this fingerprint.
    #[inline(always)]
    #[track_caller]
    fn record_at(self, i: usize, fingerprint: Fingerprint) -> Option<u64> {
        let slot = Slot(self.words.load(self.place(i), Ordering::Acquire));
        if slot.fingerprint() != fingerprint {
            return None;
        }
        if slot.is_dirty() {
            // This includes an empty slot, because the result may be that the key is absent.
            self.words.help_flush(self.place(i), 1);
        }
        (!slot.is_empty()).then(|| slot.at())
    }

    /// The number of an empty slot, searched for from slot `from` on. For the holder of the lock.
    pub(crate) fn vacancy(&self, from: usize) -> Option<usize> {
        let capacity = self.kind.capacity();
        let is_empty =
            |&i: &usize| Slot(self.words.load(self.place(i), Ordering::Relaxed)).is_empty();
        (0..capacity).map(|i| (from + i) % capacity).find(is_empty)
    }

    /// Stores the fingerprint that slot `i` will have, and returns the index of the word that holds it. Called before
    /// the slot itself is stored, for the reason given at [`Node::note`](crate::tree::roart::nodes::node::Node::note).
    pub(crate) fn note(&self, i: usize, fingerprint: Fingerprint) -> usize {
        let word = FINGERPRINTS + i / 8;
        let mut bytes = self.words.load(word, Ordering::Relaxed).to_le_bytes();
        bytes[i % 8] = fingerprint.0 as u8;
        // Relaxed: this store is ordered by the Release of the slot, or by that of the unlock after the fingerprints
        // were rebuilt.
        self.words.store(word, u64::from_le_bytes(bytes), Ordering::Relaxed);
        word
    }

    /// All slots that are occupied. For the holder of the lock.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        let slots =
            (0..self.kind.capacity()).map(|i| self.words.load(self.place(i), Ordering::Relaxed));
        slots.map(Slot).filter(|slot| !slot.is_empty()).collect()
    }

    /// Rebuilds the fingerprints. For the holder of the lock, before any thread uses them.
    pub(crate) fn rebuild_fingerprints(&self) {
        for i in 0..self.kind.capacity() {
            let slot = Slot(self.words.load(self.place(i), Ordering::Relaxed));
            self.note(i, slot.fingerprint());
        }
    }

    /// Writes an array that is not reachable yet, and starts the write-back.
    pub(crate) fn create(
        guard: &Guard<'m, M>,
        at: u64,
        kind: ArrayKind,
        slots: &[Slot],
    ) -> Result<Self> {
        let words = Region::new(guard.media(), at, words_of(kind))?;
        let array = Self { words, kind };
        // All relaxed: nothing leads here before the fence and the Release store in `publish`.
        words.store(LOCK, LockWord::created(guard, at, slots.len()), Ordering::Relaxed);
        words.store(META, meta(kind), Ordering::Relaxed);
        let byte = |i: usize| slots.get(i).map_or(0, |slot| slot.fingerprint().0 as u8);
        for word in FINGERPRINTS..head(kind) {
            let first = 8 * (word - FINGERPRINTS);
            let value = (first..first + 8).rev().fold(0, |sum, i| sum << 8 | u64::from(byte(i)));
            words.store(word, value, Ordering::Relaxed);
        }
        for i in 0..kind.capacity() {
            words.store(array.place(i), slots.get(i).map_or(0, |slot| slot.0), Ordering::Relaxed);
        }
        words.flush(0, words_of(kind));
        Ok(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_matching_byte_is_overlooked() {
        for byte in [0, 1, 0x7F, 0x80, 0xFF] {
            for i in 0..8 {
                for other in [0_u64, u64::MAX, 0x0102_0304_0506_0708] {
                    let word = other & !(0xFF << (8 * i)) | u64::from(byte) << (8 * i);
                    assert_ne!(matches(word, byte) & 0x80 << (8 * i), 0, "{word:x} {byte:x}");
                }
            }
        }
        assert_eq!(matches(0x0102_0304_0506_0708, 9), 0);
    }
}
