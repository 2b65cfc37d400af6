//! The words that lead from one chunk to another.
//!
//! ```text
//!          63       60 59  56 55  48 47           4 3     1   0
//! in nodes | hint 4   | kind 4 | byte 8 | offset / 16  | 0 0 0 | DIRTY |
//! in arrays | fingerprint 16            | offset / 16  | 0 0 0 | DIRTY |
//! ```
//!
//! A word whose offset is 0 is empty, whatever else it holds: a crash may leave the byte or the fingerprint of the old
//! child. DIRTY says that the word may not be durable yet.

use crate::media::LINE;
use crate::tree::records::fingerprint::Fingerprint;
use crate::{Error, Result};

pub(crate) const DIRTY: u64 = 1;
const OFFSET: u64 = ((1 << 48) - 1) & !0xF;
const BYTE_SHIFT: u32 = 48;
const KIND_SHIFT: u32 = 56;
const HINT_SHIFT: u32 = 60;
const FINGERPRINT_SHIFT: u32 = 48;

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NodeKind {
    N4 = 2,
    N16 = 3,
    N48 = 4,
    N256 = 5,
}

impl NodeKind {
    const ALL: [Self; 4] = [Self::N4, Self::N16, Self::N48, Self::N256];

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter()
    }

    /// The smallest kind with space for `children` children.
    pub(crate) fn for_children(children: usize) -> Self {
        Self::ALL.into_iter().find(|kind| kind.children() >= children).unwrap_or(Self::N256)
    }

    /// The most children of a node of this kind.
    #[inline(always)]
    pub(crate) fn children(self) -> usize {
        match self {
            Self::N4 => 4,
            Self::N16 => 16,
            Self::N48 => 48,
            Self::N256 => 256,
        }
    }

    /// The number of children at or below which a node is replaced by a smaller one. The bound is well below the
    /// capacity of the smaller kind: a key that is inserted and removed repeatedly must not replace the node each time.
    pub(crate) fn sparse(self) -> usize {
        match self {
            Self::N4 => 0,
            Self::N16 => 3,
            Self::N48 => 12,
            Self::N256 => 37,
        }
    }
}

/// The kind of a leaf array, by its capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ArrayKind(u8);

impl ArrayKind {
    const CAPACITIES: [u8; 8] = [4, 8, 16, 24, 40, 64, 96, 128];
    const FIRST: u8 = 6;

    /// The capacity of the largest kind.
    pub(crate) const MOST: usize = Self::CAPACITIES[Self::CAPACITIES.len() - 1] as usize;

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..Self::CAPACITIES.len() as u8).map(Self)
    }

    /// The smallest kind with space for `records` records.
    pub(crate) fn for_records(records: usize) -> Option<Self> {
        Self::all().find(|kind| kind.capacity() >= records)
    }

    /// The most records of an array of this kind.
    #[inline(always)]
    pub(crate) fn capacity(self) -> usize {
        Self::CAPACITIES[usize::from(self.0)].into()
    }

    /// The next smaller kind, if there is one.
    pub(crate) fn smaller(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }

    pub(crate) fn code(self) -> u64 {
        u64::from(Self::FIRST + self.0)
    }
}

/// The target of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkKind {
    Record,
    Node(NodeKind),
    Array(ArrayKind),
}

impl LinkKind {
    fn code(self) -> u64 {
        match self {
            Self::Record => 1,
            Self::Node(kind) => kind as u64,
            Self::Array(kind) => kind.code(),
        }
    }

    /// The number of records to expect below the word, for reading ahead. An array is taken to be half full.
    pub(crate) fn likely_records(self) -> usize {
        match self {
            Self::Record => 1,
            Self::Array(kind) => kind.capacity() / 2,
            Self::Node(_) => 64,
        }
    }

    #[inline(always)]
    fn from_code(code: u64) -> Option<Self> {
        match code {
            1 => Some(Self::Record),
            2 => Some(Self::Node(NodeKind::N4)),
            3 => Some(Self::Node(NodeKind::N16)),
            4 => Some(Self::Node(NodeKind::N48)),
            5 => Some(Self::Node(NodeKind::N256)),
            6..14 => Some(Self::Array(ArrayKind(code as u8 - ArrayKind::FIRST))),
            _ => None,
        }
    }
}

/// A word of a node. It leads to a child under its byte, or to the record of the key that ends at the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link(pub(crate) u64);

impl Link {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn record(at: u64, fingerprint: Fingerprint, byte: u8) -> Self {
        Self(fingerprint.hint() << HINT_SHIFT | Self::new(LinkKind::Record, at, byte).0)
    }

    pub(crate) fn node(at: u64, kind: NodeKind, byte: u8) -> Self {
        Self::new(LinkKind::Node(kind), at, byte)
    }

    pub(crate) fn array(at: u64, kind: ArrayKind, byte: u8) -> Self {
        Self::new(LinkKind::Array(kind), at, byte)
    }

    /// The word for the root of a tree, if `at` can be the offset of one.
    #[inline]
    pub(crate) fn root(at: u64) -> Option<Self> {
        (at & !OFFSET == 0 && at != 0).then(|| Self::node(at, NodeKind::N256, 0))
    }

