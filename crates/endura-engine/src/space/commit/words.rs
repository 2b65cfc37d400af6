//! The BATCH words, and the intents that they lead to.
//!
//! A word is 0, or has the offset of an intent (bits 0..48) and the lower 16 bits of the CRC-32C of this offset. Without
//! them, a word of which one bit is wrong could lead to the intent of an earlier commit, which is whole as well.
//!
//! A word is set and cleared inside a writer's pin, so that a hold finds it durable, or not set.

use std::iter;

use crate::cpu::crc32c;
use crate::media::{Mark, Media, Ordering, Region};
use crate::space::batch::flights::FLIGHTS;
use crate::space::batch::intent::Intent;
use crate::space::layout::BATCH_WORDS;
use crate::space::space::Space;
use crate::{Error, Result};

/// Bits of an offset.
const OFFSET_BITS: u32 = 48;

/// The word that leads to the intent at `at`.
fn word_of(at: u64) -> u64 {
    let sum = u64::from(crc32c::append_words(0, iter::once(at)));
    at | sum << OFFSET_BITS
}

fn place_of(flight: usize) -> u64 {
    BATCH_WORDS + 8 * flight as u64
}

// no mutant: no campaign of mutants makes commits.
/// Sets the word of a flight, durably: to that of the intent at this offset, or to 0.
pub(super) fn set<M: Media>(media: &M, flight: usize, intent: Option<u64>) -> Result<()> {
    let word = Region::new(media, place_of(flight), 1)?;
    // Release: pairs with the Acquire of `unfinished`. What the word leads to was fenced before.
    word.store(0, intent.map_or(0, word_of), Ordering::Release);
    word.flush(0, 1);
    media.mark(Mark::Step("batch.word"));
    // Set: before a reader sees a change (B8), and before the first is applied. Cleared: before another thread changes one
    // of the keys, which an open would otherwise undo.
    media.drain();
    Ok(())
}

/// A commit that a session has left unfinished.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unfinished {
    pub(crate) flight: usize,
    word: u64,
}

impl Unfinished {
    /// Its intent, of which the header was read.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`] if there is none.
    pub(crate) fn intent<M: Media>(self, media: &M) -> Result<Intent<'_, M>> {
        let at = self.word & ((1 << OFFSET_BITS) - 1);
        if self.word != word_of(at) {
            let what = "the offset of several changes at once";
            return Err(Error::Corrupt { offset: place_of(self.flight), what });
        }
        Intent::enter(media, at)
    }
}

/// The commits that a session has left unfinished.
pub(crate) fn unfinished<M: Media>(media: &M) -> Result<Vec<Unfinished>> {
    let words = Region::new(media, BATCH_WORDS, FLIGHTS)?;
    // Acquire: pairs with the Release of `set`.
    let word = |flight| Unfinished { flight, word: words.load(flight, Ordering::Acquire) };
    Ok((0..FLIGHTS).map(word).filter(|commit| commit.word != 0).collect())
}

// no mutant: no campaign of mutants makes commits.
/// Makes the words durable as an open finds them, after a session that was killed: a store of its last step may be visible
/// only. A word that is lost would leave a part of the changes, and one that comes back would undo what was written since.
pub(crate) fn keep_words<M: Media>(media: &M) -> Result<()> {
    Region::new(media, BATCH_WORDS, FLIGHTS)?.flush(0, FLIGHTS);
    // Before the first change is applied, and before a thread writes a key of changes that were finished.
    media.drain();
    Ok(())
}

impl<M: Media> Space<M> {
    /// Fails if an intent that a session has left unfinished is not whole.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`].
    pub(crate) fn inspect_intents(media: &M) -> Result<()> {
        unfinished(media)?.into_iter().try_for_each(|commit| commit.intent(media)?.check())
    }

    /// Records that an intent of the last session is applied, or is to be forgotten. Frees the chunk of an intent that is
    /// whole.
    pub(crate) fn finish_intent(&self, flight: usize, intent: Option<Intent<'_, M>>) -> Result<()> {
        let guard = self.pin_mut()?;
        set(&self.media, flight, None)?;
        intent.iter().for_each(|intent| guard.retire(intent.at(), intent.bytes()));
        Ok(())
    }
}
