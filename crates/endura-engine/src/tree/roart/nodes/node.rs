//! A node: it branches on one byte of the key; the bytes before that are the node's prefix.
//!
//! | byte | word | |
//! | --- | --- | --- |
//! | 0 | lock, version, number of children | volatile ([`lock`](crate::tree::roart::nodes::lock)) |
//! | 8 | what this is: magic, kind, depth | immutable |
//! | 16 | prefix: bytes `depth - 8 .. depth` of every key below, right-aligned | immutable |
//! | 24 | the record of the key that ends here (EOK), or 0 | |
//! | 32.. | children: 4, 16 or 48 in any order, or 256 by their byte | |
//! | 416.. | 48 only: for each byte, the number of its child plus one; 0 = none | volatile |
//!
//! `depth` is the index of the byte on which the node branches. Depth and prefix never change, so that a node can get a
//! new parent without being changed itself: the inconsistency that the paper repairs after a crash cannot arise.

use crate::media::{LINE, Media, Ordering, Region, Span};
use crate::space::Guard;
use crate::tree::LONGEST_KEY;
use crate::{Error, Result};

use crate::tree::roart::nodes::lock::{LOCK, LockWord};
use crate::tree::roart::nodes::word::{Link, LinkKind, NodeKind};

const META: usize = 1;
const PREFIX: usize = 2;
pub(crate) const EOK: usize = 3;
const CHILDREN: usize = 4;
const INDEX: usize = CHILDREN + 48;
/// Bytes of the prefix that a node stores.
const REMEMBERED: usize = 8;

const MAGIC: u64 = 0xA47D << 48;

fn meta(kind: NodeKind, depth: usize) -> u64 {
    MAGIC | (kind as u64) << 32 | depth as u64
}

/// The last bytes of a prefix, as a node stores them.
fn remembered(prefix: &[u8]) -> u64 {
    let from = prefix.len().saturating_sub(REMEMBERED);
    prefix[from..].iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// The comparison of a key with the prefix of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// The key has the prefix: it continues below the node, or ends at it.
    Matches,
    /// The key has the stored part of the prefix; the prefix has bytes before that.
    MayMatch,
    /// The key differs from the prefix at this index, where the keys below have this byte. (If the prefix has bytes
    /// that the node does not store, the key may also differ earlier.)
    LeavesAt(usize, u8),
}

/// A node.
pub(crate) struct Node<'m, M> {
    words: Region<'m, M>,
    kind: NodeKind,
    depth: usize,
}

impl<M> Clone for Node<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Node<'_, M> {}

/// The words of a node of 256 children.
const WORDS_OF_N256: usize = CHILDREN + 256;

fn words_of(kind: NodeKind) -> usize {
    match kind {
        NodeKind::N48 => INDEX + 32,
        kind => CHILDREN + kind.children(),
    }
}

impl<'m, M: Media> Node<'m, M> {
    /// Bytes of the chunk: whole cache lines.
    pub(crate) fn bytes_of(kind: NodeKind) -> u64 {
        (8 * words_of(kind) as u64).next_multiple_of(LINE)
    }

    /// Prefetches what a search reads first in a node that is not yet entered: its header, and the word of `byte`, the
    /// byte after the one on which the parent branches. Most often the node branches on that byte. Only the header says
    /// so for certain, and waiting for it would be a second miss. A hint: no result rests on it.
    #[inline]
    pub(crate) fn prefetch_for_search(media: &M, (at, kind): (u64, NodeKind), byte: Option<&u8>) {
        let byte = usize::from(*byte.unwrap_or(&0));
        match kind {
            NodeKind::N4 | NodeKind::N16 => media.prefetch(at, Self::bytes_of(kind)),
            NodeKind::N48 => {
                media.prefetch(at, 8);
                media.prefetch(at + 8 * (INDEX + byte / 8) as u64, 8);
            }
            NodeKind::N256 => {
                media.prefetch(at, 8);
                media.prefetch(at + 8 * (CHILDREN + byte) as u64, 8);
            }
        }
    }

    /// The node of this kind at `at`.
    #[inline]
    pub(crate) fn enter(media: &'m M, at: u64, kind: NodeKind) -> Result<Self> {
        let words = Region::new(media, at, words_of(kind))?;
        // Relaxed: the word that led here was loaded with Acquire, and this one never changes.
        let found = words.load(META, Ordering::Relaxed);
        let depth = found as u32;
        if found == meta(kind, depth as usize) {
            Ok(Self { words, kind, depth: depth as usize })
        } else {
            Err(Error::Corrupt { offset: at, what: "not a ROART node of the expected kind" })
        }
    }

