//! A block: the entries of one leaf, in the pool.
//!
//! | word | what | written |
//! | --- | --- | --- |
//! | 0 | `next`: the block that follows, or the first one that replaces this block; 2 tag bits | see [`Next`] |
//! | 1 | `low`: the smallest key that the block covers; a block of byte strings has its [fences](crate::tree::nbtree::keys::fences) in words 1 to 7, and no slots before word 8 | before the block is reachable |
//! | 2 + 2s | state and key of slot `s`: [`Word`] | by exchange |
//! | 3 + 2s | value of slot `s` | by the insert that claimed the slot, then by exchange of the pair |
//!
//! Entries are 16 bytes and the block starts at a cache line, so no entry straddles two lines: an insert writes to one
//! line of the block.
//!
//! [`Word`] has the states of a slot.

use std::marker::PhantomData;

use crate::media::{LINE, Media, Ordering, Span};
use crate::space::Guard;
use crate::{Error, Result};

use crate::tree::nbtree::blocks::claims::{Claims, line, lines, slots_of};
use crate::tree::nbtree::keys::form::{Header, KeyForm};
use crate::tree::nbtree::keys::key::{Hash, Local};
use crate::tree::nbtree::keys::word::Word;

const NEXT: usize = 0;
const ENTRIES: usize = 2;

/// The link to the next block of the chain.
///
/// `next` is the block with the following keys (0: none). Once `next` is FROZEN, it changes only once more: FORWARD
/// turns it into a link to the first of the blocks that replace this one. This step commits the split or merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Next(pub(crate) u64);

impl Next {
    const FROZEN: u64 = 1;
    const FORWARD: u64 = 2;

    pub(crate) fn forward(at: u64) -> Self {
        Self(at | Self::FROZEN | Self::FORWARD)
    }

    /// The block to which the link leads.
    pub(crate) fn at(self) -> u64 {
        self.0 & !(Self::FROZEN | Self::FORWARD)
    }

    pub(crate) fn is_frozen(self) -> bool {
        self.0 & Self::FROZEN != 0
    }

    pub(crate) fn is_forward(self) -> bool {
        self.0 & Self::FORWARD != 0
    }
}

/// The slots of a new block that have an entry, and their fingerprints, for the leaf of the block.
#[derive(Debug)]
pub(crate) struct Digest {
    pub(crate) claims: Claims,
    pub(crate) fingerprints: [u8; 64],
}

impl Digest {
    /// Claims one of `slots` slots for an entry, and records the fingerprint of the entry.
    #[inline(always)]
    fn enter(&mut self, hash: Hash, home: usize, slots: usize) -> Option<usize> {
        let (claims, slot) = self.claims.claim(home, slots)?;
        self.claims = claims;
        self.fingerprints[slot] = hash.fingerprint(line(slot) == home);
        Some(slot)
    }
}

/// A block of `W` words.
pub(crate) struct Block<'m, M, const W: usize, K> {
    words: Span<'m, M, W>,
    keys: PhantomData<K>,
}

impl<M, const W: usize, K> Clone for Block<'_, M, W, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, const W: usize, K> Copy for Block<'_, M, W, K> {}

impl<'m, M: Media, const W: usize, K: KeyForm> Block<'m, M, W, K> {
    /// The number of slots of a block. The first ones are not used if the header needs their place.
    pub(crate) const SLOTS: usize = {
        let slots = (W - ENTRIES) / 2;
        // Whole cache lines, so that a block starts at one.
        assert!(W >= 8 && W <= 128 && W.is_multiple_of(8));
        slots
    };
    /// The first slot that is used.
    pub(crate) const FIRST: usize = K::HEADER - 1;
    /// The number of entries of a full block.
    pub(crate) const CAPACITY: usize = Self::SLOTS - Self::FIRST;
    /// The slots that are used, one bit each.
    pub(crate) const ALL: u64 = ((1 << Self::SLOTS) - 1) >> Self::FIRST << Self::FIRST;
    /// The first line with slots.
    const FIRST_LINE: usize = line(Self::FIRST);
    /// Bytes of a block.
    pub(crate) const BYTES: u64 = 8 * W as u64;

    #[inline(always)]
    pub(crate) fn at(media: &'m M, at: u64) -> Result<Self> {
        Ok(Self { words: Span::new(media, at)?, keys: PhantomData })
    }

    /// As [`at`](Self::at), without the cost of an error value.
    #[inline(always)]
    pub(crate) fn within(media: &'m M, at: u64) -> Option<Self> {
        Span::within(media, at).map(|words| Self { words, keys: PhantomData })
    }

    pub(crate) fn offset(&self) -> u64 {
        self.words.offset()
    }

    pub(crate) fn corrupt(&self, what: &'static str) -> Error {
        Error::Corrupt { offset: self.offset(), what }
    }

    /// Writes a block that is not reachable yet; the caller fences. `header` is the first line, without `next`.
    #[track_caller]
    pub(crate) fn initialise(
        &self,
        header: &Header,
        next: u64,
        entries: &[(Local, u64)],
    ) -> Digest {
        let mut words = [0; W];
        words[..header.len()].copy_from_slice(header);
        words[NEXT] = next;
        let mut digest = Digest { claims: Claims::none::<K>(), fingerprints: [0; 64] };
        assert!(entries.len() <= Self::CAPACITY);
        for &(image, value) in entries {
            let hash = K::hash_of_entry(image, || value);
            let Some(slot) = digest.enter(hash, Self::home(hash), Self::SLOTS) else { break };
            (words[ENTRIES + 2 * slot], words[ENTRIES + 2 * slot + 1]) =
                (Word::live(image).0, value);
        }
        for (i, &word) in words.iter().enumerate() {
            // The stores are Relaxed: the fence before them (`before_reuse`, in the allocation) orders them, and so
            // does the caller's drain before the block is linked.
            self.words.store(i, word, Ordering::Relaxed);
        }
        self.words.flush(0, W);
        digest
    }

