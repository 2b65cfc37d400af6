//! A block: the entries of one leaf, in the pool.
//!
//! | word | what | written |
//! | --- | --- | --- |
//! | 0 | `next`: the block that follows, or the first one that replaces this block; 2 tag bits | see [`Next`] |
//! | 1 | `low`: the smallest key that the block covers | before the block is reachable |
//! | 2 + 2s | state and key of slot `s`: [`Word`] | by exchange |
//! | 3 + 2s | value of slot `s` | by the insert that claimed the slot, then by exchange of the pair |
//!
//! Entries are 16 bytes and the block starts at a cache line, so no entry straddles two lines: an insert writes to one
//! line of the block.
//!
//! # The states of a slot
//!
//! | state | bits 62 and 61..0 | what it is | becomes |
//! | --- | --- | --- | --- |
//! | EMPTY | 0, 0 | never used | PENDING |
//! | PENDING | 1, key + 1 | an insert that is not decided | LIVE or KILLED |
//! | LIVE | 0, key + 1 | an entry | DEAD |
//! | DEAD | 0, all ones | an entry that was removed | |
//! | KILLED | 1, all ones | an insert that did not become an entry: it lost against another of the same key, a pop came first, or there was no space | |
//!
//! Bit 63 is FROZEN: the slot does not change any more. A slot never returns to an earlier state, so that a word that
//! compares equal has not changed in between. The key is the local part, without the partition, at most 2^61 - 1: no
//! key and no value is reserved.

use crate::media::{LINE, Media, Ordering, Span};
use crate::{Error, Result};

use crate::tree::nbtree::blocks::claims::{Claims, line, lines, slots_of};
use crate::tree::nbtree::blocks::key::{Hash, Local};

const NEXT: usize = 0;
const LOW: usize = 1;
const ENTRIES: usize = 2;

/// The word of a slot: its state and its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

/// The state of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Empty,
    Pending(Local),
    Live(Local),
    Dead,
    Killed,
}

impl Word {
    const FROZEN: u64 = 1 << 63;
    const PENDING: u64 = 1 << 62;
    const GONE: u64 = (1 << 62) - 1;

    pub(crate) const EMPTY: Self = Self(0);
    pub(crate) const DEAD: Self = Self(Self::GONE);
    pub(crate) const KILLED: Self = Self(Self::PENDING | Self::GONE);

    pub(crate) fn pending(key: Local) -> Self {
        Self(Self::PENDING | (key.0 + 1))
    }

    #[inline(always)]
    pub(crate) fn live(key: Local) -> Self {
        Self(key.0 + 1)
    }

    #[inline(always)]
    pub(crate) fn is_frozen(self) -> bool {
        self.0 & Self::FROZEN != 0
    }

    /// The word without the FROZEN bit.
    #[inline(always)]
    pub(crate) fn thawed(self) -> Self {
        Self(self.0 & !Self::FROZEN)
    }

    #[inline(always)]
    pub(crate) fn state(self) -> State {
        match self.thawed() {
            Self::EMPTY => State::Empty,
            Self::DEAD => State::Dead,
            // Also a PENDING word without a key, which no run writes.
            Self::KILLED | Self(Self::PENDING) => State::Killed,
            Self(word) if word & Self::PENDING != 0 => State::Pending(Self::key(word)),
            Self(word) => State::Live(Self::key(word)),
        }
    }

    /// The key of a LIVE slot.
    #[inline(always)]
    pub(crate) fn live_key(self) -> Option<Local> {
        // EMPTY is 0; DEAD, PENDING and KILLED are `GONE` and above.
        let key = self.thawed().0.wrapping_sub(1);
        (key < Self::GONE - 1).then_some(Local(key))
    }

    /// The distance of the key of a LIVE slot from `low`. For any other state, or a key below `low`, a number larger
    /// than every distance.
    #[inline(always)]
    pub(crate) fn distance(self, low: Local) -> u64 {
        self.thawed().0.wrapping_sub(1).wrapping_sub(low.0)
    }

    fn key(word: u64) -> Local {
        Local((word & Self::GONE) - 1)
    }
}

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
    fn enter(&mut self, key: Local, slots: usize) -> Option<usize> {
        let hash = Hash::of(key);
        let home = hash.home(lines(slots));
        let (claims, slot) = self.claims.claim(home, slots)?;
        self.claims = claims;
        self.fingerprints[slot] = hash.fingerprint(line(slot) == home);
        Some(slot)
    }
}

/// A block of `W` words.
pub(crate) struct Block<'m, M, const W: usize>(Span<'m, M, W>);

impl<M, const W: usize> Clone for Block<'_, M, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, const W: usize> Copy for Block<'_, M, W> {}

impl<'m, M: Media, const W: usize> Block<'m, M, W> {
    /// The number of slots of a block.
    pub(crate) const SLOTS: usize = {
        let slots = (W - ENTRIES) / 2;
        // Whole cache lines, so that a block starts at one.
        assert!(W >= 8 && W <= 128 && W.is_multiple_of(8));
        slots
    };
    /// Bytes of a block.
    pub(crate) const BYTES: u64 = 8 * W as u64;

    #[inline(always)]
    pub(crate) fn at(media: &'m M, at: u64) -> Result<Self> {
        Ok(Self(Span::new(media, at)?))
    }

