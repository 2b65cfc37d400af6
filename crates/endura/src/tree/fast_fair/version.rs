//! The first word of a node: lock, version and the primitive in flight, in one.
//!
//! ```text
//! 63           44 43                       6 5    3     2         1         0
//! | generation 20 | count of primitives 38 | kind 3 | merging | obsolete | locked |
//! ```
//!
//! A word of another generation than the session's means: unlocked, not obsolete, no writer at
//! work. A lock that was held at a crash is therefore void without anyone having to release it.

use std::thread::panicking;

use crate::Result;
use crate::media::{Mark, Media, Ordering, Span};
use crate::pool::Guard;
use crate::sync::{Backoff, fence};

use super::node::{FWD, LOCK, Node};

const LOCKED: u64 = 1;
const OBSOLETE: u64 = 1 << 1;
const MERGING: u64 = 1 << 2;
const KIND: u64 = 0b111 << KIND_SHIFT;
const KIND_SHIFT: u32 = 3;
const COUNT_ONE: u64 = 1 << 6;
const COUNT: u64 = ((1 << 38) - 1) << 6;
const GENERATION_SHIFT: u32 = 44;

/// The primitive that a writer is in the middle of. It tells a reader in which direction entries
/// move, so that it can scan the same way and miss none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
pub(super) struct Version(u64);

impl Version {
    /// The session's part of the word.
    fn stamp(generation: u64) -> u64 {
        generation << GENERATION_SHIFT
    }

    /// The word of a node that its maker holds locked.
    pub(super) fn created_locked(generation: u64) -> u64 {
        Self::stamp(generation) | LOCKED
    }

    /// The word of a node that nobody holds.
    pub(super) fn created(generation: u64) -> u64 {
        Self::stamp(generation)
    }

    #[track_caller]
    #[inline(always)]
    pub(super) fn read<M: Media, const W: usize>(words: &Span<'_, M, W>) -> Self {
        // Acquire pairs with the Release of every lock word: what the last primitive stored is
        // seen by the loads that follow.
        Self(words.load(LOCK, Ordering::Acquire))
    }

