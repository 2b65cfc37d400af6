//! What the lock words of FAST & FAIR nodes and ROART chunks have in common: the session to which a word belongs, and
//! the wait for its lock. The other bits, and what they promise readers, differ between the two trees.
//!
//! ```text
//! 63         44 43     2    1          0
//! | generation | the tree's | obsolete | locked |
//! ```
//!
//! A word of an earlier generation than the session's counts as unlocked and not obsolete. So a lock that was held at a
//! crash is void without being released.
//!
//! No crash leaves a word of the session's generation, or of a later generation. So a damaged word is detected in three
//! places. A thread that would wait for a lock checks that the lock was taken in this session
//! ([`Space::has_set_lock`]). A thread that meets an obsolete node checks that it became obsolete in this session. A
//! thread that is the first to lock a word checks that an earlier session can have left the word.

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

/// The error for a lock word of this generation that was not set in this session, or for a lock word of a later
/// generation.
pub(crate) const IMPOSSIBLE: &str = "a lock word that no session has left";

/// The session of a lock word, relative to the current session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// An earlier session. The word has no meaning, except for what the tree keeps in it for later sessions.
    Void,
    /// The current session.
    Mine,
    /// A session that has not existed yet. No correct run leaves such a word.
    Another,
}

/// The session of a lock word, relative to the session with this `generation`. (The stamp has the low 20 bits of a
/// generation and repeats after a *turn* of 2^20 generations. A stamp of all ones is that of a [void] word in the first
/// generation of a turn.)
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

/// Whether a lock word belongs to the session with this `generation`.
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

/// The stamp of a word that the session with this `generation` treats as void, as after any crash.
pub(crate) fn void_stamp(generation: u64) -> u64 {
    generation.wrapping_sub(1) << STAMP_SHIFT
}

/// Checks that the lock word at `at`, which no thread is changing, was left by an earlier session or set by this one.
/// Until the first open of a turn has voided the words of the last turn, every word passes.
///
/// # Errors
///
/// [`Error::Corrupt`] if neither is possible.
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
    /// The object that the lock guards is obsolete.
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

    /// The session of `word`, if the lock may be taken by an exchange of that word. If another thread of this session
    /// holds the lock, waits a little and returns `None`; the caller then reads the word again.
    ///
    /// The wait takes place even if the guarded object is about to become obsolete: after the wait the caller's next
    /// search no longer finds the object.
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

    /// Called before the unlock: poisons the pool if a panic has begun under the lock. Returns whether a panic has
    /// begun.
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
