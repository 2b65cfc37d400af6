//! The first word of a node or leaf array: its lock, its version, and the number of its children.
//!
//! ```text
//! 63           44 43        13 12        11    3 2       1          0
//! | generation 20 | version 31 | ordered | live 9 | ready | obsolete | locked |
//! ```
//!
//! [`lock_word`] has the part that is common to the lock words of FAST & FAIR and ROART, and says what a word of an
//! earlier generation than the session's means. Here such a word also means that the volatile words of the chunk are
//! invalid. The first thread of a session that locks the chunk makes it ready.
//!
//! The bit `ordered` says that an array stores the order of its keys ([`order`](crate::tree::roart::nodes::order)). A
//! writer that inserts a key clears the bit.
//!
//! The version counts locks of writers. If a chunk's lock word was unlocked and has the same value later, the chunk has
//! not changed in between. The version has no other use: searches do not need it.

use crate::media::{LINE, Media, Ordering, Region};
use crate::space::{Guard, Space};
use crate::sync::{fence, fence_behind_exchange};
use crate::tree::lock_word::{
    self, IMPOSSIBLE, LOCKED, OBSOLETE, PanicWatch, Refusal, STAMP, Standing, Waiting,
};
use crate::{Error, Result};

use crate::tree::roart::techniques::Techniques;

pub(crate) const LOCK: usize = 0;

const READY: u64 = 1 << 2;
const LIVE_SHIFT: u32 = 3;
const LIVE: u64 = 0x1FF << LIVE_SHIFT;
const ORDERED: u64 = 1 << 12;
const VERSION_ONE: u64 = 1 << 13;
const VERSION: u64 = 0x7FFF_FFFF << 13;

/// A lock word, as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockWord(u64);

impl LockWord {
    /// A word for which the checks below always fail.
    pub(crate) const NEVER: Self = Self(LOCKED);

    /// The word of a chunk that is created at `at`, with `live` children.
    pub(crate) fn created<M: Media>(guard: &Guard<'_, M>, at: u64, live: usize) -> u64 {
        lock_word::first_stamp(guard.space(), at) | READY | (live as u64) << LIVE_SHIFT
    }