    /// The load is Acquire, as all loads in this file: it pairs with the exchange that stored the word.
    pub(crate) fn next(&self) -> Next {
        Next(self.words.load(NEXT, Ordering::Acquire))
    }

    #[track_caller]
    pub(crate) fn exchange_next(&self, old: Next, new: Next) -> bool {
        self.words.compare_exchange(NEXT, old.0, new.0).is_ok()
    }

    #[track_caller]
    pub(crate) fn freeze_next(&self) {
        loop {
            let next = self.next();
            if next.is_frozen() || self.exchange_next(next, Next(next.0 | Next::FROZEN)) {
                return;
            }
        }
    }

    #[track_caller]
    pub(crate) fn flush_next(&self) {
        self.words.flush(NEXT, 1);
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn word(&self, slot: usize) -> Word {
        Word(self.words.load(ENTRIES + 2 * slot, Ordering::Acquire))
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn value(&self, slot: usize) -> u64 {
        self.words.load(ENTRIES + 2 * slot + 1, Ordering::Acquire)
    }

    /// Stores the value of a slot that the caller has claimed, before the word of the slot announces the entry.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn set_value(&self, slot: usize, value: u64) {
        // Release: a cursor without a pin may still read this slot for the leaf that used the block before. If the
        // cursor reads this value, it also sees that the epoch has advanced.
        self.words.store(ENTRIES + 2 * slot + 1, value, Ordering::Release);
    }

    /// Replaces a word if it is `old` and not frozen; otherwise returns the word found.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn exchange(&self, slot: usize, old: Word, new: Word) -> Result<(), Word> {
        match self.words.compare_exchange(ENTRIES + 2 * slot, old.0, new.0) {
            Ok(_) => Ok(()),
            Err(found) => Err(Word(found)),
        }
    }

    /// Replaces word and value if both are as expected. The caller changes only one of the two.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn exchange_entry(&self, slot: usize, old: (Word, u64), new: (Word, u64)) -> bool {
        let pair = |(word, value): (Word, u64)| [word.0, value];
        self.words.compare_exchange_pair(ENTRIES + 2 * slot, pair(old), pair(new)).is_ok()
    }

    /// Freezes a slot: its word and value do not change any more.
    #[track_caller]
    pub(crate) fn freeze(&self, slot: usize) {
        let mut word = self.word(slot);
        while !word.is_frozen() {
            match self.exchange(slot, word, word.frozen()) {
                Ok(()) => return,
                Err(found) => word = found,
            }
        }
    }

    /// Starts the write-back of the line of a slot.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn flush_slot(&self, slot: usize) {
        self.words.flush(ENTRIES + 2 * slot, 2);
    }

    /// Makes a slot durable for a result that rests on it: another thread may have written it.
    #[track_caller]
    pub(crate) fn help_flush_slot(&self, slot: usize) {
        self.words.help_flush(ENTRIES + 2 * slot, 2);
    }

    /// Makes the whole block durable for a result that rests on it: other threads may have written to it.
    #[track_caller]
    pub(crate) fn help_flush(&self) {
        self.words.help_flush(0, W);
    }

    /// The home line of a key: its entry is inserted there if a slot is free.
    #[inline(always)]
    pub(crate) fn home(hash: Hash) -> usize {
        Self::FIRST_LINE + hash.home(lines(Self::SLOTS) - Self::FIRST_LINE)
    }

    /// The slots of a key's home line, one bit each.
    #[inline(always)]
    pub(crate) fn home_slots(hash: Hash) -> u64 {
        slots_of(Self::home(hash))
    }

    /// The fingerprint that the leaf keeps for an entry in `slot`.
    #[inline(always)]
    pub(crate) fn fingerprint(hash: Hash, slot: usize) -> u8 {
        hash.fingerprint(line(slot) == Self::home(hash))
    }

    /// Prefetches the home line of a key in a block that is probably at `at`.
    #[inline(always)]
    pub(crate) fn prefetch_home(media: &M, at: u64, hash: Hash) {
        media.prefetch(at + LINE * Self::home(hash) as u64, LINE);
    }

    /// The media of the block.
    pub(crate) fn media(&self) -> &'m M {
        self.words.media()
    }

    /// Prefetches the first line of a block.
    pub(crate) fn prefetch_header(media: &M, at: u64) {
        media.prefetch(at, LINE);
    }

    /// Prefetches the whole block that is probably at `at`.
    pub(crate) fn prefetch(media: &M, at: u64) {
        media.prefetch(at, Self::BYTES);
    }

    /// Marks a block as in use, with the chunk beside it.
    pub(crate) fn keep(guard: &Guard<'_, M>, at: u64) -> Result<()> {
        guard.keep(at, Self::BYTES);
        if let Some((at, bytes)) = K::beside(guard.media(), at)? {
            guard.keep(at, bytes);
        }
        Ok(())
    }

    /// Retires a block to which nothing durable leads any more, with the chunk beside it.
    pub(crate) fn retire(guard: &Guard<'_, M>, at: u64) -> Result<()> {
        let beside = K::beside(guard.media(), at)?;
        guard.retire(at, Self::BYTES);
        if let Some((at, bytes)) = beside {
            guard.retire(at, bytes);
        }
        Ok(())
    }

    /// Prefetches the line of a slot.
    #[inline(always)]
    pub(crate) fn prefetch_slot(&self, slot: usize) {
        self.words.media().prefetch(self.offset() + LINE * line(slot) as u64, LINE);
    }
}
