//! The search within a node, by a method chosen at compile time: [`LineBinary`], or the method of an experiment.
//!
//! Every method finds the last slot whose key is at most `key`. Live keys come first and ascend (an entry that is being
//! moved has two copies side by side). Dead keys follow. A dead key is at least `high`, or is `low - 1`. Seen from
//! `low` with wrap-around, it is larger than every key that the node covers. So `slot_key - low <= key - low` is true
//! for a prefix of the slots, and for no dead one. (If it is true for no slot, the result is slot 0.)

use std::hint::select_unpredictable;

use crate::media::{LINE, Media};

use crate::tree::fast_fair::nodes::header::Fences;
use crate::tree::fast_fair::nodes::node::{Node, PER_LINE, RECORDS};

/// A method to search a node.
pub trait Search: Send + Sync + 'static {
    /// The last slot with a key in `low..=key`, as the distance in words of its key from the first key; 0 if there is
    /// none. The node must be quiet.
    #[doc(hidden)]
    fn last<M: Media, const W: usize>(keys: Keys<'_, '_, M, W>, low: u64, key: u64) -> usize;

    /// The first part of the search. It returns where the second part starts, in words. A lookup in a batch runs the
    /// two parts one after the other, so that it need not fetch the whole node.
    #[doc(hidden)]
    #[inline(always)]
    fn narrow<M: Media, const W: usize>(_: Keys<'_, '_, M, W>, _low: u64, _key: u64) -> usize {
        0
    }

    /// The second part of the search: from the result of [`narrow`](Self::narrow) to the slot that [`last`](Self::last)
    /// finds.
    #[doc(hidden)]
    #[inline(always)]
    fn last_from<M: Media, const W: usize>(
        keys: Keys<'_, '_, M, W>,
        low: u64,
        key: u64,
        _from: usize,
    ) -> usize {
        Self::last(keys, low, key)
    }

    /// Prefetches the lines that [`narrow`](Self::narrow) needs of the node at `at`, including its header.
    #[doc(hidden)]
    #[inline(always)]
    fn fetch<M: Media, const W: usize>(media: &M, at: u64) {
        media.prefetch(at, 8 * W as u64);
    }

    /// Prefetches the lines that [`last_from`](Self::last_from) needs.
    #[doc(hidden)]
    #[inline(always)]
    fn fetch_from<M: Media, const W: usize>(_media: &M, _at: u64, _from: usize) {}
}

/// The first part of a search for `key` in a quiet node. Returns where the second part starts.
#[inline(always)]
pub(crate) fn narrow<S: Search, M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    fences: Fences,
    key: u64,
) -> usize {
    S::narrow(Keys(node), fences.low, key)
}

/// The result of [`last`], starting where [`narrow`] ended.
#[inline(always)]
pub(crate) fn last_from<S: Search, M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    low: u64,
    key: u64,
    from: usize,
) -> Last {
    Last(S::last_from(Keys(node), low, key, from))
}

/// The slot with the largest key at or below `key` in a quiet node, and that key; slot 0 if all
/// keys are larger.
#[inline(always)]
pub(crate) fn last<S: Search, M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    fences: Fences,
    key: u64,
) -> Last {
    Last(S::last(Keys(node), fences.low, key))
}

/// A slot, as [`last`] found it.
#[derive(Clone, Copy)]
pub(crate) struct Last(usize);

impl Last {
    /// The number of the slot.
    #[inline(always)]
    pub(crate) fn slot(self) -> usize {
        self.0 / STRIDE
    }

    /// The key of the slot.
    #[inline(always)]
    pub(crate) fn key<M: Media, const W: usize>(self, node: &Node<'_, M, W>) -> u64 {
        node.peek_record(self.0)
    }

    /// The value of the slot.
    #[inline(always)]
    pub(crate) fn value<M: Media, const W: usize>(self, node: &Node<'_, M, W>) -> u64 {
        node.peek_record(self.0 + 1)
    }
}

/// The number of slots of a quiet node with a key of at most `key`. The node's `fences` must contain `key`.
#[inline(always)]
pub(crate) fn rank<S: Search, M: Media, const W: usize>(
    node: &Node<'_, M, W>,
    fences: Fences,
    key: u64,
) -> usize {
    let (keys, last) = (Keys(node), S::last(Keys(node), fences.low, key));
    last / STRIDE + usize::from(keys.is_within(last, fences.low, key.wrapping_sub(fences.low)))
}

