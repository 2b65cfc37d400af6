//! The first word of a node, which holds its lock, its version and the primitive in flight.
//!
//! ```text
//! 63           44 43                       6 5    3     2         1         0
//! | generation 20 | count of primitives 38 | kind 3 | merging | obsolete | locked |
//! ```
//!
//! A word of an earlier generation than the session's means that no writer is at work, whatever its other bits are.
//! [`lock_word`] has the part that is common to the lock words of FAST & FAIR and ROART.

use crate::Result;
use crate::media::{Mark, Media, Ordering, Span};
use crate::space::Guard;
use crate::sync::fence;
use crate::tree::lock_word::{self, LOCKED, OBSOLETE};

/// The index of this word in a node.
pub(crate) const LOCK: usize = 0;
pub(crate) const MERGING: u64 = 1 << 2;
pub(crate) const KIND: u64 = 0b111 << KIND_SHIFT;
pub(crate) const KIND_SHIFT: u32 = 3;
pub(crate) const COUNT_ONE: u64 = 1 << 6;
pub(crate) const COUNT: u64 = ((1 << 38) - 1) << 6;

/// The primitive that a writer is executing. The primitive determines in which direction entries move, so that a reader
/// can scan in the same direction and miss no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Primitive {
    /// Entries move to the right.
    Insert = 1,
    /// Entries move to the left.
    Delete = 2,
    /// One value changes.
    Update = 3,
    /// The upper fence, the sibling or the tag changes.
    Header = 4,
}

/// A lock word, as it was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LockWord(pub(crate) u64);

impl LockWord {
    /// The lock word of a node that is created at `at`, locked by the creating thread.
    pub(crate) fn created_locked<M: Media>(guard: &Guard<'_, M>, at: u64) -> u64 {
        Self::created(guard, at) | LOCKED
    }

    /// The lock word of a node that is created at `at`, unlocked.
    pub(crate) fn created<M: Media>(guard: &Guard<'_, M>, at: u64) -> u64 {
        lock_word::first_stamp(guard.space(), at)
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn read<M: Media, const W: usize>(words: &Span<'_, M, W>) -> Self {
        // Acquire pairs with the Release of every store to a lock word: the loads that follow see the stores of the
        // last primitive.
        Self(words.load(LOCK, Ordering::Acquire))
    }

    /// Reads the word again. Returns whether the two words are the same ([`is_same`](Self::is_same)). If so, no value
    /// loaded in between comes from a later primitive.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn is_confirmed<M: Media, const W: usize>(self, words: &Span<'_, M, W>) -> bool {
        // This fence orders the caller's loads before the load below. It pairs with the Release of every store of a
        // primitive: a reader that loaded one of these stores loads the announcement of the primitive below.
        fence(Ordering::Acquire);
        words.media().mark(Mark::LoadsFenced);
        self.is_same(Self(words.load(LOCK, Ordering::Relaxed)))
    }

    /// Reads the word again. Returns whether it is unchanged except for LOCKED and MERGING. If so, no value loaded in
    /// between comes from a later primitive. This is for a look without a pin: the epoch, which the caller reads
    /// afterwards, has to confirm the result.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn is_unchanged<M: Media, const W: usize>(self, words: &Span<'_, M, W>) -> bool {
        // As in `is_confirmed`.
        fence(Ordering::Acquire);
        words.media().mark(Mark::LoadsFenced);
        // Acquire, by `read`: the chunk may be another node by now, with the same word. Then the epoch that the caller
        // loads afterwards is one in which the chunk can be reused, and the result does not count. The Acquire pairs
        // with `before_reuse`.
        self.0 == Self::read(words).unlocked().0
    }

    /// Whether no writer was at work on the node, and no merge ever absorbed it: the common case.
    #[inline(always)]
    pub(crate) fn is_plain(self) -> bool {
        self.0 & (OBSOLETE | KIND) == 0
    }

    /// Whether the word belongs to this session.
    #[inline(always)]
    pub(crate) fn is_current(self, generation: u64) -> bool {
        lock_word::is_mine(self.0, generation)
    }

    /// Whether a writer of this session holds the lock.
    pub(crate) fn is_held(self, generation: u64) -> bool {
        self.0 & LOCKED != 0 && self.is_current(generation)
    }

    #[inline(always)]
    pub(crate) fn is_obsolete(self, generation: u64) -> bool {
        self.0 & OBSOLETE != 0 && self.is_current(generation)
    }

    /// Whether the left neighbour is about to absorb the node, or has absorbed it.
    pub(crate) fn is_leaving(self, generation: u64) -> bool {
        self.0 & (MERGING | OBSOLETE) != 0 && self.is_current(generation)
    }

    /// Whether a primitive had begun and not ended when the word was read, or, in a word of an earlier session, when
    /// that session ended.
    #[inline(always)]
    pub(crate) fn in_flight(self) -> bool {
        self.0 & KIND != 0
    }

    /// Whether a primitive of an earlier session never ended.
    pub(crate) fn is_interrupted(self, generation: u64) -> bool {
        self.in_flight() && !self.is_current(generation)
    }

    /// The direction in which a writer of this session may be moving entries, if one is at work.
    #[inline(always)]
    pub(crate) fn moving(self, generation: u64) -> Option<Direction> {
        if self.0 & KIND == 0 || !self.is_current(generation) {
            None
        } else if self.0 & KIND == (Primitive::Delete as u64) << KIND_SHIFT {
            Some(Direction::Left)
        } else {
            Some(Direction::Right)
        }
    }

    /// The word without LOCKED and MERGING, which say nothing about the entries.
    #[inline(always)]
    pub(crate) fn unlocked(self) -> Self {
        Self(self.0 & !(LOCKED | MERGING))
    }

    /// Whether at most the one primitive that `self` shows in flight ran between the two reads.
    #[inline(always)]
    pub(crate) fn is_same(self, later: Self) -> bool {
        (self.0 ^ later.0) & !(LOCKED | MERGING | KIND) == 0
    }
}

/// Stamps the lock word of the node at `at` with the generation before this one. The word is then void, as after any
/// crash, but still shows whether a primitive was in flight.
// no mutant: pools that change their generation while they are open are not simulated.
pub(crate) fn void_lock<M: Media>(guard: &Guard<'_, M>, at: u64) -> Result<()> {
    let words = Span::<M, 8>::new(guard.media(), at)?;
    let stamp = lock_word::void_stamp(guard.space().generation());
    let word = stamp | LockWord::read(&words).0 & KIND;
    words.store(LOCK, word, Ordering::Release);
    words.flush(LOCK, 1);
    Ok(())
}

/// Checks that the lock word of the node at `at`, which no thread is changing, was left by an earlier session or set by
/// this one.
///
/// # Errors
///
/// [`Error::Corrupt`](crate::Error::Corrupt) if neither is possible.
pub(crate) fn check_lock<M: Media>(guard: &Guard<'_, M>, at: u64) -> Result<()> {
    let word = LockWord::read(&Span::<M, 8>::new(guard.media(), at)?);
    lock_word::check(guard.space(), at, word.0)
}

/// The direction in which entries move while a primitive is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Towards slot 0.
    Left,
    /// Away from slot 0, or not at all.
    Right,
}