    /// The root at `at`.
    pub(crate) fn root(media: &'m M, at: u64) -> Result<Self> {
        let root = Self::enter(media, at, NodeKind::N256)?;
        if root.depth == 0 { Ok(root) } else { Err(root.corrupt("a root with a prefix")) }
    }

    /// If `link` leads to a node of 256 children that branches on byte `from` of the key: the word under that byte.
    /// `None` if the link leads elsewhere, or if the key ends before that byte. The header and the word are loaded in
    /// parallel: neither load waits for the other.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn child_by_byte(media: &M, link: Link, key: &[u8], from: usize) -> Option<Link> {
        // An empty word may still have the kind. Its offset leads to the superblock, which is not a node.
        if !link.is_to(NodeKind::N256) {
            return None;
        }
        let (words, &byte) = (Span::<M, WORDS_OF_N256>::within(media, link.at())?, key.get(from)?);
        // Relaxed, as in `enter`.
        if words.load(META, Ordering::Relaxed) != meta(NodeKind::N256, from) {
            return None;
        }
        let i = CHILDREN + usize::from(byte);
        // Acquire, as in `load`.
        let link = Link(words.load(i, Ordering::Acquire));
        if link.is_dirty() {
            words.help_flush(i, 1);
        }
        Some(link)
    }

    #[inline]
    pub(crate) fn at(&self) -> u64 {
        self.words.offset()
    }

    #[inline]
    pub(crate) fn words(&self) -> Region<'m, M> {
        self.words
    }

    pub(crate) fn kind(&self) -> NodeKind {
        self.kind
    }

    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    #[cold]
    pub(crate) fn corrupt(self, what: &'static str) -> Error {
        Error::Corrupt { offset: self.at(), what }
    }

    #[inline]
    #[track_caller]
    pub(crate) fn version(&self) -> LockWord {
        LockWord::read(&self.words)
    }

    /// Compares the prefix with a key, whose first `from` bytes are known to match.
    #[inline]
    pub(crate) fn compare_prefix(self, key: &[u8], from: usize) -> Prefix {
        let known_from = self.depth.saturating_sub(REMEMBERED).max(from);
        let prefix = self.words.load(PREFIX, Ordering::Relaxed);
        for i in known_from..self.depth {
            let byte = self.prefix_byte(prefix, i);
            if key.get(i) != Some(&byte) {
                return Prefix::LeavesAt(i, byte);
            }
        }
        if known_from > from { Prefix::MayMatch } else { Prefix::Matches }
    }

    #[inline]
    fn prefix_byte(&self, prefix: u64, i: usize) -> u8 {
        (prefix >> (8 * (self.depth - 1 - i))) as u8
    }

    /// The first byte of the prefix that the node stores.
    pub(crate) fn remembers_from(&self) -> usize {
        self.depth.saturating_sub(REMEMBERED)
    }

    /// Word `i`, durable or not: for walks that return no result from it.
    pub(crate) fn peek(&self, i: usize) -> Link {
        // Acquire, as in `load`.
        Link(self.words.load(i, Ordering::Acquire))
    }

    /// Word `i`, made durable if necessary: a result may rest on it, or on its being empty.
    #[inline]
    #[track_caller]
    pub(crate) fn load(&self, i: usize) -> Link {
        // Acquire: pairs with the Release of `publish`, so that the child is visible.
        let link = Link(self.words.load(i, Ordering::Acquire));
        if link.is_dirty() {
            self.words.help_flush(i, 1);
        }
        link
    }

    /// The word of the child under `byte`: its index and its contents. The word may be empty.
    #[inline]
    #[track_caller]
    pub(crate) fn child(&self, byte: u8, generation: u64) -> Option<(usize, Link)> {
        if self.kind == NodeKind::N256 {
            let i = CHILDREN + usize::from(byte);
            return Some((i, self.load(i)));
        }
        self.child_of_few(byte, generation)
    }

    #[track_caller]
    #[inline(never)]
    fn child_of_few(self, byte: u8, generation: u64) -> Option<(usize, Link)> {
        match self.kind {
            NodeKind::N48 if self.version().is_ready(generation) => {
                let number = usize::from(self.index(byte)).checked_sub(1)?;
                // A stale entry of the index leads to the child of another byte, or to none.
                let i = CHILDREN + number.min(self.kind.children() - 1);
                let link = self.load(i);
                (link.byte() == byte && link.0 != 0).then_some((i, link))
            }
            _ => self.search(byte),
        }
    }

    /// The word of the child under `byte`, found by a search of all words: its index and its contents, as from
    /// [`child`](Self::child). A word that was emptied under this byte counts only if no child has the byte.
    #[track_caller]
    fn search(&self, byte: u8) -> Option<(usize, Link)> {
        let mut emptied = None;
        for i in self.places() {
            let link = Link(self.words.load(i, Ordering::Acquire));
            if link.byte() == byte && link.0 != 0 {
                if link.is_dirty() {
                    self.words.help_flush(i, 1);
                }
                if !link.is_empty() {
                    return Some((i, link));
                }
                emptied = Some((i, link));
            }
        }
        emptied
    }

    fn index(&self, byte: u8) -> u8 {
        let word = self.words.load(INDEX + usize::from(byte / 8), Ordering::Acquire);
        word.to_le_bytes()[usize::from(byte % 8)]
    }

    /// The indices of the words of the children.
    pub(crate) fn places(&self) -> std::ops::Range<usize> {
        CHILDREN..CHILDREN + self.kind.children()
    }

    /// The byte of the child in word `i`.
    pub(crate) fn byte_at(&self, i: usize, link: Link) -> u8 {
        match self.kind {
            NodeKind::N256 => (i - CHILDREN) as u8,
            _ => link.byte(),
        }
    }

    /// The child with the smallest byte from `byte` on: its byte, the index of its word, and the word. For `UP` =
    /// false, the child with the largest byte down from there.
    #[track_caller]
    pub(crate) fn next_child<const UP: bool>(&self, byte: u8) -> Option<(u8, usize, Link)> {
        let found = |i: usize| {
            let link = self.load(i);
            (!link.is_empty()).then(|| (self.byte_at(i, link), i, link))
        };
        let byte_place = CHILDREN + usize::from(byte);
        match (self.kind, UP) {
            (NodeKind::N256, true) => (byte_place..CHILDREN + 256).find_map(found),
            (NodeKind::N256, false) => (CHILDREN..byte_place + 1).rev().find_map(found),
            (_, true) => {
                self.places().filter_map(found).filter(|c| c.0 >= byte).min_by_key(|child| child.0)
            }
            (_, false) => {
                self.places().filter_map(found).filter(|c| c.0 <= byte).max_by_key(|child| child.0)
            }
        }
    }

    /// Appends children from `byte` on, up or down, to `out`, until they may hold `want` records. Returns the byte at
    /// which to continue, if there may be more.
    pub(crate) fn take_children<const UP: bool>(
        &self,
        byte: u8,
        want: usize,
        out: &mut Vec<(u8, Link)>,
    ) -> Result<Option<u8>> {
        let found = |i: usize| {
            let link = self.load(i);
            (!link.is_empty()).then(|| (self.byte_at(i, link), link))
        };
        if self.kind != NodeKind::N256 {
            let is_left = |at: &u8| if UP { *at >= byte } else { *at <= byte };
            let first = out.len();
            out.extend(self.places().filter_map(found).filter(|(at, _)| is_left(at)));
            out[first..].sort_unstable_by_key(|&(at, _)| if UP { at } else { !at });
            return Ok(None);
        }
        let (mut at, mut records) = (byte, 0);
        while records < want {
            if let Some((at, link)) = found(CHILDREN + usize::from(at)) {
                records += link.kind()?.likely_records();
                out.push((at, link));
            }
            let next = if UP { at.checked_add(1) } else { at.checked_sub(1) };
            let Some(next) = next else { return Ok(None) };
            at = next;
        }
        Ok(Some(at))
    }

    /// The index of a word for a new child under `byte`; `None` if the node is full. For the holder of the lock.
    pub(crate) fn vacancy(&self, byte: u8) -> Option<usize> {
        if self.kind == NodeKind::N256 {
            return Some(CHILDREN + usize::from(byte));
        }
        self.places().find(|&i| Link(self.words.load(i, Ordering::Relaxed)).is_empty())
    }

    /// Records in the index that word `i` will hold the child under `byte`. Returns the number of the word that this
    /// changes, or that of the lock word if the node has no index.
    ///
    /// Called before the word itself is stored. Otherwise a reader that searches all words could see the child, and a
    /// later reader that uses the index could miss it.
    pub(crate) fn note(&self, byte: u8, i: usize) -> usize {
        if self.kind != NodeKind::N48 {
            return LOCK;
        }
        let word = INDEX + usize::from(byte / 8);
        let mut bytes = self.words.load(word, Ordering::Relaxed).to_le_bytes();
        bytes[usize::from(byte % 8)] = (i - CHILDREN + 1) as u8;
        // Relaxed: this store is ordered by the Release of the child's word.
        self.words.store(word, u64::from_le_bytes(bytes), Ordering::Relaxed);
        word
    }

    /// The words of all children, each with its byte. For the holder of the lock.
    pub(crate) fn children(&self) -> Vec<Link> {
        let link = |i| (i, Link(self.words.load(i, Ordering::Relaxed)));
        let present = self.places().map(link).filter(|(_, link)| !link.is_empty());
        present.map(|(i, link)| link.under(self.byte_at(i, link))).collect()
    }

    /// The record of the key that ends here. For the holder of the lock.
    pub(crate) fn eok(&self) -> Link {
        Link(self.words.load(EOK, Ordering::Relaxed))
    }

    /// Rebuilds the index. For the holder of the lock, before any thread uses it.
    pub(crate) fn rebuild_index(&self) {
        if self.kind == NodeKind::N48 {
            let mut index = [0_u8; 256];
            for i in self.places() {
                let link = Link(self.words.load(i, Ordering::Relaxed));
                if !link.is_empty() {
                    index[usize::from(link.byte())] = (i - CHILDREN + 1) as u8;
                }
            }
            self.write_index(&index);
        }
    }

    fn write_index(&self, index: &[u8; 256]) {
        for (word, bytes) in index.chunks_exact(8).enumerate() {
            let value = bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
            // Relaxed: this store is ordered by the Release of the unlock, or by that of the word that leads to a new
            // node.
            self.words.store(INDEX + word, value, Ordering::Relaxed);
        }
    }

    /// Writes a node that is not reachable yet, and starts the write-back of its persistent part.
    pub(crate) fn create(guard: &Guard<'m, M>, at: u64, new: &NewNode<'_>) -> Result<Self> {
        let kind = new.kind;
        let words = Region::new(guard.media(), at, words_of(kind))?;
        let depth = new.prefix.len();
        let node = Self { words, kind, depth };
        let live = new.children.len() + usize::from(!new.eok.is_empty());
        // All relaxed: nothing leads here before the fence and the Release store in `publish` (or in `make_map`, for a
        // root).
        for (word, value) in [
            (LOCK, LockWord::created(guard, at, live)),
            (META, meta(kind, depth)),
            (PREFIX, remembered(new.prefix)),
            (EOK, new.eok.0),
        ] {
            words.store(word, value, Ordering::Relaxed);
        }
        let mut places = [0; 256];
        let mut index = [0; 256];
        for (number, link) in new.children.iter().enumerate() {
            let byte = usize::from(link.byte());
            places[if kind == NodeKind::N256 { byte } else { number }] = link.0;
            index[byte] = number as u8 + 1;
        }
        for (i, &link) in node.places().zip(&places) {
            words.store(i, link, Ordering::Relaxed);
        }
        if kind == NodeKind::N48 {
            node.write_index(&index);
        }
        words.flush(0, CHILDREN + kind.children());
        Ok(node)
    }
}

/// The node below `node` to which `link` leads. Depths grow on the way down: in a damaged pool no search can loop for
/// ever.
#[inline]
pub(crate) fn enter_child<'m, M: Media>(
    media: &'m M,
    node: &Node<'_, M>,
    link: Link,
) -> Result<Node<'m, M>> {
    let LinkKind::Node(kind) = link.kind()? else {
        return Err(Error::Corrupt { offset: node.at(), what: "a node where a leaf should be" });
    };
    let child = Node::enter(media, link.at(), kind)?;
    match child.depth() {
        depth if depth <= node.depth() => {
            Err(child.corrupt("a node that is no deeper than its parent"))
        }
        depth if depth > LONGEST_KEY => {
            Err(child.corrupt("a node that lies deeper than keys are long"))
        }
        _ => Ok(child),
    }
}

/// The contents of a new node.
pub(crate) struct NewNode<'a> {
    pub(crate) kind: NodeKind,
    /// The bytes that all keys below share; the node branches on the byte after them.
    pub(crate) prefix: &'a [u8],
    pub(crate) eok: Link,
    pub(crate) children: &'a [Link],
}
