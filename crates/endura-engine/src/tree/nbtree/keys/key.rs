//! Keys, and their division into partitions.
//!
//! The three highest bits of a key select one of eight partitions; the rest is its local key. Each partition has its
//! own chain of blocks, and its own index in DRAM. A word has space for a local key and the state of its slot, so that
//! no key and no value is reserved.

/// The number of partitions.
pub(crate) const PARTITIONS: usize = 8;

/// Bits of a local key.
const BITS: u32 = 61;

/// The bits of a key below those of its partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Local(pub(crate) u64);

impl Local {
    /// One more than the last local key: the end of a partition.
    pub(crate) const END: Self = Self(1 << BITS);
}

/// The partition and the local key of `key`.
#[inline(always)]
pub(crate) fn split(key: u64) -> (usize, Local) {
    ((key >> BITS) as usize, Local(key & (Local::END.0 - 1)))
}

/// The key with this partition and local key.
#[inline(always)]
pub(crate) fn join(partition: usize, local: Local) -> u64 {
    (partition as u64) << BITS | local.0
}

/// A mapping of keys between two bounds to 31 bits. The *head* of a key is its distance from the lower bound, shifted
/// to 31 bits. The heads of ascending keys ascend, though some may be equal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) base: u64,
    pub(crate) shift: u32,
}

impl Scale {
    /// A number above every head. Like the heads it is below 2³¹.
    pub(crate) const BEYOND: u32 = i32::MAX as u32;

    pub(crate) fn between(low: Local, high: Local) -> Self {
        let bits = u64::BITS - high.0.saturating_sub(low.0).leading_zeros();
        Self { base: low.0, shift: bits.saturating_sub(31) }
    }

    /// The head of a key: 0 below the lower bound, and at most [`BEYOND`](Self::BEYOND) - 1.
    #[inline(always)]
    pub(crate) fn head(self, key: Local) -> u32 {
        let distance = key.0.saturating_sub(self.base) >> (self.shift % u64::BITS);
        distance.min(u64::from(Self::BEYOND) - 1) as u32
    }
}

/// The hash of a key, or of a fingerprint of it, which selects where in a block to search for the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hash(u64);

impl Hash {
    #[inline(always)]
    pub(crate) fn of(number: u64) -> Self {
        // The higher bits of a product depend on all bits of the number.
        Self(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The fingerprint of an entry in its leaf: seven bits of the hash, and a bit that is set if the entry is not in
    /// its home line. Never 0.
    #[inline(always)]
    pub(crate) fn fingerprint(self, is_at_home: bool) -> u8 {
        let seven = (self.0 >> 57) as u8;
        // This is not a branch, because a branch would be mispredicted in every other insert.
        std::hint::select_unpredictable(is_at_home, seven.max(1), seven | 0x80)
    }

    /// The number of the home line of a key among `lines` lines (at most 16). It depends on other bits of the hash than the
    /// fingerprint.
    #[inline(always)]
    pub(crate) fn home(self, lines: usize) -> usize {
        ((self.0 >> 40 & 0xffff) as usize * lines) >> 16
    }
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
            assert!(
                [true, false]
                    .into_iter()
                    .all(|at_home| Hash::of(local.0).fingerprint(at_home) != 0)
            );
            assert!((1..=16).all(|lines| Hash::of(local.0).home(lines) < lines));
        }
    }

    #[test]
    fn neighbours_live_in_all_lines_alike() {
        for stride in [1_u64, 3, 1 << 10, 1 << 20, 1 << 33, 1 << 44] {
            let mut homes = [0; 16];
            (0..1600).for_each(|n| homes[Hash::of(n * stride).home(16)] += 1);
            assert!(homes.iter().all(|count| (60..140).contains(count)), "{stride}: {homes:?}");
        }
    }
}