/// The distance between two records, in words.
pub const STRIDE: usize = 2;

/// The keys of a node, as a [`Search`] sees them.
pub struct Keys<'n, 'm, M, const W: usize>(&'n Node<'m, M, W>);

impl<'m, M: Media, const W: usize> Keys<'_, 'm, M, W> {
    /// The number of keys.
    pub const CAP: usize = Node::<'m, M, W>::CAP;

    /// Whether the key that is `words` words after the first one is at most `low + width`.
    #[inline(always)]
    pub fn is_within(&self, words: usize, low: u64, width: u64) -> bool {
        self.0.peek_record(words).wrapping_sub(low) <= width
    }
}

/// Binary search over the first key of each line, then within the line.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineBinary;

impl LineBinary {
    /// The most lines that the first part of a search leaves.
    const TOGETHER: usize = 4;

    /// The number of lines with records in a node of `words` words.
    const fn lines(words: usize) -> usize {
        (words - RECORDS).div_ceil(STRIDE * PER_LINE)
    }

    /// The number of lines that the first part of a search leaves in a node of `words` words.
    const fn narrowed(words: usize) -> usize {
        let mut lines = Self::lines(words);
        while lines > Self::TOGETHER {
            lines -= lines / 2;
        }
        lines
    }
}

/// The distance between the first keys of two lines, in words.
const LINE_STRIDE: usize = STRIDE * PER_LINE;

impl Search for LineBinary {
    #[inline(always)]
    fn last<M: Media, const W: usize>(keys: Keys<'_, '_, M, W>, low: u64, key: u64) -> usize {
        let from = Self::narrow(Keys(keys.0), low, key);
        Self::last_from(keys, low, key, from)
    }

    // The loop bounds of both parts are constants, so that the loops are unrolled. No step is a branch: a misprediction
    // would discard the instructions of the next lookup that the processor has already started.
    #[inline(always)]
    fn narrow<M: Media, const W: usize>(keys: Keys<'_, '_, M, W>, low: u64, key: u64) -> usize {
        let (mut first, mut lines) = (0, Self::lines(W));
        while lines > Self::TOGETHER {
            let half = lines / 2;
            let middle = first + half * LINE_STRIDE;
            let is_within = keys.is_within(middle, low, key.wrapping_sub(low));
            first = select_unpredictable(is_within, middle, first);
            lines -= half;
        }
        first
    }

    #[inline(always)]
    fn last_from<M: Media, const W: usize>(
        keys: Keys<'_, '_, M, W>,
        low: u64,
        key: u64,
        from: usize,
    ) -> usize {
        let (width, end) = (key.wrapping_sub(low), Keys::<M, W>::CAP * STRIDE);
        let (mut first, mut lines) = (from, Self::narrowed(W));
        while lines > 1 {
            let half = lines / 2;
            let middle = first + half * LINE_STRIDE;
            first = select_unpredictable(keys.is_within(middle, low, width), middle, first);
            lines -= half;
        }
        // The line has arrived by now, so that what counts is the number of instructions, not of steps. With fewer
        // instructions, more of the next lookup starts while this one waits for its leaf.
        let mut half = LINE_STRIDE / 2;
        while half >= STRIDE {
            let middle = first + half;
            let is_slot = end.is_multiple_of(LINE_STRIDE) || middle < end;
            let is_within = is_slot && keys.is_within(middle.min(end - STRIDE), low, width);
            first = select_unpredictable(is_within, middle, first);
            half /= 2;
        }
        first
    }

    #[inline(always)]
    fn fetch<M: Media, const W: usize>(media: &M, at: u64) {
        media.prefetch(at, LINE);
        // Prefetches every line that the search may read: three halvings have seven possible middles.
        let (mut firsts, mut known, mut lines) = ([0; 8], 1, Self::lines(W));
        while lines > Self::TOGETHER && known < firsts.len() {
            let half = lines / 2;
            for i in 0..known {
                firsts[known + i] = firsts[i] + half;
                media.prefetch(at.wrapping_add(LINE * (1 + firsts[known + i]) as u64), LINE);
            }
            (known, lines) = (2 * known, lines - half);
        }
    }

    #[inline(always)]
    fn fetch_from<M: Media, const W: usize>(media: &M, at: u64, from: usize) {
        let lines = Self::narrowed(W) as u64;
        media.prefetch(at.wrapping_add(8 * (RECORDS + from) as u64), LINE * lines);
    }
}
