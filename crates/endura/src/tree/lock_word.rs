//! What the lock words of a FAST & FAIR node and of a ROART chunk have in common: whose a word is, and how
//! long its lock is waited for. What else is in them, and what they promise to readers, differs as the papers do.
//!
//! ```text
//! 63         44 43     2    1          0
//! | generation | the tree's | obsolete | locked |
//! ```
//!
//! A word of an earlier generation than the session's means: unlocked, not obsolete. A lock that was held at a
//! crash is therefore void without anyone having to release it.
//!
//! No crash leaves a word of this generation, or of a later one. Who would wait for a lock asks whether
//! it was taken in this session ([`Space::has_set_lock`]), who comes to what is obsolete whether it became so in
//! this session, and who locks something first whether its word can be of an earlier one.

use std::thread::panicking;

use crate::media::Media;
use crate::pool::Space;
use crate::sync::Backoff;
use crate::{Error, Result};

pub(crate) const LOCKED: u64 = 1;
pub(crate) const OBSOLETE: u64 = 1 << 1;
const STAMP_SHIFT: u32 = 44;
/// The bits of the generation.
pub(crate) const STAMP: u64 = u64::MAX << STAMP_SHIFT;

/// What is wrong with a lock word of this generation that was not set in it, or of a later one.
pub(crate) const IMPOSSIBLE: &str = "a lock word that no session has left";

/// Whose a lock word is, for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Of an earlier session: it counts for nothing, but for what the tree has a successor find.
    Void,
    /// Of this session.
    Mine,
    /// Of a session that has not been: no correct run leaves it.
    Another,
}

/// Whose a lock word is, for the session of this generation. (All ones are what a [void] word of the first
/// generation of a turn has.)
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

/// Whether a lock word is of the session of this generation.
#[inline(always)]
pub(crate) fn is_mine(word: u64, generation: u64) -> bool {
    standing(word, generation) == Standing::Mine
}

/// The stamp for a word at `at` that is about to be of this session for the first time: before anybody sees it.
pub(crate) fn first_stamp<M: Media>(space: &Space<M>, at: u64) -> u64 {
    space.note_lock(at);
    space.generation() << STAMP_SHIFT
}

/// The stamp of a word that the session of this generation takes for void, as after any crash.
pub(crate) fn void_stamp(generation: u64) -> u64 {
    generation.wrapping_sub(1) << STAMP_SHIFT
}

/// Whether a word at `at`, to which nobody writes, is one that a session can have left, or this one has set.
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
    if is_sound { Ok(()) } else { Err(Error::Corrupt { offset: at, what: IMPOSSIBLE }) }
}

/// Why a lock cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// What it guards is obsolete.
    Obsolete,
    /// Its word is none that a correct run leaves: nobody would ever unlock it.
    Damaged,
}

/// One who wants a lock.
pub(crate) struct Waiting<'s, M: Media> {
    space: &'s Space<M>,
    at: u64,
    backoff: Backoff,
}

impl<'s, M: Media> Waiting<'s, M> {
    /// Who wants the lock whose word is at `at`.
    #[inline(always)]
    pub(crate) fn at(space: &'s Space<M>, at: u64) -> Self {
        Self { space, at, backoff: Backoff::default() }
    }

    /// Whose the word is that was read, if the lock may be taken by exchanging it. Where another thread of
    /// this session has it, waits a little: `None`, and the word is to be read again.
    ///
    /// Who holds it is waited for also where the thing is about to become obsolete: who looks for it again
    /// then does not find it any more.
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

/// Notices a panic under a lock, as `std`'s mutex does: only one that began under it leaves in doubt what it guards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PanicWatch {
    /// Whether the thread was unwinding when it took the lock, for a reason that is none of the lock's.
    was_panicking: bool,
}

impl PanicWatch {
    /// To be called when the lock is taken.
    #[inline(always)]
    pub(crate) fn begin() -> Self {
        Self { was_panicking: panicking() }
    }

    /// To be called before the unlock: poisons the pool if a panic has begun; whether it has.
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
        // The first of a turn: what was made void for it is of no session.
        assert_eq!(standing(void_stamp(1 << 20), 1 << 20), Standing::Void);
        assert_eq!(standing(void_stamp(1 << 20), (1 << 20) + 5), Standing::Void);
    }
}
