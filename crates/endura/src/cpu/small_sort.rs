//! A sort of a few numbers without branches that depend on them. A comparison sort mispredicts half of those.
//!
//! The *rank* of a number is the count of smaller ones, and so its place in the order. If one instruction compares
//! sixteen numbers, the ranks of 64 take four comparisons and four additions each.

#[cfg(all(target_arch = "x86_64", not(all(test, loom))))]
use super::byte_search::Wide;

/// So many are sorted at most.
pub(crate) const MOST: usize = 64;

/// Behind the last place of an order.
pub(crate) const NO_PLACE: u8 = u8::MAX;

/// The places of numbers in the order of these, and the same places as one bit each.
pub(crate) type Places = ([u8; MOST], u64);

/// Where the numbers are that are below `limit`, the smallest first. Of equal ones each is there, in any
/// order.
pub(crate) fn order(numbers: &[u64; MOST], limit: u64) -> Places {
    #[cfg(all(target_arch = "x86_64", not(all(test, loom))))]
    if Wide::detect().is_some()
        // SAFETY: a `Wide` says that there is AVX-512BW.
        && let Some(places) = unsafe { wide::order(numbers, limit) }
    {
        return places;
    }
    by_comparison(numbers, limit)
}

fn by_comparison(numbers: &[u64; MOST], limit: u64) -> Places {
    let (mut order, mut bits, mut count) = ([NO_PLACE; MOST], 0, 0);
    for (at, _) in numbers.iter().enumerate().filter(|(_, number)| **number < limit) {
        order[count] = at as u8;
        bits |= 1 << at;
        count += 1;
    }
    order[..count].sort_unstable_by_key(|&at| numbers[usize::from(at)]);
    (order, bits)
}

#[cfg(all(target_arch = "x86_64", not(all(test, loom))))]
mod wide {
    use std::arch::x86_64::{
        __m512i, _mm512_cmplt_epu32_mask, _mm512_mask_add_epi32, _mm512_set1_epi32,
    };

    use super::{MOST, NO_PLACE, Places};

    const LANES: usize = 16;

    /// As the function outside; `None` if 31 bits do not distinguish some of the numbers.
    #[target_feature(enable = "avx512bw")]
    pub(super) fn order(numbers: &[u64; MOST], limit: u64) -> Option<Places> {
        let (heads, bits) = heads(numbers, limit);
        let ranks = ranks(&heads, bits);
        let count = bits.count_ones();
        // Each pair of different heads counts for one of them; what is no number comes after all.
        let pairs = count * count.saturating_sub(1) / 2 + (MOST as u32 - count) * count;
        if ranks.iter().sum::<u32>() != pairs {
            return None;
        }
        let mut order = [NO_PLACE; MOST];
        for (at, &rank) in ranks.iter().enumerate() {
            order[rank as usize % MOST] = at as u8;
        }
        if let Some(behind) = order.get_mut(count as usize) {
            *behind = NO_PLACE;
        }
        Some((order, bits))
    }

    /// The highest 31 bits in which the numbers below `limit` differ, all ones for others; and which are below,
    /// one bit each.
    #[target_feature(enable = "avx512bw")]
    fn heads(numbers: &[u64; MOST], limit: u64) -> ([u32; MOST], u64) {
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for (at, &number) in numbers.iter().enumerate() {
            let is_below = number < limit;
            low = low.min(number);
            high = high.max(if is_below { number } else { 0 });
            bits |= u64::from(is_below) << at;
        }
        let differ = u64::BITS - high.saturating_sub(low).leading_zeros();
        let shift = differ.saturating_sub(31);
        let head = |number: u64| ((number - low) >> shift) as u32;
        (numbers.map(|number| if number < limit { head(number) } else { u32::MAX }), bits)
    }

    /// How many heads of those in `bits` are below each.
    #[target_feature(enable = "avx512bw")]
    fn ranks(heads: &[u32; MOST], mut bits: u64) -> [u32; MOST] {
        // SAFETY: numbers of as many bytes, of which any are good.
        let lanes: [__m512i; MOST / LANES] = unsafe { std::mem::transmute(*heads) };
        let (zero, one) = (_mm512_set1_epi32(0), _mm512_set1_epi32(1));
        let mut ranks = [zero; MOST / LANES];
        while bits != 0 {
            let head = _mm512_set1_epi32(heads[bits.trailing_zeros() as usize % MOST] as i32);
            for (ranks, &lanes) in ranks.iter_mut().zip(&lanes) {
                let above = _mm512_cmplt_epu32_mask(head, lanes);
                *ranks = _mm512_mask_add_epi32(*ranks, above, *ranks, one);
            }
            bits &= bits - 1;
        }
        // SAFETY: as above.
        unsafe { std::mem::transmute(ranks) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn check(numbers: &[u64; MOST], limit: u64) {
        for (order, bits) in [order(numbers, limit), by_comparison(numbers, limit)] {
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
            for shift in [0, 1, 20, 31, 32, 40, 57] {
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
    fn numbers_far_from_the_others_and_equal_ones_are_sorted() {
        let far = |n| if n % 2 == 0 { n as u64 * 7 % 64 } else { (1 << 61) - n as u64 };
        check(&std::array::from_fn(far), 1 << 61);
        check(&std::array::from_fn(|n| (n as u64 * 7 % 64).min(30)), 31);
        for same in [0, 1, u64::MAX - 1, u64::MAX] {
            check(&[same; MOST], u64::MAX);
            check(&[same; MOST], 1);
        }
    }
}
