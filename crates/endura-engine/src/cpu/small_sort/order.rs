//! A sort of a few numbers without branches that depend on the numbers. In a comparison sort half of such branches are
//! mispredicted.
//!
//! The *rank* of a number is the count of smaller numbers, which is its position in the order. A vector compares one
//! number with several others at once, and the shorter the numbers, the more fit into a vector. So only *heads* are
//! compared: the 16 bits that begin at the highest bit in which the numbers differ. If two heads are equal, which
//! happens in one of fifty blocks of random keys, a comparison sort is used instead.

use super::ranks::{Heads, ranks};
use crate::cpu::vectors::Vectors;

/// How many numbers are sorted.
pub(crate) const MOST: usize = super::ranks::MOST;

/// Marks the unused entries after the last place of an order.
pub(crate) const NO_PLACE: u8 = u8::MAX;

/// The places of the numbers (their indexes in the array), sorted by number, and the same places as one bit each.
pub(crate) type Places = ([u8; MOST], u64);

/// The places of the numbers below `limit`, that of the smallest first. The order among equal numbers is not defined.
pub(crate) fn order(numbers: &[u64; MOST], limit: u64) -> Places {
    order_by(Vectors::chosen(), numbers, limit)
}

fn order_by(vectors: Vectors, numbers: &[u64; MOST], limit: u64) -> Places {
    let chosen = Chosen::of(numbers, limit);
    (chosen.by_ranks(vectors).unwrap_or_else(|| chosen.by_comparison()), chosen.bits)
}

/// The numbers below the limit, and their places.
struct Chosen {
    numbers: [u64; MOST],
    places: [u8; MOST],
    count: usize,
    /// The places, one bit each.
    bits: u64,
}

impl Chosen {
    #[inline(always)]
    fn of(numbers: &[u64; MOST], limit: u64) -> Self {
        let mut chosen = Self { numbers: [0; MOST], places: [0; MOST], count: 0, bits: 0 };
        for (place, &number) in numbers.iter().enumerate() {
            // Without a branch: a number that is not below the limit is overwritten by the next one.
            chosen.numbers[chosen.count % MOST] = number;
            chosen.places[chosen.count % MOST] = place as u8;
            let is_below = number < limit;
            chosen.bits |= u64::from(is_below) << place;
            chosen.count += usize::from(is_below);
        }
        chosen
    }

    /// The heads of the numbers. Flipping their highest bit makes their order that of signed numbers, because the
    /// vectors compare signed numbers.
    #[inline(always)]
    fn heads(&self) -> Heads {
        let first = self.numbers[0];
        let chosen = &self.numbers[..self.count.min(MOST)];
        let differ = chosen.iter().fold(0, |differ, &number| differ | (number ^ first));
        let shift = (u64::BITS - differ.leading_zeros()).saturating_sub(u16::BITS);
        Heads(self.numbers.map(|number| (number >> shift) as i16 ^ i16::MIN))
    }

    /// The order of the numbers, computed from ranks. `None` if two heads are equal.
    #[inline(always)]
    fn by_ranks(&self, vectors: Vectors) -> Option<[u8; MOST]> {
        let ranks = ranks(vectors, &self.heads(), self.count);
        let mut order = [NO_PLACE; MOST];
        for (rank, place) in ranks.into_iter().zip(self.places).take(self.count) {
            order[rank as usize % MOST] = place;
        }
        // Equal heads have the same rank and overwrite each other, so places are missing then.
        let places = order.iter().filter(|&&place| place != NO_PLACE).count();
        (places == self.count).then_some(order)
    }

    #[cold]
    fn by_comparison(&self) -> [u8; MOST] {
        let mut entries: [(u64, u8); MOST] =
            std::array::from_fn(|at| (self.numbers[at], self.places[at]));
        entries[..self.count].sort_unstable();
        std::array::from_fn(|at| if at < self.count { entries[at].1 } else { NO_PLACE })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn check(numbers: &[u64; MOST], limit: u64) {
        let chosen = Chosen::of(numbers, limit);
        let ways = Vectors::available().map(|vectors| order_by(vectors, numbers, limit));
        for (order, bits) in ways.chain([(chosen.by_comparison(), chosen.bits)]) {
            let mut want: Vec<u64> = numbers.iter().copied().filter(|&n| n < limit).collect();
            want.sort_unstable();
            let places = order.iter().take_while(|&&at| at != NO_PLACE).map(|&at| usize::from(at));
            assert!(places.clone().map(|at| numbers[at]).eq(want), "{numbers:?}: {order:?}");
            assert_eq!(places.fold(0_u64, |bits, at| bits | 1 << at), bits);
            assert!((0..MOST).all(|at| (bits >> at & 1 != 0) == (numbers[at] < limit)));
        }
    }

    #[test]
    fn numbers_of_every_count_and_distance_are_sorted() {
        for count in 0..=MOST as u64 {
            for shift in [0, 1, 10, 20, 31, 32, 40, 57] {
                let number = |n: u64| 3 + ((n * 29 % 64) << shift);
                for beyond in [u64::MAX, 3 + (64 << shift)] {
                    let at = |at| if (at as u64) < count { number(at as u64) } else { beyond };
                    check(&std::array::from_fn(at), beyond);
                    check(&std::array::from_fn(|n| at(MOST - 1 - n)), beyond);
                    check(
                        &std::array::from_fn(|n| if n % 2 == 0 { at(n) } else { beyond }),
                        beyond,
                    );
                }
            }
        }
    }

    #[test]
    fn random_numbers_are_sorted() {
        for n in 0..500_u64 {
            let number = |at: usize| {
                let x = (64 * n + at as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                (x ^ (x >> 31)) >> (n % 64)
            };
            check(&std::array::from_fn(number), u64::MAX >> (n % 64).min(62) >> 1);
        }
    }

    #[test]
    fn numbers_far_from_the_others_and_equal_ones_are_sorted() {
        for far in [1 << 20, 1 << 40, 1 << 61] {
            let number = |n| if n % 2 == 0 { n as u64 * 7 % 64 } else { far - n as u64 };
            check(&std::array::from_fn(number), far);
        }
        check(&std::array::from_fn(|n| (n as u64 * 7 % 64).min(30)), 31);
        for same in [0, 1, u64::MAX - 1, u64::MAX] {
            check(&[same; MOST], u64::MAX);
            check(&[same; MOST], 1);
        }
    }
}
