//! The header line of a node: its fences, its right sibling, its level.

/// The start of the right half of the key space. No leaf covers keys on both sides of it, so that the rightmost leaf
/// has `low >= 1`, and `low - 1` is free to mean "dead".
pub(crate) const MIDDLE: u64 = 1 << 63;
/// The highest level that a tree can reach: more levels would need more nodes than there are offsets.
pub(crate) const MAX_LEVEL: u64 = 15;

/// The state of the right sibling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    /// The sibling owns the keys from this node's `high` on.
    Normal = 0,
    /// The sibling is new. It owns nothing until this node's `high` equals the sibling's `low`.
    Splitting = 1,
    /// The sibling is being absorbed. It owns nothing once this node's `high` equals the sibling's `high`.
    Merging = 2,
}

/// The link to the right sibling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sibling {
    pub(crate) at: u64,
    pub(crate) tag: Tag,
}

impl Sibling {
    pub(crate) fn normal(at: u64) -> Self {
        Self { at, tag: Tag::Normal }
    }

    pub(crate) fn word(self) -> u64 {
        self.at | (self.tag as u64) << 48
    }
}

/// The header of a new node.
pub(crate) struct Init {
    pub(crate) lock: u64,
    pub(crate) fences: Fences,
    pub(crate) sibling: u64,
    pub(crate) level: u64,
}

/// The range of keys that a node covers: `low..high`, up to 2^64 if `high` is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fences {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

impl Fences {
    /// Whether `key` is below the upper fence.
    #[inline(always)]
    pub(crate) fn is_below_high(self, key: u64) -> bool {
        // If `high` is 0, the last key below it is MAX.
        key <= self.high.wrapping_sub(1)
    }

    /// The largest key that can be live. (In an inner node that spans all keys, the dead key, `low - 1`, is MAX. So MAX
    /// is never live there. No separator is MAX, see [`route_key`].)
    pub(crate) fn last(self) -> u64 {
        let last = self.high.wrapping_sub(1);
        if self.low == 0 && self.high == 0 { route_key(last) } else { last }
    }

    /// A key that is not live between these fences.
    pub(crate) fn dead(self) -> u64 {
        if self.high != 0 { self.high } else { self.low.wrapping_sub(1) }
    }
}

/// The key by which inner nodes are searched. No separator is MAX, so a search for MAX takes the same way as one for
/// MAX - 1. The dead slots of a node that spans all keys have the key MAX. As no inner node is searched for MAX, no
/// search takes them for live.
#[inline(always)]
pub(crate) fn route_key(key: u64) -> u64 {
    key.min(u64::MAX - 1)
}