    fn new(kind: LinkKind, at: u64, byte: u8) -> Self {
        debug_assert_eq!(at & !OFFSET, 0, "{at:#x} cannot stand in a word");
        Self(kind.code() << KIND_SHIFT | u64::from(byte) << BYTE_SHIFT | at)
    }

    /// The word for the same child under another byte.
    pub(crate) fn under(self, byte: u8) -> Self {
        Self(self.0 & !(0xFF << BYTE_SHIFT | DIRTY) | u64::from(byte) << BYTE_SHIFT)
    }

    #[inline(always)]
    pub(crate) fn at(self) -> u64 {
        self.0 & OFFSET
    }

    #[inline(always)]
    pub(crate) fn byte(self) -> u8 {
        (self.0 >> BYTE_SHIFT) as u8
    }

    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.at() == 0
    }

    #[inline(always)]
    pub(crate) fn is_dirty(self) -> bool {
        self.0 & DIRTY != 0
    }

    /// Whether the word leads to a node of this kind at the start of a cache line, or nowhere.
    #[inline(always)]
    pub(crate) fn is_to(self, kind: NodeKind) -> bool {
        const WITHIN_A_LINE: u64 = OFFSET & (LINE - 1);
        self.0 & (0xF << KIND_SHIFT | WITHIN_A_LINE) == (kind as u64) << KIND_SHIFT
    }

    /// Whether the record to which this word leads may have a key of this fingerprint.
    pub(crate) fn admits(self, fingerprint: Fingerprint) -> bool {
        self.0 >> HINT_SHIFT == fingerprint.hint()
    }

    #[cold]
    fn of_no_kind(self) -> Error {
        Error::Corrupt { offset: self.at(), what: "a link to a chunk of no known kind" }
    }

    /// The kind of the word's target. The word must not be empty.
    #[inline(always)]
    pub(crate) fn kind(self) -> Result<LinkKind> {
        LinkKind::from_code(self.0 >> KIND_SHIFT & 0xF).ok_or_else(|| self.of_no_kind())
    }
}

/// A word of a leaf array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u64);

impl Slot {
    pub(crate) fn new(at: u64, fingerprint: Fingerprint) -> Self {
        debug_assert_eq!(at & !OFFSET, 0, "{at:#x} cannot stand in a word");
        Self(u64::from(fingerprint.0) << FINGERPRINT_SHIFT | at)
    }

    #[inline(always)]
    pub(crate) fn at(self) -> u64 {
        self.0 & OFFSET
    }

    #[inline(always)]
    pub(crate) fn fingerprint(self) -> Fingerprint {
        Fingerprint((self.0 >> FINGERPRINT_SHIFT) as u16)
    }

    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.at() == 0
    }

    #[inline(always)]
    pub(crate) fn is_dirty(self) -> bool {
        self.0 & DIRTY != 0
    }

    /// The word for the record as the child of a node.
    pub(crate) fn link(self, byte: u8) -> Link {
        Link::record(self.at(), self.fingerprint(), byte)
    }
}

/// What a remove leaves in a word that it empties: enough to tell readers for which key absence is not durable yet.
pub(crate) fn emptied(word: u64) -> u64 {
    word & !OFFSET
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_survive_the_word() {
        let arrays = ArrayKind::all().map(LinkKind::Array);
        let nodes = NodeKind::ALL.map(LinkKind::Node);
        for kind in arrays.chain(nodes).chain([LinkKind::Record]) {
            let link = Link::new(kind, 0xFFFF_FFFF_FFF0, 0xA5);
            assert_eq!((link.kind().unwrap(), link.byte()), (kind, 0xA5));
            assert_eq!(link.at(), 0xFFFF_FFFF_FFF0);
            assert_eq!(Link(link.0 | DIRTY).under(7).byte(), 7);
            assert!(!Link(link.0 | DIRTY).under(7).is_dirty());
            assert!(Link(emptied(link.0)).is_empty() && Link(emptied(link.0)).byte() == 0xA5);
        }
        for code in [0, 14, 15] {
            assert!(Link(code << KIND_SHIFT | 64).kind().is_err());
        }
    }

    #[test]
    fn a_record_keeps_its_fingerprint_between_array_and_node() {
        for key in [&b""[..], b"a", b"\xFF\x80\x00", b"a longer key, of many words"] {
            let fingerprint = Fingerprint::of(key);
            let slot = Slot::new(4096, fingerprint);
            assert_eq!((slot.at(), slot.fingerprint()), (4096, fingerprint));
            assert!(slot.link(9).admits(fingerprint));
            assert_eq!(slot.link(9), Link::record(4096, fingerprint, 9));
        }
    }

    #[test]
    fn sizes_follow_each_other() {
        assert_eq!(ArrayKind::for_records(2).unwrap().capacity(), 4);
        assert_eq!(ArrayKind::for_records(129), None);
        for kind in ArrayKind::all() {
            let above = ArrayKind::for_records(kind.capacity() + 1);
            assert!(above.is_none_or(|above| above.smaller() == Some(kind)));
        }
        for (children, kind) in [(0, NodeKind::N4), (5, NodeKind::N16), (49, NodeKind::N256)] {
            assert_eq!(NodeKind::for_children(children), kind);
        }
    }
}
