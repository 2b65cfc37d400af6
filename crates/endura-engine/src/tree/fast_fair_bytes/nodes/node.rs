//! A node: a header line, a line of texts, and lines of four slots. No slot straddles two lines.
//!
//! | byte | word | |
//! | --- | --- | --- |
//! | 0 | lock and version | volatile meaning ([`lock_word`](crate::tree::fast_fair::nodes::lock_word)) |
//! | 8 | `bounds`: a record with the texts, if they do not fit into the second line, else 0 | immutable |
//! | 16 | `high`: the upper fence as a [word](crate::tree::key_word) of this node, all ones if there is none | changes at a split |
//! | 24 | `sib`: offset of the right sibling, tag in bits 48.. | changes at a split, and when this node or its sibling is replaced |
//! | 32 | what this is: magic, words, level | immutable |
//! | 40 | hint: how many slots are used | volatile, checked before use |
//! | 48 | `fwd`: where readers of an obsolete node go | volatile |
//! | 64 | the [texts](crate::tree::fast_fair_bytes::nodes::texts): the prefix, and `low`, the inclusive lower fence | immutable |
//! | 128.. | slots: the word of a key, and a reference: to a record, or in an inner node to a child | |
//!
//! A slot is **used** iff its reference is not 0 and its word is below `high` (in an inner node: is not DEAD). Used slots
//! come first. A used slot is **live** unless the slot to its right is used and has the same reference: then it is a copy of
//! an entry that is being moved, and the right one counts.

use std::ops::Deref;

use crate::Result;
use crate::media::{Media, Ordering};
use crate::tree::fast_fair::nodes::node::{HIGH, Node, OFFSET, SIB};

/// The index of the offset of the texts that do not fit into the node.
pub(crate) const BOUNDS: usize = 1;
/// The index of the first slot.
pub(crate) const SLOTS: usize = 16;
/// Slots in a line.
pub(crate) const PER_LINE: usize = 4;
/// The word of a slot that was never used, or was emptied; also `high` of a node without an upper fence.
pub(crate) const DEAD: u64 = u64::MAX;
/// The tag of a node whose split is under way.
const SPLITTING: u64 = 1;
/// The tag of a node that was replaced.
const REPLACED: u64 = 3;
const MAGIC: u64 = 0xFA57_FA1B << 32;

/// The fifth word of a node: its magic, size and level.
pub(crate) fn meta(words: usize, level: u64) -> u64 {
    MAGIC | (words as u64) << 8 | level
}

/// The largest word below an upper fence. Only after damage is a fence 0, and has no word below it: then it counts as none.
#[inline(always)]
pub(crate) fn last_below(high: u64) -> u64 {
    high.wrapping_sub(1)
}

/// The link to the right sibling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// The sibling owns the keys from this node's `high` on. 0 if this is the last node of its level.
    Right(u64),
    /// The sibling is new. It owns nothing until this node's `high` is where the sibling begins.
    Splitting(u64),
    /// This node owns nothing any more: its keys are those of the node at this offset, and of nodes further right.
    Replaced(u64),
}

impl Link {
    #[inline(always)]
    pub(crate) fn word(self) -> u64 {
        match self {
            Self::Right(at) => at,
            Self::Splitting(at) => at | SPLITTING << 48,
            Self::Replaced(at) => at | REPLACED << 48,
        }
    }

    pub(crate) fn at(self) -> u64 {
        match self {
            Self::Right(at) | Self::Splitting(at) | Self::Replaced(at) => at,
        }
    }
}

/// A node of `W` words.
pub(crate) struct ByteNode<'m, M, const W: usize>(Node<'m, M, W>);

impl<M, const W: usize> Clone for ByteNode<'_, M, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, const W: usize> Copy for ByteNode<'_, M, W> {}

impl<'m, M, const W: usize> Deref for ByteNode<'m, M, W> {
    type Target = Node<'m, M, W>;

    #[inline(always)]
    fn deref(&self) -> &Node<'m, M, W> {
        &self.0
    }
}

impl<'m, M: Media, const W: usize> ByteNode<'m, M, W> {
    /// The number of slots.
    pub(crate) const CAP: usize = (W - SLOTS) / 2;
    /// Bytes of the chunk: whole lines.
    pub(crate) const BYTES: u64 = Node::<'m, M, W>::BYTES;

    /// The node at `at`, which must have this `level`.
    #[inline(always)]
    pub(crate) fn enter(media: &'m M, at: u64, level: u64) -> Result<Self> {
        Node::enter_as(media, at, meta(W, level)).map(Self)
    }

