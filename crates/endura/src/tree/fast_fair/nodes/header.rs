//! What the header line of a node says: its fences, its right sibling, its level.

/// Where the right half of the key space starts. No node crosses it at the leaf level, so that
/// the rightmost leaf has `low >= 1` and `low - 1` is free to mean "dead".
pub(crate) const MIDDLE: u64 = 1 << 63;
/// The highest level that a tree can reach: more would need more nodes than there are offsets.
pub(crate) const MAX_LEVEL: u64 = 15;

/// In which state the right sibling is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    /// It owns what lies right of `high`.
    Normal = 0,
    /// It is new: it owns nothing until `high` is its `low`.
    Splitting = 1,
    /// It is being absorbed: it owns nothing once `high` is its `high`.
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

/// What a new node starts with.
pub(crate) struct Init {
    pub(crate) lock: u64,
    pub(crate) fences: Fences,
    pub(crate) sibling: u64,
    pub(crate) level: u64,
}

/// The keys that a node is responsible for: `low..high`, up to 2^64 where `high` is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fences {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

impl Fences {
    /// Whether `key` lies left of the upper fence.
    #[inline(always)]
    pub(crate) fn is_below_high(self, key: u64) -> bool {
        // With `high` 0 the last key below it is MAX.
        key <= self.high.wrapping_sub(1)
    }

    /// The largest key that can be live. (In an inner node that spans all keys `low - 1` is MAX,
    /// so MAX itself is left out there; it is never a separator, see [`route_key`].)
    pub(crate) fn last(self) -> u64 {
        let last = self.high.wrapping_sub(1);
        if self.low == 0 && self.high == 0 { route_key(last) } else { last }
    }

    /// A key that is not live under these fences.
    pub(crate) fn dead(self) -> u64 {
        if self.high != 0 { self.high } else { self.low.wrapping_sub(1) }
    }
}

/// The key by which inner nodes are searched: no separator is MAX, so MAX lies where MAX - 1 does,
/// and the dead slots of a node that spans all keys (their key is MAX) are never taken for live.
#[inline(always)]
pub(crate) fn route_key(key: u64) -> u64 {
    key.min(u64::MAX - 1)
}
