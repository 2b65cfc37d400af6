//! The common part of the lock words of a FAST & FAIR node and of a ROART chunk: the session that a word belongs to,
//! and how long a thread waits for its lock. The other bits, and their promises to readers, differ as the papers do.
//!
//! ```text
//! 63         44 43     2    1          0
//! | generation | the tree's | obsolete | locked |
//! ```
//!
//! A word of an earlier generation than the session's means: unlocked, not obsolete. So a lock that was held at a crash
//! is void without being released.
//!
//! No crash leaves a word of this generation, or of a later one. So a damaged word is detected in three places: a
//! thread that would wait for a lock asks whether it was taken in this session ([`Space::has_set_lock`]), a thread that
//! meets an obsolete node asks whether it became obsolete in this session, and a thread that locks a word first asks
//! whether it can be of an earlier session.

use std::thread::panicking;

use crate::media::Media;
use crate::space::Space;
use crate::sync::Backoff;
use crate::{Error, Result};

pub(crate) const LOCKED: u64 = 1;
pub(crate) const OBSOLETE: u64 = 1 << 1;
const STAMP_SHIFT: u32 = 44;
/// The bits of the generation.
pub(crate) const STAMP: u64 = u64::MAX << STAMP_SHIFT;

/// The error for a lock word of this generation that was not set in this session, or for one of a later generation.
pub(crate) const IMPOSSIBLE: &str = "a lock word that no session has left";

/// The session of a lock word, as another session sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// An earlier session: the word has no meaning, except what the tree leaves for a successor to find.
    Void,
    /// Of this session.
    Mine,
    /// A session that has not existed: no correct run leaves such a word.
    Another,
}

/// The session of a lock word, for the session of this generation. (A stamp of all ones is that of a [void] word in the
/// first generation of a turn.)
///
/// [void]: void_stamp
#[inline(always)]
pub(crate) fn standing(word: u64, generation: u64) -> Standing {
    let own = generation << STAMP_SHIFT;
    if (word ^ own) >> STAMP_SHIFT == 0 {
        Standing::Mine
    } else if word >> STAMP_SHIFT > own >> STAMP_SHIFT
        && word >> STAMP_SHIFT != STAMP >> STAMP_SHIFT
    {
        Standing::Another
    } else {
        Standing::Void
    }
}

/// Whether a lock word belongs to the session of this generation.
#[inline(always)]
pub(crate) fn is_mine(word: u64, generation: u64) -> bool {
    standing(word, generation) == Standing::Mine
}

/// The stamp for a word at `at` that is about to belong to this session for the first time. Called before another
/// thread sees the word.
pub(crate) fn first_stamp<M: Media>(space: &Space<M>, at: u64) -> u64 {
    space.note_lock(at);
    space.generation() << STAMP_SHIFT
}

/// The stamp of a word that the session of this generation treats as void, as after any crash.
pub(crate) fn void_stamp(generation: u64) -> u64 {
    generation.wrapping_sub(1) << STAMP_SHIFT
}

/// Whether a word at `at`, which no thread is changing, is one that an earlier session can have left, or that this one
/// has set. Until the first open of a turn has voided those of the last one, any word is.
///
/// # Errors
///
/// [`Error::Corrupt`] if not.
pub(crate) fn check<M: Media>(space: &Space<M>, at: u64, word: u64) -> Result<()> {
    let is_sound = match standing(word, space.generation()) {
        Standing::Mine => space.has_set_lock(at),
        Standing::Void => true,
        Standing::Another => false,
    };
    if is_sound || !space.has_voided_locks()? {
        Ok(())
    } else {
        Err(Error::Corrupt { offset: at, what: IMPOSSIBLE })
    }
}

/// Why a lock cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The object that it guards is obsolete.
    Obsolete,
    /// No correct run leaves this word: no thread would ever unlock it.
    Damaged,
}

/// A thread that wants a lock.
pub(crate) struct Waiting<'s, M: Media> {
    space: &'s Space<M>,
    at: u64,
    backoff: Backoff,
}

impl<'s, M: Media> Waiting<'s, M> {
    /// A thread that wants the lock whose word is at `at`.
    #[inline(always)]
    pub(crate) fn at(space: &'s Space<M>, at: u64) -> Self {
        Self { space, at, backoff: Backoff::default() }
    }

    /// The session of the word that was read, if the lock may be taken by exchanging the word. If another thread of
    /// this session holds the lock, waits a little and returns `None`: the caller reads the word again.
    ///
    /// It waits even if the object is about to become obsolete: the caller's next search then does not find it any
    /// more.
    #[inline(always)]
    pub(crate) fn may_take(&mut self, word: u64) -> Result<Option<Standing>, Refusal> {
        match standing(word, self.space.generation()) {
            Standing::Mine if word & (OBSOLETE | LOCKED) != 0 => {
                if !self.space.has_set_lock(self.at) {
                    Err(Refusal::Damaged)
                } else if word & LOCKED == 0 {
                    Err(Refusal::Obsolete)
                } else {
                    self.backoff.wait();
                    Ok(None)
                }
            }
            Standing::Another => Err(Refusal::Damaged),
            standing => Ok(Some(standing)),
        }
    }
}

/// Detects a panic under a lock, as `std`'s mutex does. Only a panic that began under the lock leaves the guarded
/// object in doubt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PanicWatch {
    /// Whether the thread was already unwinding when it took the lock.
    was_panicking: bool,
}

impl PanicWatch {
    /// Called when the lock is taken.
    #[inline(always)]
    pub(crate) fn begin() -> Self {
        Self { was_panicking: panicking() }
    }

    /// Called before the unlock: poisons the pool if a panic has begun; returns whether it has.
    #[inline(always)]
    pub(crate) fn end<M: Media>(self, space: &Space<M>) -> bool {
        let has_panicked = panicking() && !self.was_panicking;
        if has_panicked {
            space.poison();
        }
        has_panicked
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_void_or_mine_or_anothers() {
        let stamped = |generation: u64| generation << STAMP_SHIFT | !STAMP;
        for generation in [1, 2, 1 << 19, (1 << 20) - 2] {
            for turn in [0, 1, 77] {
                let session = generation + (turn << 20);
                assert_eq!(standing(stamped(generation), session), Standing::Mine);
                assert_eq!(standing(stamped(generation - 1), session), Standing::Void);
                assert_eq!(standing(0, session), Standing::Void);
                if generation < (1 << 20) - 2 {
                    assert_eq!(standing(stamped(generation + 1), session), Standing::Another);
                }
                assert_eq!(standing(void_stamp(session), session), Standing::Void);
            }
        }
        // The first generation of a turn: a word voided for it belongs to no session.
        assert_eq!(standing(void_stamp(1 << 20), 1 << 20), Standing::Void);
        assert_eq!(standing(void_stamp(1 << 20), (1 << 20) + 5), Standing::Void);
    }
}
