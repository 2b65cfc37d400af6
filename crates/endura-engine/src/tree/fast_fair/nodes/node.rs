//! A node: one header line, and lines of four records. No record straddles two lines.
//!
//! | byte | word | |
//! | --- | --- | --- |
//! | 0 | lock and version | volatile meaning ([`version`](crate::tree::fast_fair::nodes::lock_word)) |
//! | 8 | `low`, inclusive lower fence | immutable |
//! | 16 | `high`, exclusive upper fence, 0 = 2^64 | changes at split and merge |
//! | 24 | `sib`: offset of the right sibling, tag in bits 48.. | changes at split and merge |
//! | 32 | what this is: magic, words, level | immutable |
//! | 40 | hint: how many slots are live | volatile, checked before use |
//! | 48 | `fwd`: where readers of an obsolete node go | volatile |
//! | 64.. | records: key, value (in an inner node the child's offset) | |
//!
//! A slot is **live** iff its key is in `low..high` and differs from the key to its right. Keys of a node are unique,
//! so equal neighbours mean an entry that is being moved, and the right copy counts. Values may be any word, and no key
//! is reserved.

use crate::media::{LINE, Media, Ordering, Span};
use crate::{Error, Result};

use crate::tree::fast_fair::nodes::header::{Fences, Init, Sibling, Tag};
use crate::tree::fast_fair::nodes::lock_word::{LOCK, LockWord};

const LOW: usize = 1;
pub(crate) const HIGH: usize = 2;
pub(crate) const SIB: usize = 3;
pub(crate) const META: usize = 4;
pub(crate) const HINT: usize = 5;
pub(crate) const FWD: usize = 6;
pub(crate) const RECORDS: usize = 8;
/// Records in a line.
pub(crate) const PER_LINE: usize = 4;
const MAGIC: u64 = 0xFA57_FA18 << 32;
/// The bits of the sibling word that are its offset.
pub(crate) const OFFSET: u64 = (1 << 48) - 1;

/// The fifth word of a node: its magic, size and level.
fn meta(words: usize, level: u64) -> u64 {
    MAGIC | (words as u64) << 8 | level
}

/// The header alone, for callers to which the size of the node does not matter.
pub(crate) type Header<'m, M> = Node<'m, M, 8>;

/// A node of `W` words.
pub(crate) struct Node<'m, M, const W: usize> {
    words: Span<'m, M, W>,
}

impl<M, const W: usize> Clone for Node<'_, M, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, const W: usize> Copy for Node<'_, M, W> {}

impl<'m, M: Media, const W: usize> Node<'m, M, W> {
    /// The number of records in a node.
    pub(crate) const CAP: usize = (W - RECORDS) / 2;
    /// Bytes of the chunk: whole lines.
    pub(crate) const BYTES: u64 = (8 * W as u64).next_multiple_of(LINE);

    /// The node at `at`, which must have this `level`.
    #[inline(always)]
    pub(crate) fn enter(media: &'m M, at: u64, level: u64) -> Result<Self> {
        let words = Span::new(media, at)?;
        if words.load(META, Ordering::Relaxed) == meta(W, level) {
            Ok(Self { words })
        } else {
            Err(not_a_node(at))
        }
    }

    /// The node at `at`, if its fifth word is `meta`: for nodes with another layout of what follows the header.
    #[inline(always)]
    pub(crate) fn enter_as(media: &'m M, at: u64, meta: u64) -> Result<Self> {
        let words = Span::new(media, at)?;
        match words.load(META, Ordering::Relaxed) == meta {
            true => Ok(Self { words }),
            false => Err(not_a_node(at)),
        }
    }

    /// A chunk that is about to become a node.
    pub(crate) fn fresh(media: &'m M, at: u64) -> Result<Self> {
        Ok(Self { words: Span::new(media, at)? })
    }

