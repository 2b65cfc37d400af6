//! The fingerprints of a leaf: its first line.
//!
//! The line has one byte for each slot, 0 if the key of the slot is not known. The last byte, which belongs to no slot,
//! records whether the fingerprints of all entries are present.

use crate::cpu::byte_search::{Lanes, Line, Narrow, Wide, set_byte};
use crate::cpu::prefetch::prefetch;
use crate::sync::Ordering;

use crate::tree::nbtree::blocks::claims::{first_slot, slots_of};
use crate::tree::nbtree::keys::key::Hash;

/// This bit is set if the fingerprints of all entries are present.
const READ: u64 = 1 << 56;

#[derive(Debug, Default)]
pub(crate) struct Fingerprints(Line);

impl Fingerprints {
    /// Clears the fingerprints of a leaf that no other thread uses. Relaxed, as in [`set_all`](Self::set_all).
    pub(crate) fn clear(&self) {
        self.set_all(&[0; 64]);
    }

    /// Sets all fingerprints of a leaf that no other thread uses. Relaxed: `replace_by` and the exchange of a cell
    /// publish the leaf, and its fingerprints with it.
    pub(crate) fn set_all(&self, fingerprints: &[u8; 64]) {
        for (word, fingerprints) in self.0.0.iter().zip(fingerprints.as_chunks().0) {
            word.store(u64::from_le_bytes(*fingerprints), Ordering::Relaxed);
        }
    }

    /// Sets the fingerprint of a slot, before the slot's word has the key. Two threads may set the same fingerprint.
    #[inline(always)]
    pub(crate) fn set(&self, slot: usize, fingerprint: u8) {
        // Release: pairs with the load in `matching`.
        set_byte(&self.0, slot, fingerprint);
    }

    /// The slots that may have the key with this hash, one bit each; `home` is the home line of the key.
    #[inline(always)]
    pub(crate) fn matching(&self, hash: Hash, home: usize) -> u64 {
        match Wide::detect() {
            Some(wide) => self.matching_by(wide, hash, home),
            None => self.matching_by(Narrow, hash, home),
        }
    }

    #[inline(always)]
    fn matching_by(&self, lanes: impl Lanes, hash: Hash, home: usize) -> u64 {
        self.at_home(lanes, hash, home) | self.away(lanes, hash)
    }

    #[inline(always)]
    fn at_home(&self, lanes: impl Lanes, hash: Hash, home: usize) -> u64 {
        lanes.four_like(&self.0, hash.fingerprint(true), first_slot(home)) & slots_of(home)
    }

    #[inline(always)]
    fn away(&self, lanes: impl Lanes, hash: Hash) -> u64 {
        lanes.bytes_like(&self.0, hash.fingerprint(false))
    }

    /// Passes the slots that may have the key with this hash to `find`, in one call or in two, until it finds the key.
    ///
    /// If one instruction cannot search the whole line, the slots of the key's home line come first: six of seven
    /// entries are there. An entry that exists during both calls is found by one of them, because it stays in its slot.
    /// If the key moved to another slot between the calls, it was removed in between, so that "absent" is a correct
    /// result.
    #[inline(always)]
    pub(crate) fn search(
        &self,
        hash: Hash,
        home: usize,
        mut find: impl FnMut(u64) -> Option<usize>,
    ) -> Option<usize> {
        match Wide::detect() {
            Some(wide) => find(self.matching_by(wide, hash, home)),
            None => self.search_by(Narrow, hash, home, find),
        }
    }

    #[inline(always)]
    fn search_by(
        &self,
        lanes: impl Lanes,
        hash: Hash,
        home: usize,
        mut find: impl FnMut(u64) -> Option<usize>,
    ) -> Option<usize> {
        find(self.at_home(lanes, hash, home)).or_else(|| find(self.away(lanes, hash)))
    }

    /// Records that the fingerprints of all entries are present.
    pub(crate) fn set_read(&self) {
        // Release: orders the bit after the fingerprints.
        self.0.0[7].fetch_or(READ, Ordering::AcqRel);
    }

    /// Whether the fingerprints of all entries are present. It may be `false` for a moment after the leaf became OPEN.
    #[inline(always)]
    pub(crate) fn are_read(&self) -> bool {
        // Acquire: pairs with `set_read`.
        self.0.0[7].load(Ordering::Acquire) & READ != 0
    }

    /// Prefetches the line.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::nbtree::blocks::claims::{Claims, line, lines};
    use crate::tree::nbtree::keys::numbers::NumberKeys;
    use crate::tree::nbtree::metadata::leaf::slots;

    #[test]
    fn tags_are_found_in_every_slot_and_nowhere_else() {
        for key in 0..300 {
            let (hash, other) = (Hash::of(key), Hash::of(key + 1));
            let home = hash.home(lines(63));
            for slot in 0..63 {
                let fingerprints = Fingerprints::default();
                fingerprints.set(slot, hash.fingerprint(line(slot) == home));
                assert_eq!(fingerprints.matching(hash, home), 1 << slot, "{key}");
                let first = |matching: u64| slots(matching).next();
                assert_eq!(fingerprints.search(hash, home, first), Some(slot), "{key}");
                assert_eq!(fingerprints.search_by(Narrow, hash, home, first), Some(slot), "{key}");
                let alike = hash.fingerprint(true) == other.fingerprint(true)
                    || hash.fingerprint(false) == other.fingerprint(false);
                assert!(alike || fingerprints.matching(other, other.home(lines(63))) == 0, "{key}");
                // The fingerprint of an entry at home does not match in another line, nor that of an entry away from
                // home in its home.
                fingerprints.clear();
                fingerprints.set(slot, hash.fingerprint(true));
                assert_eq!(fingerprints.matching(hash, home), slots_of(home) & 1 << slot, "{key}");
            }
            let fingerprints = Fingerprints::default();
            (0..63).for_each(|slot| fingerprints.set(slot, hash.fingerprint(line(slot) == home)));
            fingerprints.set_read();
            assert_eq!(
                fingerprints.matching(hash, home),
                u64::MAX >> 1,
                "the last byte is no slot's"
            );
        }
    }

    #[test]
    fn of_lookups_in_a_leaf_of_45_entries_one_in_nineteen_meets_a_wrong_tag() {
        let (mut lookups, mut wrong) = (0, 0);
        for leaf in 0..1000_u64 {
            let (fingerprints, mut claims) =
                (Fingerprints::default(), Claims::none::<NumberKeys>());
            let key = |n: u64| {
                // The finalizer of splitmix64: keys without order.
                let x = (leaf << 20 | n).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                (x ^ (x >> 31)) >> 3
            };
            for n in 0..45 {
                let hash = Hash::of(key(n));
                let slot;
                (claims, slot) = claims.claim(hash.home(16), 63).unwrap();
                fingerprints.set(slot, hash.fingerprint(line(slot) == hash.home(16)));
            }
            // Half of the keys are present.
            for n in 0..90 {
                let hash = Hash::of(key(n));
                let found = fingerprints.matching(hash, hash.home(16)).count_ones();
                (lookups, wrong) = (lookups + 1, wrong + u32::from(found > u32::from(n < 45)));
            }
        }
        assert!((lookups / 21..lookups / 17).contains(&wrong), "{wrong} of {lookups}");
    }
}