    /// Whether the word is still what it was, with everything that was loaded in between no younger.
    #[track_caller]
    #[inline(always)]
    pub(super) fn is_confirmed<M: Media, const W: usize>(self, words: &Span<'_, M, W>) -> bool {
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
    pub(super) fn is_unchanged<M: Media, const W: usize>(self, words: &Span<'_, M, W>) -> bool {
        // As in `is_confirmed`.
        fence(Ordering::Acquire);
        words.media().mark(Mark::LoadsFenced);
        // Acquire, by `read`: the chunk may be another node by now, with the same word; then the epoch that is
        // loaded behind must be one in which it could. Pairs with `before_reuse`.
        self.0 == Self::read(words).unlocked().0
    }

    /// Whether nobody was at work on the node, nor ever absorbed it: the common case.
    #[inline(always)]
    pub(super) fn is_plain(self) -> bool {
        self.0 & (OBSOLETE | KIND) == 0
    }

    /// Whether the word is of this session.
    #[inline(always)]
    pub(super) fn is_current(self, generation: u64) -> bool {
        (self.0 ^ Self::stamp(generation)) >> GENERATION_SHIFT == 0
    }

    #[inline(always)]
    pub(super) fn is_obsolete(self, generation: u64) -> bool {
        self.0 & OBSOLETE != 0 && self.is_current(generation)
    }

    /// Whether the node is about to be absorbed by its left neighbour, or was.
    pub(super) fn is_leaving(self, generation: u64) -> bool {
        self.0 & (MERGING | OBSOLETE) != 0 && self.is_current(generation)
    }

    /// Whether a primitive had begun and not ended: now, or when its session ended.
    #[inline(always)]
    pub(super) fn in_flight(self) -> bool {
        self.0 & KIND != 0
    }

    /// Whether a primitive of an earlier session never ended.
    pub(super) fn is_interrupted(self, generation: u64) -> bool {
        self.in_flight() && !self.is_current(generation)
    }

    /// The direction in which a writer of this session may be moving entries, if one is at work.
    #[inline(always)]
    pub(super) fn moving(self, generation: u64) -> Option<Direction> {
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
    pub(super) fn unlocked(self) -> Self {
        Self(self.0 & !(LOCKED | MERGING))
    }

    /// Whether at most the one primitive that `self` shows in flight ran between the two reads.
    #[inline(always)]
    pub(super) fn is_same(self, later: Self) -> bool {
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

/// Where entries move while a primitive is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// Towards slot 0.
    Left,
    /// Away from slot 0, or not at all.
    Right,
}

/// A node whose lock this thread holds; dropping it unlocks.
pub(super) struct Locked<'g, M: Media, const W: usize> {
    node: Node<'g, M, W>,
    guard: &'g Guard<'g, M>,
    word: u64,
    found: Version,
    /// Whether the thread was unwinding when it took the lock, for a reason that is none of the node's.
    was_panicking: bool,
}

impl<'g, M: Media, const W: usize> Locked<'g, M, W> {
    /// Waits for the lock of `node`. An obsolete node cannot be locked: gives the node that took
    /// its entries over, 0 where a new descent must find it.
    pub(super) fn acquire(guard: &'g Guard<'g, M>, node: Node<'g, M, W>) -> Result<Self, u64> {
        let generation = guard.space().generation();
        let mut backoff = Backoff::default();
        loop {
            let found = Version::read(node.words());
            let word = match found.is_current(generation) {
                true if found.0 & OBSOLETE != 0 => return Err(node.load(FWD)),
                true if found.0 & LOCKED != 0 => {
                    backoff.wait();
                    continue;
                }
                true => found.0 | LOCKED,
                // What an earlier session was in the middle of is not durable before the repair:
                // readers must help, and the next session must repair, until then.
                false => Version::created_locked(generation) | found.0 & KIND,
            };
            // AcqRel: pairs with the Release of the last unlock.
            if node.words().compare_exchange(LOCK, found.0, word).is_ok() {
                return Ok(Self { node, guard, word, found, was_panicking: panicking() });
            }
        }
    }

    /// Takes charge of a node that was created locked.
    pub(super) fn adopt(guard: &'g Guard<'g, M>, node: Node<'g, M, W>) -> Self {
        let word = Version::created_locked(guard.space().generation());
        Self { node, guard, word, found: Version(word), was_panicking: panicking() }
    }

    /// The node.
    #[inline(always)]
    pub(super) fn node(&self) -> &Node<'g, M, W> {
        &self.node
    }

    /// Whether this is the first lock of the node in this session: what a crash may have left in
    /// it must be repaired before anything else.
    pub(super) fn is_first_of_session(&self) -> bool {
        !self.found.is_current(self.guard.space().generation())
    }

    /// Whether the last session ended in the middle of a primitive of this node.
    pub(super) fn was_interrupted(&self) -> bool {
        self.is_first_of_session() && self.found.in_flight()
    }

    /// Begins a primitive. Readers that overlap it will notice.
    #[track_caller]
    pub(super) fn begin(&mut self, kind: Kind) {
        let count = (self.word + COUNT_ONE) & COUNT;
        self.word = (self.word & !(COUNT | KIND)) | count | (kind as u64) << KIND_SHIFT;
        // Release, and every store of the primitive is Release too: whoever sees one of them sees
        // this word when it reads it again.
        self.node.store(LOCK, self.word);
    }

    /// Tells posters that this node is about to leave.
    #[track_caller]
    pub(super) fn set_merging(&mut self, merging: bool) {
        self.word = if merging { self.word | MERGING } else { self.word & !MERGING };
        self.node.store(LOCK, self.word);
    }

    /// Does not unlock: in a child of a fork, whose parent holds the lock.
    #[cold]
    pub(super) fn leave_to_parent(self) {
        std::mem::forget(self);
    }

    /// Unlocks for good: whoever comes here goes on to `successor` (0: descends anew).
    pub(super) fn retire_into(mut self, successor: u64) {
        // Relaxed: read by those who have seen the word that the drop stores with Release.
        // equivalent mutant, without: costs time only: whoever comes to the dead node descends anew instead of
        // going on from there.
        self.node.write(FWD, successor);
        self.word |= OBSOLETE;
    }
}

impl<M: Media, const W: usize> Drop for Locked<'_, M, W> {
    fn drop(&mut self) {
        // As `std`'s mutex: only a panic that began under the lock leaves the node in doubt.
        if panicking() && !self.was_panicking {
            self.guard.space().poison();
            if self.guard.space().is_elsewhere() {
                // As in `leave_to_parent`.
                return;
            }
        }
        self.word &= !(LOCKED | KIND | MERGING);
        // Release: pairs with the Acquire of readers and of the next lock.
        self.node.store(LOCK, self.word);
    }
}