    /// The chunk at `at`, which was a node when the caller last had a pin.
    #[inline(always)]
    pub(crate) fn again(media: &'m M, at: u64) -> Option<Self> {
        Some(Self { words: Span::within(media, at)? })
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> &Span<'m, M, W> {
        &self.words
    }

    #[inline(always)]
    pub(crate) fn at(&self) -> u64 {
        self.words.offset()
    }

    /// Loads a word with Acquire. This pairs with the Release of [`store`](Self::store), so that a later load, in
    /// particular that of the version, is not older than this one.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn load(&self, word: usize) -> u64 {
        self.words.load(word, Ordering::Acquire)
    }

    /// Loads a word with Relaxed: for the holder of the lock, and for a look that [`LockWord::is_confirmed`] ends.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn peek(&self, word: usize) -> u64 {
        self.words.load(word, Ordering::Relaxed)
    }

    /// The word that is `words` words after the first key.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn peek_record(&self, words: usize) -> u64 {
        self.peek(RECORDS + words)
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn peek_key(&self, slot: usize) -> u64 {
        self.peek(RECORDS + 2 * slot)
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn peek_value(&self, slot: usize) -> u64 {
        self.peek(RECORDS + 2 * slot + 1)
    }

    /// The record whose key is `words` words after the first key, if there is one.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn peek_entry(&self, words: usize) -> Option<(u64, u64)> {
        (words < 2 * Self::CAP - 1)
            .then(|| (self.peek(RECORDS + words), self.peek(RECORDS + words + 1)))
    }

    /// The fences, as [`peek`](Self::peek) reads them.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn peek_fences(&self) -> Fences {
        Fences { low: self.peek(LOW), high: self.peek(HIGH) }
    }

    /// Stores a word with Release: such stores become visible, and durable within a line, in program order.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn store(&self, word: usize, value: u64) {
        self.words.store(word, value, Ordering::Release);
    }

    /// Stores a word with SeqCst. On x86-64 this is an exchange, while a Release store is a plain store.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn store_in_order(&self, word: usize, value: u64) {
        self.words.store(word, value, Ordering::SeqCst);
    }

    /// Stores a word with Relaxed: for words that readers ignore until a later `Release` store.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn write(&self, word: usize, value: u64) {
        self.words.store(word, value, Ordering::Relaxed);
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn version(&self) -> LockWord {
        LockWord::read(&self.words)
    }

    /// Ends a look at a leaf that was quiet when the lock word was `version`. Returns whether the leaf was quiet and
    /// unchanged until now.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn is_still(&self, version: LockWord) -> bool {
        version.is_unchanged(&self.words)
    }

    /// Ends a look that began when the lock word was `version`. Returns whether the result of the look counts.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn confirms(&self, version: LockWord) -> bool {
        version.is_confirmed(&self.words)
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn low(&self) -> u64 {
        self.load(LOW)
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn high(&self) -> u64 {
        self.load(HIGH)
    }

    #[track_caller]
    pub(crate) fn set_high(&self, high: u64) {
        self.store(HIGH, high);
    }

    #[track_caller]
    #[inline]
    pub(crate) fn sibling(&self) -> Result<Sibling> {
        let word = self.load(SIB);
        let tag = match word >> 48 {
            0 => Tag::Normal,
            1 => Tag::Splitting,
            2 => Tag::Merging,
            _ => return Err(self.corrupt("an unknown sibling tag")),
        };
        Ok(Sibling { at: word & OFFSET, tag })
    }

    #[track_caller]
    pub(crate) fn set_sibling(&self, sibling: Sibling) {
        self.store(SIB, sibling.word());
    }

    #[track_caller]
    pub(crate) fn write_sibling(&self, sibling: Sibling) {
        self.write(SIB, sibling.word());
    }

    #[track_caller]
    pub(crate) fn hint(&self) -> usize {
        self.load(HINT) as usize
    }

    #[track_caller]
    pub(crate) fn set_hint(&self, count: usize) {
        self.write(HINT, count as u64);
    }

    #[track_caller]
    pub(crate) fn level(&self) -> u64 {
        self.words.load(META, Ordering::Relaxed) & 0xFF
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn key(&self, slot: usize) -> u64 {
        self.load(RECORDS + 2 * slot)
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn value(&self, slot: usize) -> u64 {
        self.load(RECORDS + 2 * slot + 1)
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn set_key(&self, slot: usize, key: u64) {
        self.store(RECORDS + 2 * slot, key);
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn set_value(&self, slot: usize, value: u64) {
        self.store(RECORDS + 2 * slot + 1, value);
    }

    /// Writes a slot that is not live yet.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn write_record(&self, slot: usize, (key, value): (u64, u64)) {
        self.write(RECORDS + 2 * slot + 1, value);
        self.write(RECORDS + 2 * slot, key);
    }

    /// The key of `slot`, or of the imaginary dead slot after the last one.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn key_or_dead(&self, slot: usize, dead: u64) -> u64 {
        if slot < Self::CAP { self.key(slot) } else { dead }
    }

    /// Starts the write-back of the header line.
    #[track_caller]
    pub(crate) fn flush_header(&self) {
        self.words.flush(0, RECORDS.min(W));
    }

    /// Starts the write-back of the line that holds `slot`.
    #[track_caller]
    #[inline]
    pub(crate) fn flush_slot(&self, slot: usize) {
        self.words.flush(RECORDS + 2 * slot, 2);
    }

    /// Starts the write-back of the lines that hold the slots `from..to`.
    #[track_caller]
    pub(crate) fn flush_slots(&self, from: usize, to: usize) {
        if from < to {
            self.words.flush(RECORDS + 2 * from, 2 * (to - from));
        }
    }

    /// Starts the write-back of the whole node.
    #[track_caller]
    pub(crate) fn flush(&self) {
        self.words.flush(0, W);
    }

    /// Makes the header durable for a reader that follows its sibling pointer.
    #[track_caller]
    pub(crate) fn help_flush_header(&self) {
        self.words.help_flush(0, RECORDS.min(W));
    }

    /// Makes the slots around `slot`, and the header, durable for a reader whose result rests on them.
    #[track_caller]
    pub(crate) fn help_flush_around(&self, slot: usize) {
        let (from, to) = (slot.saturating_sub(1), (slot + 2).min(Self::CAP));
        self.words.help_flush(RECORDS + 2 * from, 2 * (to - from));
        self.help_flush_header();
    }

    /// Makes the whole node durable for a reader that copied it.
    #[track_caller]
    pub(crate) fn help_flush(&self) {
        self.words.help_flush(0, W);
    }

    /// The fences of this node at this moment.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn fences(&self) -> Fences {
        Fences { low: self.low(), high: self.high() }
    }

    /// Writes a node that no other thread knows: its header, and the dead tail after its `count` records.
    ///
    /// The stores are Relaxed, and so are those that write the records: the store that links the node is `Release`,
    /// after a fence.
    pub(crate) fn initialise(&self, init: Init, count: usize) {
        for (word, value) in [
            (LOCK, init.lock),
            (LOW, init.fences.low),
            (HIGH, init.fences.high),
            (SIB, Sibling::normal(init.sibling).word()),
            (META, meta(W, init.level)),
            (HINT, count as u64),
            (FWD, 0),
        ] {
            self.write(word, value);
        }
        self.kill_from(count, init.fences.dead());
    }

    /// Overwrites the keys of slots that are not live yet, from `from` on, with the key `dead`.
    #[track_caller]
    pub(crate) fn kill_from(&self, from: usize, dead: u64) {
        for slot in from..Self::CAP {
            self.write(RECORDS + 2 * slot, dead);
        }
    }

    #[cold]
    pub(crate) fn corrupt(&self, what: &'static str) -> Error {
        Error::Corrupt { offset: self.at(), what }
    }
}

#[cold]
fn not_a_node(offset: u64) -> Error {
    Error::Corrupt { offset, what: "not a FAST&FAIR node of the expected level" }
}
