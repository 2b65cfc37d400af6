//! Keys, divided into partitions.
//!
//! The three highest bits of a key name one of eight partitions; the rest is its local key. Each
//! partition is a chain of blocks of its own, and an index of its own in DRAM. The local key leaves
//! room in a word for the state of its slot, so that no key and no value is reserved.

/// How many partitions there are.
pub(crate) const PARTITIONS: usize = 8;

/// Bits of a local key.
const BITS: u32 = 61;

/// The part of a key that its partition does not share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Local(pub(crate) u64);

impl Local {
    /// One beyond the last: where a partition ends.
    pub(crate) const END: Self = Self(1 << BITS);
}

/// The partition and the local key of `key`.
#[inline(always)]
pub(crate) fn split(key: u64) -> (usize, Local) {
    ((key >> BITS) as usize, Local(key & (Local::END.0 - 1)))
}

/// The key of a local key.
#[inline(always)]
pub(crate) fn join(partition: usize, local: Local) -> u64 {
    (partition as u64) << BITS | local.0
}

/// Keys between two bounds in 31 bits, as far apart as these allow: the *head* of a key is its distance
/// from the lower bound, shifted. Keys in order have heads in order, though some may have the same.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) base: u64,
    pub(crate) shift: u32,
}

impl Scale {
    /// Above every head.
    pub(crate) const BEYOND: u32 = u32::MAX;

    pub(crate) fn between(low: Local, high: Local) -> Self {
        let bits = u64::BITS - high.0.saturating_sub(low.0).leading_zeros();
        Self { base: low.0, shift: bits.saturating_sub(31) }
    }

    /// The head of a key: 0 before the lower bound, and at most one below [`BEYOND`](Self::BEYOND).
    #[inline(always)]
    pub(crate) fn head(self, key: Local) -> u32 {
        let distance = key.0.saturating_sub(self.base) >> (self.shift % u64::BITS);
        distance.min(u64::from(Self::BEYOND) - 1) as u32
    }
}

/// What equal keys have in common: where in a block to look for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hash(u64);

impl Hash {
    #[inline(always)]
    pub(crate) fn of(local: Local) -> Self {
        // The higher bits of a product depend on all bits of the key.
        Self(local.0.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// What a leaf remembers of an entry: seven bits, and whether it is not at home. Never 0.
    #[inline(always)]
    pub(crate) fn fingerprint(self, is_at_home: bool) -> u8 {
        let seven = (self.0 >> 57) as u8;
        // Without a branch: for who enters a key it would be mispredicted every other time.
        std::hint::select_unpredictable(is_at_home, seven.max(1), seven | 0x80)
    }

    /// Which of so many lines (at most 16) a key is entered in if there is room: by other bits than
    /// the fingerprint.
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
                [true, false].into_iter().all(|at_home| Hash::of(local).fingerprint(at_home) != 0)
            );
            assert!((1..=16).all(|lines| Hash::of(local).home(lines) < lines));
        }
    }

    #[test]
    fn neighbours_live_in_all_lines_alike() {
        for stride in [1_u64, 3, 1 << 10, 1 << 20, 1 << 33, 1 << 44] {
            let mut homes = [0; 16];
            (0..1600).for_each(|n| homes[Hash::of(Local(n * stride)).home(16)] += 1);
            assert!(homes.iter().all(|count| (60..140).contains(count)), "{stride}: {homes:?}");
        }
    }
}