    /// A word that the session of this generation treats as void, as after any crash.
    pub(crate) fn void(generation: u64) -> u64 {
        lock_word::void_stamp(generation)
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn read<M: Media>(words: &Region<'_, M>) -> Self {
        // Acquire pairs with the Release of the unlock: the stores of the last holder are visible.
        Self(words.load(LOCK, Ordering::Acquire))
    }

    /// Whether the volatile words of the chunk are valid.
    #[inline(always)]
    pub(crate) fn is_ready(self, generation: u64) -> bool {
        self.0 & READY != 0 && lock_word::is_mine(self.0, generation)
    }

    /// Whether the word belongs to this session.
    pub(crate) fn is_mine(self, generation: u64) -> bool {
        lock_word::is_mine(self.0, generation)
    }

    pub(crate) fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    /// Whether the chunk is no longer part of the tree, or is about to be removed from it.
    #[inline]
    pub(crate) fn is_obsolete(self, generation: u64) -> bool {
        self.0 & OBSOLETE != 0 && lock_word::is_mine(self.0, generation)
    }

    /// Whether the order of the keys is stored.
    #[inline]
    pub(crate) fn is_ordered(self, generation: u64) -> bool {
        self.0 & (LOCKED | ORDERED) == ORDERED && self.is_ready(generation)
    }

    /// The number of children, if it is known.
    pub(crate) fn live(self, generation: u64) -> Option<usize> {
        self.is_ready(generation).then_some(((self.0 & LIVE) >> LIVE_SHIFT) as usize)
    }

    /// Whether only a writer that held the lock when this word was read can have changed the chunk since.
    #[track_caller]
    pub(crate) fn is_of_one_holder<M: Media>(self, words: &Region<'_, M>) -> bool {
        // Acquire, as in `still_holds`.
        fence(Ordering::Acquire);
        let now = words.load(LOCK, Ordering::Relaxed);
        (now ^ self.0) & (VERSION | STAMP) == 0
    }

    /// Whether no writer has locked the chunk since this word was read, and none held the lock then.
    #[inline]
    #[track_caller]
    pub(crate) fn still_holds<M: Media>(self, words: &Region<'_, M>) -> bool {
        // The fence orders the loads before it before the load after it. It pairs with the Release of a holder's
        // stores: a reader that saw one of these stores also sees the lock that preceded the store.
        fence(Ordering::Acquire);
        let now = words.load(LOCK, Ordering::Relaxed);
        self.0 & (LOCKED | OBSOLETE) == 0 && (now ^ self.0) & !ORDERED == 0
    }
}

#[cold]
fn impossible(offset: u64) -> Error {
    Error::Corrupt { offset, what: IMPOSSIBLE }
}

/// Checks that an obsolete chunk became obsolete in this session. A chunk that is not obsolete passes.
///
/// # Errors
///
/// [`Error::Corrupt`] if an obsolete chunk did not become so in this session.
#[cold]
pub(crate) fn check_obsolete<M: Media>(space: &Space<M>, words: &Region<'_, M>) -> Result<()> {
    let is_obsolete = LockWord::read(words).is_obsolete(space.generation());
    if is_obsolete && !space.has_set_lock(words.offset()) {
        return Err(impossible(words.offset()));
    }
    Ok(())
}

/// Checks the lock word of a chunk that no thread is changing: an earlier session must have left the word, or this
/// session must have set it.
///
/// # Errors
///
/// [`Error::Corrupt`] if neither is so.
pub(crate) fn check_lock<M: Media>(guard: &Guard<'_, M>, words: &Region<'_, M>) -> Result<()> {
    lock_word::check(guard.space(), words.offset(), LockWord::read(words).0)
}

/// A chunk whose lock this thread holds; dropping it unlocks.
pub(crate) struct Locked<'g, M: Media> {
    words: Region<'g, M>,
    guard: &'g Guard<'g, M>,
    word: u64,
    panics: PanicWatch,
    /// The lock word before the chunk was locked.
    found: u64,
}

impl<'g, M: Media> Locked<'g, M> {
    /// Locks the chunk. If another thread holds the lock, waits for it. `None` if the chunk is obsolete.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if no correct run leaves such a lock word: no thread would ever unlock the chunk.
    #[track_caller]
    pub(crate) fn acquire(guard: &'g Guard<'g, M>, words: Region<'g, M>) -> Result<Option<Self>> {
        let mut waiting = Waiting::at(guard.space(), words.offset());
        loop {
            let found = LockWord::read(&words);
            let word = match waiting.may_take(found.0) {
                Ok(Some(Standing::Mine)) => {
                    found.0 & !VERSION | found.0.wrapping_add(VERSION_ONE) & VERSION | LOCKED
                }
                Ok(Some(_)) => lock_word::first_stamp(guard.space(), words.offset()) | LOCKED,
                Ok(None) => continue,
                Err(Refusal::Obsolete) => return Ok(None),
                Err(Refusal::Damaged) => return Err(impossible(words.offset())),
            };
            // AcqRel: pairs with the Release of the last unlock.
            if words.compare_exchange(LOCK, found.0, word).is_ok() {
                let (found, panics) = (found.0, PanicWatch::begin());
                return Ok(Some(Self { words, guard, word, found, panics }));
            }
        }
    }