    /// A chunk that is about to become a node, or a node whose kind is known.
    pub(crate) fn fresh(media: &'m M, at: u64) -> Result<Self> {
        Node::fresh(media, at).map(Self)
    }

    /// A node that is known under its general type.
    #[inline(always)]
    pub(crate) fn of(node: &Node<'m, M, W>) -> Self {
        Self(*node)
    }

    pub(crate) fn plain(&self) -> Node<'m, M, W> {
        self.0
    }

    #[inline(always)]
    pub(crate) fn media(&self) -> &'m M {
        self.0.words().media()
    }

    /// The right sibling. Loaded with Acquire, as in [`Node::load`].
    #[inline(always)]
    pub(crate) fn link(&self) -> Result<Link> {
        let word = self.load(SIB);
        match word >> 48 {
            0 => Ok(Link::Right(word)),
            SPLITTING => Ok(Link::Splitting(word & OFFSET)),
            REPLACED => Ok(Link::Replaced(word & OFFSET)),
            _ => Err(self.corrupt("an unknown sibling tag")),
        }
    }

    /// Whether the node was replaced, loaded with Relaxed: for a look that a version ends.
    #[inline(always)]
    pub(crate) fn peek_is_replaced(&self) -> bool {
        self.peek(SIB) >> 48 == REPLACED
    }

    #[track_caller]
    pub(crate) fn set_link(&self, link: Link) {
        self.store(SIB, link.word());
    }

    /// Makes it durable that this node was replaced, as a load has shown. Whoever reads the entries of the new leaf calls it, and
    /// whoever leads something to the new node: neither may outlive the link in a crash. (A search that goes down from an
    /// inner node needs no more than separators, which are hints.)
    #[track_caller]
    pub(crate) fn help_replace(&self) {
        // The version is loaded after the link. An earlier one may be that from before the primitive.
        if self.version().in_flight() {
            self.help_flush_header();
        }
    }

    /// The upper fence, loaded with Relaxed: for the holder of the lock, and for a look that a version ends.
    #[inline(always)]
    pub(crate) fn peek_high(&self) -> u64 {
        self.peek(HIGH)
    }

    #[inline(always)]
    pub(crate) fn peek_word(&self, slot: usize) -> u64 {
        self.peek(SLOTS + 2 * slot)
    }

    #[inline(always)]
    pub(crate) fn peek_reference(&self, slot: usize) -> u64 {
        self.peek(SLOTS + 2 * slot + 1)
    }

    /// The word of a slot, loaded with Acquire, as in [`Node::load`].
    #[inline(always)]
    pub(crate) fn word(&self, slot: usize) -> u64 {
        self.load(SLOTS + 2 * slot)
    }

    /// The reference of a slot, loaded with Acquire: what it leads to was written before.
    #[inline(always)]
    pub(crate) fn reference(&self, slot: usize) -> u64 {
        self.load(SLOTS + 2 * slot + 1)
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn set_word(&self, slot: usize, word: u64) {
        self.store(SLOTS + 2 * slot, word);
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn set_reference(&self, slot: usize, reference: u64) {
        self.store(SLOTS + 2 * slot + 1, reference);
    }

    /// Stores the word of a slot with Relaxed: for slots that lead nowhere.
    #[track_caller]
    pub(crate) fn write_word(&self, slot: usize, word: u64) {
        self.write(SLOTS + 2 * slot, word);
    }

    /// Stores the reference of a slot with Relaxed: for slots behind the used ones.
    #[track_caller]
    pub(crate) fn write_reference(&self, slot: usize, reference: u64) {
        self.write(SLOTS + 2 * slot + 1, reference);
    }

    /// Starts the write-back of the line that holds `slot`.
    #[track_caller]
    #[inline]
    pub(crate) fn flush_slot_line(&self, slot: usize) {
        self.words().flush(SLOTS + 2 * slot, 2);
    }

    /// The words of used slots are below this: in a leaf the upper fence. (Slots that a split left behind have words from
    /// there on. An inner node is never split in place, and a separator may have the word of its fence.)
    #[inline(always)]
    pub(crate) fn limit(&self) -> u64 {
        if self.level() == 0 { self.high() } else { DEAD }
    }

    /// Whether a slot is used, by loads with Acquire: the word is loaded before the reference.
    pub(crate) fn is_used(&self, slot: usize) -> bool {
        slot < Self::CAP && self.word(slot) < self.limit() && self.reference(slot) != 0
    }

    /// The offset of the record with the texts; 0 if they lie in the node. Relaxed: it never changes, and the word that led to
    /// the node was loaded with Acquire.
    pub(crate) fn bounds_word(&self) -> u64 {
        self.words().load(BOUNDS, Ordering::Relaxed)
    }
}
