//! The claimed slots of a block.
//!
//! A cache line holds four entries; the first line has the header in place of one entry. An entry goes to the *home*
//! line of its key, or to the first line after the home line that has a free slot. In this line it goes to the next
//! free slot. So a thread that searches for a key can prefetch the home line before it has read the block's leaf. In a
//! block that is at least half full, six of seven entries are in their home line (the test below counts them). The home
//! line is only a hint: a search finds an entry by its fingerprint.

use crate::tree::nbtree::keys::form::KeyForm;

/// The number of entries of a line.
const PER_LINE: usize = 4;
/// The number of bits of one line's count.
const BITS: usize = 3;
/// For each line, the bit that is set if the line is full.
const FULL: u64 = 0o4444_4444_4444_4444;

/// The number of lines for the slots of a block.
pub(crate) const fn lines(slots: usize) -> usize {
    (slots + 1) / PER_LINE
}

/// The slots of a line, one bit each.
pub(crate) const fn slots_of(line: usize) -> u64 {
    0xf << (PER_LINE * line) >> 1
}

/// The first slot of a line.
pub(crate) const fn first_slot(line: usize) -> usize {
    (PER_LINE * line).saturating_sub(1)
}

/// The line of a slot.
pub(crate) const fn line(slot: usize) -> usize {
    (slot + 1) / PER_LINE
}

/// The number of claimed entries in each line of a block, three bits each, lowest line first. The header counts as
/// entries of the first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claims(pub(crate) u64);

impl Claims {
    /// The bits of sixteen lines.
    pub(crate) const MASK: u64 = (1 << (16 * BITS)) - 1;

    /// The claims of an empty block.
    pub(crate) const fn none<K: KeyForm>() -> Self {
        Self(K::HEADER as u64)
    }

    /// Claims one more slot, in line `home` or in the first line after it with a free slot. `None` if all `slots` of
    /// the block are claimed.
    #[inline(always)]
    pub(crate) fn claim(self, home: usize, slots: usize) -> Option<(Self, usize)> {
        let room = !self.0 & FULL & ((1 << (BITS * lines(slots))) - 1);
        let behind = room & (u64::MAX << (BITS * home));
        let first = if behind == 0 { room } else { behind };
        if first == 0 {
            return None;
        }
        let line = first.trailing_zeros() as usize / BITS;
        Some((Self(self.0 + (1 << (BITS * line))), PER_LINE * line + self.of(line) - 1))
    }

    #[inline(always)]
    fn of(self, line: usize) -> usize {
        (self.0 >> (BITS * line) & 7) as usize
    }

    /// The claims of a block in which, in each line, all slots up to the last one whose bit is set in `used` are
    /// claimed.
    pub(crate) fn up_to<K: KeyForm>(used: u64) -> Self {
        // With the bits of the header each line has four bits.
        let entries = used << 1 | ((1 << K::HEADER) - 1);
        let of = |line| (entries >> (PER_LINE * line) & 0xf) as u8;
        let count = |line| u64::from(u8::BITS - of(line).leading_zeros());
        Self((0..16).fold(0, |claims, line| claims | count(line) << (BITS * line)))
    }

    /// The claimed slots, one bit each.
    pub(crate) fn slots<K: KeyForm>(self) -> u64 {
        let of = |line| ((1 << self.of(line)) - 1) << (PER_LINE * line);
        let entries = (0..16).fold(0, |entries, line| entries | of(line));
        (entries >> K::HEADER) << (K::HEADER - 1)
    }

    /// The number of claimed slots.
    #[inline(always)]
    pub(crate) fn total<K: KeyForm>(self) -> usize {
        let every_other = 0o0707_0707_0707_0707;
        let entries = self.0 - Self::none::<K>().0;
        // Eight sums of two lines, six bits each; then their total, at most 63, in the highest six bits.
        let pairs = (entries & every_other) + (entries >> BITS & every_other);
        (pairs.wrapping_mul(0o0101_0101_0101_0101) >> 42 & 0o77) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::nbtree::keys::key::Hash;
    use crate::tree::nbtree::keys::numbers::NumberKeys;

    #[test]
    fn each_slot_is_claimed_once_and_homes_come_first() {
        for slots in [3, 7, 11, 15, 63] {
            for home in 0..lines(slots) {
                let (mut claims, mut seen) = (Claims::none::<NumberKeys>(), 0_u64);
                assert_eq!(
                    (
                        claims.slots::<NumberKeys>(),
                        claims.total::<NumberKeys>(),
                        Claims::up_to::<NumberKeys>(0)
                    ),
                    (0, 0, claims)
                );
                for n in 0..slots {
                    let (next, slot) = claims.claim(home, slots).unwrap();
                    assert!(slot < slots && seen & 1 << slot == 0, "{slot} of {slots}");
                    let at_home = n < PER_LINE - usize::from(home == 0);
                    assert_eq!(line(slot) == home, at_home, "{slot} of {slots}");
                    assert_eq!(slots_of(home) & 1 << slot != 0, at_home, "{slot} of {slots}");
                    seen |= 1 << slot;
                    claims = next;
                    assert_eq!(
                        (claims.slots::<NumberKeys>(), claims.total::<NumberKeys>()),
                        (seen, n + 1)
                    );
                }
                assert_eq!(
                    (claims.claim(home, slots), Claims::up_to::<NumberKeys>(seen)),
                    (None, claims)
                );
            }
        }
    }

    #[test]
    fn most_entries_of_blocks_between_half_full_and_full_are_at_home() {
        let (mut entries, mut at_home) = (0, 0);
        for block in 0..200_u64 {
            let (mut claims, mut here) = (Claims::none::<NumberKeys>(), 0);
            for n in 0..63 {
                let home = Hash::of((block * 63 + n) * 0x1234_5677 + n * n).home(16);
                let (next, slot) = claims.claim(home, 63).unwrap();
                (claims, here) = (next, here + u64::from(line(slot) == home));
                if n >= 31 {
                    (entries, at_home) = (entries + n + 1, at_home + here);
                }
            }
        }
        assert!(7 * at_home > 6 * entries, "{at_home} of {entries}");
    }

    #[test]
    fn slots_before_a_used_one_count_as_claimed() {
        assert_eq!(Claims::up_to::<NumberKeys>(1 << 2).slots::<NumberKeys>(), 0b111);
        assert_eq!(Claims::up_to::<NumberKeys>(1 << 6 | 1).slots::<NumberKeys>(), 0b111_1001);
        assert_eq!(Claims::up_to::<NumberKeys>(1 << 62).slots::<NumberKeys>(), 0xf << 59);
    }
}