    /// Locks an array to store its order, if it has no order and was not locked since `seen` was read. The version
    /// stays the same, because the holder changes no word that readers of this version have seen. But the first lock of
    /// a session begins a new version.
    #[track_caller]
    pub(crate) fn try_acquire(
        guard: &'g Guard<'g, M>,
        words: Region<'g, M>,
        seen: LockWord,
    ) -> Option<Self> {
        let word = match lock_word::standing(seen.0, guard.space().generation()) {
            Standing::Mine if seen.0 & (LOCKED | OBSOLETE | ORDERED | READY) == READY => {
                seen.0 | LOCKED
            }
            Standing::Void if seen != LockWord::NEVER => {
                lock_word::first_stamp(guard.space(), words.offset()) | LOCKED
            }
            _ => return None,
        };
        // AcqRel, as in `acquire`.
        let exchanged = words.compare_exchange(LOCK, seen.0, word);
        let (found, panics) = (seen.0, PanicWatch::begin());
        exchanged.is_ok().then(|| Self { words, guard, word, found, panics })
    }

    /// The lock word as the unlock will store it.
    pub(crate) fn after_unlock(&self) -> LockWord {
        LockWord(self.word & !LOCKED)
    }

    /// Sets whether the order of the keys is stored. This takes effect with the unlock.
    pub(crate) fn set_ordered(&mut self, is_ordered: bool) {
        self.word = if is_ordered { self.word | ORDERED } else { self.word & !ORDERED };
    }

    /// Whether the volatile words of the chunk are valid.
    pub(crate) fn is_ready(&self) -> bool {
        self.word & READY != 0
    }

    /// Declares the volatile words valid, and sets the number of children. This takes effect with the unlock.
    pub(crate) fn make_ready(&mut self, live: usize) {
        self.word |= READY;
        self.set_live(live);
    }

    pub(crate) fn live(&self) -> usize {
        ((self.word & LIVE) >> LIVE_SHIFT) as usize
    }

    pub(crate) fn set_live(&mut self, live: usize) {
        self.word = self.word & !LIVE | (live as u64) << LIVE_SHIFT;
    }

    /// Without selective persistence: starts the write-back of the count and of word `metadata`. The fence of the next
    /// change of a word waits for this write-back.
    // no mutant: a technique that is switched for measuring only.
    pub(crate) fn keep_metadata<T: Techniques>(&self, metadata: usize) {
        if !T::SELECTIVE_PERSISTENCE {
            // Release: the word stays locked, and its other bits belong to the holder.
            self.words.store(LOCK, self.word, Ordering::Release);
            self.words.flush(LOCK, 1);
            if 8 * metadata as u64 >= LINE {
                self.words.flush(metadata, 1);
            }
        }
    }

    /// Declares that the chunk is about to be replaced or collapsed, before the word that leads past the chunk is
    /// published. So readers inside the chunk know about it ([`sample`](crate::tree::roart::nodes::sample)).
    pub(crate) fn leave(&mut self) {
        self.word |= OBSOLETE;
        // Release: pairs with the Acquire of a reader that asks for proof. The word stays locked.
        // equivalent mutant, without: not seen: a test would need a reader in the chunk, a writer between the word that
        // leads past the chunk and the unlock, and a third thread that inserts a foreign key.
        // equivalent mutant, relaxed: not seen: a test would need all of these, and a store that becomes visible late.
        self.words.store(LOCK, self.word, Ordering::Release);
    }

    /// Unlocks a chunk in which nothing was changed: the lock word is again what it was, with its version.
    #[cold]
    pub(crate) fn unchanged(mut self) {
        // A holder that made the chunk ready has changed it: then the lock word is the new one.
        if LockWord(self.found).is_ready(self.guard.space().generation()) {
            self.word = self.found;
        }
    }

    /// Unlocks for good: no thread can lock the chunk any more, and its contents stay.
    pub(crate) fn retire(mut self) {
        self.word |= OBSOLETE;
    }
}

impl<M: Media> Drop for Locked<'_, M> {
    fn drop(&mut self) {
        self.panics.end(self.guard.space());
        // SeqCst: on x86-64 an exchange. The store pairs with the Acquire of readers and of the next lock. As a full
        // fence after all changes under the lock, it also pairs with the full fence of every other write. So of two
        // threads that each write and then look up, at least one sees the write of the other.
        self.words.store(LOCK, self.word & !LOCKED, Ordering::SeqCst);
        fence_behind_exchange();
    }
}
