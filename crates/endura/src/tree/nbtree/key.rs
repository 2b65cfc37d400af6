//! Keys, divided into partitions.
//!
//! The three highest bits of a key name one of eight partitions; the rest is its local key. Each
//! partition is a chain of blocks of its own, and an index of its own in DRAM. The local key leaves
//! room in a word for the state of its slot, so that no key and no value is reserved.

/// How many partitions there are.
pub(super) const PARTITIONS: usize = 8;

/// Bits of a local key.
const BITS: u32 = 61;

/// The part of a key that its partition does not share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Local(pub(super) u64);

impl Local {
    /// One beyond the last: where a partition ends.
    pub(super) const END: Self = Self(1 << BITS);
}

/// The partition and the local key of `key`.
#[inline(always)]
pub(super) fn split(key: u64) -> (usize, Local) {
    ((key >> BITS) as usize, Local(key & (Local::END.0 - 1)))
}

/// The key of a local key.
#[inline(always)]
pub(super) fn join(partition: usize, local: Local) -> u64 {
    (partition as u64) << BITS | local.0
}

/// One byte that equal keys have in common; never 0.
#[inline(always)]
pub(super) fn tag(local: Local) -> u8 {
    // The high byte of a product depends on all bits of the key.
    ((local.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_its_two_parts() {
        for key in [0, 1, u64::MAX, 1 << 63, (1 << 61) - 1, 1 << 61, 0xdead_beef_0000_0001] {
            let (partition, local) = split(key);
            assert!(partition < PARTITIONS && local < Local::END);
            assert_eq!(join(partition, local), key);
            assert_ne!(tag(local), 0);
        }
    }
}
