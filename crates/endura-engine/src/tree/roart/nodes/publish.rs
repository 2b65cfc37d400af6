//! The change of a word: link and persist.
//!
//! A word that a reader can see may not be durable yet. Until it is, it carries the tag DIRTY; a reader or writer that
//! meets the tag makes the line durable before it relies on the word. If no flushes are needed, what is visible is
//! durable, and the tag is not used.

use crate::media::{Mark, Media, Ordering, Region};

use crate::tree::roart::nodes::word::{DIRTY, Link, emptied};
use crate::tree::roart::techniques::Techniques;

/// Stores word `i`, which leads to chunks that are durable, or at least flushed: a fence before the store makes flushed
/// chunks durable. The word is durable on return. The caller holds the lock of the chunk that has the word.
pub(crate) fn publish<T: Techniques, M: Media>(words: &Region<'_, M>, i: usize, word: u64) {
    let media = words.media();
    // The fence comes before the word is stored: the chunk to which the word leads must exist after a crash.
    media.fence();
    media.mark(Mark::Step("publish.word"));
    replace::<T, M>(words, i, word, word);
}

/// Empties word `i`. This is durable on return. The caller holds the lock of the chunk that has the word.
pub(crate) fn unlink<T: Techniques, M: Media>(words: &Region<'_, M>, i: usize) {
    // What stays in the word says for which key absence is not durable yet.
    let rest = emptied(words.load(i, Ordering::Relaxed));
    words.media().mark(Mark::Step("unlink.word"));
    replace::<T, M>(words, i, rest, 0);
}

fn replace<T: Techniques, M: Media>(words: &Region<'_, M>, i: usize, first: u64, last: u64) {
    let media = words.media();
    if !media.hears_flushes() {
        // Release: pairs with the Acquire of readers, who then see what the word leads to.
        words.store(i, last, Ordering::Release);
    } else if T::NON_TEMPORAL_COMMIT && media.needs_flush() {
        // equivalent mutant, relaxed: a store past the cache has no order of its own; it relies on the fence before it.
        words.stream(i, last);
    } else {
        return replace_and_flush(words, i, first, last);
    }
    // The drain comes before the operation returns. It waits for a store past the cache, and on eADR for a store that
    // may still be in the store buffer.
    media.drain();
    media.mark(Mark::Step("publish.durable"));
}

fn replace_and_flush<M: Media>(words: &Region<'_, M>, i: usize, first: u64, last: u64) {
    let media = words.media();
    // If nothing is written back, a flush only reports the page to checkpoints: no reader has to help, and there is no
    // tag.
    let has_tag = media.needs_flush();
    // Release: pairs with the Acquire of readers, who then see what the word leads to.
    // equivalent mutant, relaxed: with a tag, the fence before the store orders what the word leads to, on every
    // machine; only the language, which knows nothing of that fence, needs the Release. Without a tag, readers need the
    // Release as they need that of the store in `replace`, where a fault is seen. A checkpoint does not need it: it is
    // made while no thread writes, and relies on no order of stores.
    words.store(i, if has_tag { first | DIRTY } else { last }, Ordering::Release);
    media.mark(Mark::Step("publish.dirty"));
    words.flush(i, 1);
    // The drain comes before the tag is cleared, because without the tag no reader flushes. It also comes before the
    // operation returns.
    media.drain();
    media.mark(Mark::Step("publish.durable"));
    if has_tag {
        // This store is not flushed: after a crash the word means the same with or without the tag.
        // equivalent mutant, relaxed: the earlier fences order what the word leads to, as they do for the store with
        // the tag.
        words.store(i, last, Ordering::Release);
    }
}

/// Without entry compression: makes the byte of a new child durable before the word that leads to the child. A word
/// without an offset is empty, whatever its byte.
// no mutant: a technique that is switched for measuring only.
pub(crate) fn announce<T: Techniques, M: Media>(words: &Region<'_, M>, i: usize, link: Link) {
    if !T::COMPRESSED_ENTRIES {
        words.store(i, emptied(link.0), Ordering::Release);
        words.flush(i, 1);
        // The fence orders the durability of the two parts of an entry.
        words.media().fence();
    }
}

/// Without the minimally ordered split: waits until the chunks to which the next new chunk will lead are durable.
// no mutant: a technique that is switched for measuring only.
pub(crate) fn in_order<T: Techniques>(media: &impl Media) {
    if !T::MINIMALLY_ORDERED {
        // Pairs with the flushes of those chunks.
        media.fence();
    }
}

/// Makes durable the words `places` that an earlier session left with tags, and clears the tags. The caller holds the
/// chunk's lock.
pub(crate) fn settle<M: Media>(words: &Region<'_, M>, places: impl Iterator<Item = usize>) {
    let dirty: Vec<usize> =
        places.filter(|&i| words.load(i, Ordering::Acquire) & DIRTY != 0).collect();
    if dirty.is_empty() {
        return;
    }
    words.media().mark(Mark::Step("settle"));
    dirty.iter().for_each(|&i| words.flush(i, 1));
    // The fence comes before the tags are cleared, as in `replace_and_flush`.
    words.media().fence();
    for i in dirty {
        let word = words.load(i, Ordering::Relaxed);
        let is_empty = word == emptied(word);
        // Relaxed: the chunk to which the word leads is older than this session.
        words.store(i, if is_empty { 0 } else { word & !DIRTY }, Ordering::Relaxed);
    }
}
