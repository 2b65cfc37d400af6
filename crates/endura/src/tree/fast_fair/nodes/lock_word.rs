//! The first word of a node: lock, version and the primitive in flight, in one.
//!
//! ```text
//! 63           44 43                       6 5    3     2         1         0
//! | generation 20 | count of primitives 38 | kind 3 | merging | obsolete | locked |
//! ```
//!
//! A word of an earlier generation than the session's means: unlocked, not obsolete, no writer at
//! work. A lock that was held at a crash is therefore void without anyone having to release it.
//!
//! No crash leaves a word of this generation, or of a later one. Who would wait for a lock asks whether
//! it was taken in this session ([`Space::has_set_lock`](crate::pool::Space)), who comes to an obsolete node
//! whether it became so in this session, and who locks a node first whether its word can be of an earlier one.

use crate::media::{Mark, Media, Ordering, Span};
use crate::pool::Guard;
use crate::sync::fence;
use crate::{Error, Result};

/// Which word of a node it is.
pub(crate) const LOCK: usize = 0;
pub(crate) const LOCKED: u64 = 1;
pub(crate) const OBSOLETE: u64 = 1 << 1;
pub(crate) const MERGING: u64 = 1 << 2;
pub(crate) const KIND: u64 = 0b111 << KIND_SHIFT;
pub(crate) const KIND_SHIFT: u32 = 3;
pub(crate) const COUNT_ONE: u64 = 1 << 6;
pub(crate) const COUNT: u64 = ((1 << 38) - 1) << 6;
const GENERATION_SHIFT: u32 = 44;

/// The primitive that a writer is in the middle of. It tells a reader in which direction entries
/// move, so that it can scan the same way and miss none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Entries move to the right.
    Insert = 1,
    /// Entries move to the left.
    Delete = 2,
    /// One value changes.
    Update = 3,
    /// The upper fence, the sibling or the tag changes.
    Header = 4,
}

/// A lock word as it was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Version(pub(crate) u64);

impl Version {
    /// The session's part of the word.
    fn stamp(generation: u64) -> u64 {
        generation << GENERATION_SHIFT
    }

    /// The word of a node that is made at `at`, and that its maker holds locked.
    pub(crate) fn created_locked<M: Media>(guard: &Guard<'_, M>, at: u64) -> u64 {
        Self::created(guard, at) | LOCKED
    }

    /// The word of a node that is made at `at`, and that nobody holds.
    pub(crate) fn created<M: Media>(guard: &Guard<'_, M>, at: u64) -> u64 {
        guard.space().note_lock(at);
        Self::stamp(guard.space().generation())
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn read<M: Media, const W: usize>(words: &Span<'_, M, W>) -> Self {
        // Acquire pairs with the Release of every lock word: what the last primitive stored is
        // seen by the loads that follow.
        Self(words.load(LOCK, Ordering::Acquire))
    }

    /// Whether the word is still what it was, with everything that was loaded in between no younger.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn is_confirmed<M: Media, const W: usize>(self, words: &Span<'_, M, W>) -> bool {
        // Keeps the loads before it before the load after it. Pairs with the Release of every store
        // of a primitive: whoever loaded one of them loads its announcement here.
        fence(Ordering::Acquire);
        words.media().mark(Mark::LoadsFenced);
        self.is_same(Self(words.load(LOCK, Ordering::Relaxed)))
    }

    /// Whether the word is exactly what it was, but for the lock, and what was loaded before is no younger.
    /// For a look without a pin, which the epoch has to confirm: it is read behind.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn is_unchanged<M: Media, const W: usize>(self, words: &Span<'_, M, W>) -> bool {
        // As in `is_confirmed`.
        fence(Ordering::Acquire);
        words.media().mark(Mark::LoadsFenced);
        // Acquire, by `read`: the chunk may be another node by now, with the same word; then the epoch that is
        // loaded behind must be one in which it could. Pairs with `before_reuse`.
        self.0 == Self::read(words).unlocked().0
    }

    /// Whether nobody was at work on the node, nor ever absorbed it: the common case.
    #[inline(always)]
    pub(crate) fn is_plain(self) -> bool {
        self.0 & (OBSOLETE | KIND) == 0
    }

    /// Whether the word is of this session.
    #[inline(always)]
    pub(crate) fn is_current(self, generation: u64) -> bool {
        (self.0 ^ Self::stamp(generation)) >> GENERATION_SHIFT == 0
    }

    /// Whether no correct run can leave the word to the session of this generation: it is of a later one.
    /// (All ones are what a [turn](void_lock) of the generations leaves.)
    pub(crate) fn is_impossible(self, generation: u64) -> bool {
        let (stamp, own) =
            (self.0 >> GENERATION_SHIFT, Self::stamp(generation) >> GENERATION_SHIFT);
        stamp > own && stamp != u64::MAX >> GENERATION_SHIFT
    }

    #[inline(always)]
    pub(crate) fn is_obsolete(self, generation: u64) -> bool {
        self.0 & OBSOLETE != 0 && self.is_current(generation)
    }

    /// Whether the node is about to be absorbed by its left neighbour, or was.
    pub(crate) fn is_leaving(self, generation: u64) -> bool {
        self.0 & (MERGING | OBSOLETE) != 0 && self.is_current(generation)
    }

    /// Whether a primitive had begun and not ended: now, or when its session ended.
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
        } else if self.0 & KIND == (Kind::Delete as u64) << KIND_SHIFT {
            Some(Direction::Left)
        } else {
            Some(Direction::Right)
        }
    }

    /// The same without what says nothing about the entries.
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

/// Stamps the lock word of the node at `at` with the generation before this one: void, as after any
/// crash, but remembering whether a primitive was in flight.
// no mutant: pools that change their generation while they are open are not simulated.
pub(crate) fn void_lock<M: Media>(guard: &Guard<'_, M>, at: u64) -> Result<()> {
    let words = Span::<M, 8>::new(guard.media(), at)?;
    let stamp = Version::stamp(guard.space().generation().wrapping_sub(1));
    let word = stamp | Version::read(&words).0 & KIND;
    words.store(LOCK, word, Ordering::Release);
    words.flush(LOCK, 1);
    Ok(())
}

/// Whether the node at `at`, to which nobody writes, has a lock word that a session can have left, or this
/// one has set.
///
/// # Errors
///
/// [`Error::Corrupt`] if not.
pub(crate) fn check_lock<M: Media>(guard: &Guard<'_, M>, at: u64) -> Result<()> {
    let word = Version::read(&Span::<M, 8>::new(guard.media(), at)?);
    let generation = guard.space().generation();
    let is_sound = match word.is_current(generation) {
        true => guard.space().has_set_lock(at),
        false => !word.is_impossible(generation),
    };
    if is_sound { Ok(()) } else { Err(Error::Corrupt { offset: at, what: IMPOSSIBLE }) }
}

/// What is wrong with a lock word of this generation that was not set in it, or of a later one.
pub(crate) const IMPOSSIBLE: &str = "a lock word that no session has left";

/// Where entries move while a primitive is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Towards slot 0.
    Left,
    /// Away from slot 0, or not at all.
    Right,
}
