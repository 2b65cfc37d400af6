//! How a word changes: link and persist.
//!
//! A word that a reader can see may not be durable yet. Until it is, it carries DIRTY; whoever
//! comes across that, reader or writer, makes the line durable before it relies on the word. Where
//! nothing has to be flushed, what is visible is durable, and the tag is not used.

use crate::media::{Mark, Media, Ordering, Region};

use super::word::{DIRTY, emptied};

/// Stores a word that leads to something durable, or soon to be: what was flushed before is fenced
/// first. Durable on return. The caller holds the chunk's lock.
pub(super) fn publish<M: Media>(words: &Region<'_, M>, i: usize, word: u64) {
    let media = words.media();
    // Before the word: what it leads to must not be missing after a crash.
    media.fence();
    media.mark(Mark::Step("publish.word"));
    replace(words, i, word, word);
}

/// Empties a word. Durable on return. The caller holds the chunk's lock.
pub(super) fn unlink<M: Media>(words: &Region<'_, M>, i: usize) {
    // What is left of the word tells whose absence is not durable yet.
    let rest = emptied(words.load(i, Ordering::Relaxed));
    words.media().mark(Mark::Step("unlink.word"));
    replace(words, i, rest, 0);
}

fn replace<M: Media>(words: &Region<'_, M>, i: usize, first: u64, last: u64) {
    let media = words.media();
    if media.needs_flush() {
        // Release: pairs with the Acquire of readers, who then see what the word leads to.
        words.store(i, first | DIRTY, Ordering::Release);
        media.mark(Mark::Step("publish.dirty"));
        words.flush(i, 1);
        // Before the tag goes: without it nobody flushes. And before the operation returns.
        media.drain();
        media.mark(Mark::Step("publish.durable"));
        // Not flushed: with or without the tag the word means the same after a crash.
        words.store(i, last, Ordering::Release);
    } else {
        words.store(i, last, Ordering::Release);
        // Before the operation returns, on eADR: the store may still be in the store buffer.
        media.drain();
        media.mark(Mark::Step("publish.durable"));
    }
}

/// Clears tags that an earlier session left in the words `places`, after making durable what they
/// stand for. The caller holds the chunk's lock.
pub(super) fn settle<M: Media>(words: &Region<'_, M>, places: impl Iterator<Item = usize>) {
    let dirty: Vec<usize> =
        places.filter(|&i| words.load(i, Ordering::Acquire) & DIRTY != 0).collect();
    if dirty.is_empty() {
        return;
    }
    words.media().mark(Mark::Step("settle"));
    dirty.iter().for_each(|&i| words.flush(i, 1));
    // Before the tags go, as in `replace`.
    words.media().fence();
    for i in dirty {
        let word = words.load(i, Ordering::Relaxed);
        let is_empty = word == emptied(word);
        words.store(i, if is_empty { 0 } else { word & !DIRTY }, Ordering::Release);
    }
}
