//! The BATCH words, and the intents that they lead to.
//!
//! A word is set and cleared inside a writer's pin, so that a hold finds it durable, or not set.

use crate::Result;
use crate::media::{Mark, Media, Ordering, Region};
use crate::space::batch::flights::FLIGHTS;
use crate::space::batch::intent::Intent;
use crate::space::layout::BATCH_WORDS;
use crate::space::space::Space;

// no mutant: no campaign of mutants makes commits.
/// Sets the word of a flight, durably.
pub(super) fn set<M: Media>(media: &M, flight: usize, to: u64) -> Result<()> {
    let word = Region::new(media, BATCH_WORDS + 8 * flight as u64, 1)?;
    // Release: pairs with the Acquire of `unfinished`. What the word leads to was fenced before.
    word.store(0, to, Ordering::Release);
    word.flush(0, 1);
    media.mark(Mark::Step("batch.word"));
    // Set: before a reader sees a change (B8), and before the first is applied. Cleared: before another thread changes one
    // of the keys, which an open would otherwise undo.
    media.drain();
    Ok(())
}

/// The offsets of the intents that a session has left unfinished, with their flights.
pub(crate) fn unfinished<M: Media>(media: &M) -> Result<Vec<(usize, u64)>> {
    let words = Region::new(media, BATCH_WORDS, FLIGHTS)?;
    // Acquire: pairs with the Release of `set`.
    let set = (0..FLIGHTS).map(|flight| (flight, words.load(flight, Ordering::Acquire)));
    Ok(set.filter(|&(_, at)| at != 0).collect())
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
    /// [`Error::Corrupt`](crate::Error::Corrupt).
    pub(crate) fn inspect_intents(media: &M) -> Result<()> {
        unfinished(media)?.into_iter().try_for_each(|(_, at)| Intent::enter(media, at)?.check())
    }

    /// Records that an intent of the last session is applied, or is to be forgotten. Frees the chunk of an intent that is
    /// whole.
    pub(crate) fn finish_intent(&self, flight: usize, intent: Option<Intent<'_, M>>) -> Result<()> {
        let guard = self.pin_mut()?;
        set(&self.media, flight, 0)?;
        intent.iter().for_each(|intent| guard.retire(intent.at(), intent.bytes()));
        Ok(())
    }
}