    /// As [`at`](Self::at), without the cost of an error value.
    #[inline(always)]
    pub(crate) fn within(media: &'m M, at: u64) -> Option<Self> {
        Span::within(media, at).map(Self)
    }

    pub(crate) fn offset(&self) -> u64 {
        self.0.offset()
    }

    pub(crate) fn corrupt(&self, what: &'static str) -> Error {
        Error::Corrupt { offset: self.offset(), what }
    }

    /// Writes a block that is not reachable yet; the caller fences.
    #[track_caller]
    pub(crate) fn initialise(&self, low: u64, next: u64, entries: &[(Local, u64)]) -> Digest {
        let mut words = [0; W];
        (words[NEXT], words[LOW]) = (next, low);
        let mut digest = Digest { claims: Claims::default(), fingerprints: [0; 64] };
        assert!(entries.len() <= Self::SLOTS);
        for &(key, value) in entries {
            let Some(slot) = digest.enter(key, Self::SLOTS) else { break };
            (words[ENTRIES + 2 * slot], words[ENTRIES + 2 * slot + 1]) = (Word::live(key).0, value);
        }
        for (i, &word) in words.iter().enumerate() {
            // The stores are Relaxed: the fence before them (`before_reuse`, in the allocation) orders them, and so
            // does the caller's drain before the block is linked.
            self.0.store(i, word, Ordering::Relaxed);
        }
        self.0.flush(0, W);
        digest
    }

    /// The load is Acquire, as all loads in this file: it pairs with the exchange that stored the word.
    pub(crate) fn next(&self) -> Next {
        Next(self.0.load(NEXT, Ordering::Acquire))
    }

    #[track_caller]
    pub(crate) fn exchange_next(&self, old: Next, new: Next) -> bool {
        self.0.compare_exchange(NEXT, old.0, new.0).is_ok()
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
        self.0.flush(NEXT, 1);
    }

    pub(crate) fn low(&self) -> u64 {
        self.0.load(LOW, Ordering::Acquire)
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn word(&self, slot: usize) -> Word {
        Word(self.0.load(ENTRIES + 2 * slot, Ordering::Acquire))
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn value(&self, slot: usize) -> u64 {
        self.0.load(ENTRIES + 2 * slot + 1, Ordering::Acquire)
    }

    /// Stores the value of a slot that the caller has claimed, before the word of the slot announces the entry.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn set_value(&self, slot: usize, value: u64) {
        // Release: a cursor without a pin may still read this slot for the leaf that used the block before. If the
        // cursor reads this value, it also sees that the epoch has advanced.
        self.0.store(ENTRIES + 2 * slot + 1, value, Ordering::Release);
    }

    /// Replaces a word if it is `old` and not frozen; otherwise returns the word found.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn exchange(&self, slot: usize, old: Word, new: Word) -> Result<(), Word> {
        match self.0.compare_exchange(ENTRIES + 2 * slot, old.0, new.0) {
            Ok(_) => Ok(()),
            Err(found) => Err(Word(found)),
        }
    }

    /// Replaces word and value if both are as expected. The caller changes only one of the two.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn exchange_entry(&self, slot: usize, old: (Word, u64), new: (Word, u64)) -> bool {
        let pair = |(word, value): (Word, u64)| [word.0, value];
        self.0.compare_exchange_pair(ENTRIES + 2 * slot, pair(old), pair(new)).is_ok()
    }

    /// Freezes a slot: its word and value do not change any more.
    #[track_caller]
    pub(crate) fn freeze(&self, slot: usize) {
        let mut word = self.word(slot);
        while !word.is_frozen() {
            match self.exchange(slot, word, Word(word.0 | Word::FROZEN)) {
                Ok(()) => return,
                Err(found) => word = found,
            }
        }
    }

    /// Starts the write-back of the line of a slot.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn flush_slot(&self, slot: usize) {
        self.0.flush(ENTRIES + 2 * slot, 2);
    }

    /// Makes a slot durable for a result that rests on it: another thread may have written it.
    #[track_caller]
    pub(crate) fn help_flush_slot(&self, slot: usize) {
        self.0.help_flush(ENTRIES + 2 * slot, 2);
    }

    /// Makes the whole block durable for a result that rests on it: other threads may have written to it.
    #[track_caller]
    pub(crate) fn help_flush(&self) {
        self.0.help_flush(0, W);
    }

    /// The home line of a key: its entry is inserted there if a slot is free.
    #[inline(always)]
    pub(crate) fn home(hash: Hash) -> usize {
        hash.home(lines(Self::SLOTS))
    }

    /// The slots of a key's home line, one bit each.
    #[inline(always)]
    pub(crate) fn home_slots(key: Local) -> u64 {
        slots_of(Self::home(Hash::of(key)))
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

    /// Prefetches the first line of a block.
    pub(crate) fn prefetch_header(media: &M, at: u64) {
        media.prefetch(at, LINE);
    }

    /// Prefetches the whole block that is probably at `at`.
    pub(crate) fn prefetch(media: &M, at: u64) {
        media.prefetch(at, Self::BYTES);
    }

    /// Prefetches the line of a slot.
    #[inline(always)]
    pub(crate) fn prefetch_slot(&self, slot: usize) {
        self.0.media().prefetch(self.offset() + LINE * line(slot) as u64, LINE);
    }
}
