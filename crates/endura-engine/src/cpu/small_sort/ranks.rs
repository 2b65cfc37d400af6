//! Ranks of 16-bit numbers, computed with vectors.

use crate::cpu::vectors::Vectors;

/// How many numbers get a rank.
pub(super) const MOST: usize = 64;

/// 16-bit numbers, aligned as vector loads need it.
#[repr(C, align(64))]
pub(super) struct Heads(pub(super) [i16; MOST]);

/// For each of the first `count` heads, how many of them are below it. The ranks after the first `count` are
/// meaningless.
#[inline(always)]
pub(super) fn ranks(vectors: Vectors, heads: &Heads, count: usize) -> [i16; MOST] {
    match vectors {
        // SAFETY: vectors are chosen only if the processor has them, and AVX-512BW includes AVX2.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        Vectors::Avx2 | Vectors::Avx512 => unsafe { avx2::ranks(heads, count) },
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        _ => sse2::ranks(heads, count),
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        _ => neon::ranks(heads, count),
        #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
        _ => one_by_one(heads, count),
    }
}

#[cfg(any(all(test, not(loom)), miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(super) fn one_by_one(heads: &Heads, count: usize) -> [i16; MOST] {
    let heads = &heads.0;
    let below = |head| heads.iter().take(count).filter(|&&other| other < head).count() as i16;
    heads.map(below)
}

/// Defines `ranks` with vectors of `$lanes` heads. Up to `$few` vectors of heads are ranked with `$few` vectors, more
/// with `$all`.
macro_rules! by_vectors {
    ($lanes:literal, $vector:ty, $few:literal, $all:literal $(, #[$feature:meta])?) => {
        $(#[$feature])?
        pub(super) fn ranks(heads: &Heads, count: usize) -> [i16; MOST] {
            if count <= $lanes * $few {
                ranks_of::<$few>(heads, count)
            } else {
                ranks_of::<$all>(heads, count)
            }
        }

        $(#[$feature])?
        fn ranks_of<const VECTORS: usize>(heads: &Heads, count: usize) -> [i16; MOST] {
            const { assert!($lanes * VECTORS <= MOST) };
            let mut lanes = [splat(0); VECTORS];
            for (at, lanes) in lanes.iter_mut().enumerate() {
                // SAFETY: `VECTORS` vectors are inside of `heads`, which is aligned.
                *lanes = unsafe { heads.0.as_ptr().add($lanes * at).cast::<$vector>().read() };
            }
            let mut below = [splat(0); VECTORS];
            for &other in heads.0.iter().take(count) {
                let other = splat(other);
                for (below, &lanes) in below.iter_mut().zip(&lanes) {
                    *below = count_above(*below, lanes, other);
                }
            }
            let mut ranks = [0; MOST];
            for (at, below) in below.into_iter().enumerate() {
                // SAFETY: `VECTORS` vectors are inside of `ranks`.
                unsafe {
                    ranks.as_mut_ptr().add($lanes * at).cast::<$vector>().write_unaligned(below);
                }
            }
            ranks
        }
    };
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod sse2 {
    use std::arch::x86_64::{__m128i, _mm_cmpgt_epi16, _mm_set1_epi16, _mm_sub_epi16};

    use super::{Heads, MOST};

    by_vectors!(8, __m128i, 6, 8);

    #[inline(always)]
    fn splat(head: i16) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe { _mm_set1_epi16(head) }
    }

    /// Adds one to each lane of `below` whose lane in `lanes` is above `other`.
    #[inline(always)]
    fn count_above(below: __m128i, lanes: __m128i, other: __m128i) -> __m128i {
        // A comparison that is true gives -1. SAFETY: as above.
        unsafe { _mm_sub_epi16(below, _mm_cmpgt_epi16(lanes, other)) }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx2 {
    use std::arch::x86_64::{__m256i, _mm256_cmpgt_epi16, _mm256_set1_epi16, _mm256_sub_epi16};

    use super::{Heads, MOST};

    by_vectors!(16, __m256i, 3, 4, #[target_feature(enable = "avx2")]);

    #[inline]
    #[target_feature(enable = "avx2")]
    fn splat(head: i16) -> __m256i {
        _mm256_set1_epi16(head)
    }

    /// Adds one to each lane of `below` whose lane in `lanes` is above `other`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn count_above(below: __m256i, lanes: __m256i, other: __m256i) -> __m256i {
        // A comparison that is true gives -1.
        _mm256_sub_epi16(below, _mm256_cmpgt_epi16(lanes, other))
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod neon {
    use std::arch::aarch64::{int16x8_t, vcgtq_s16, vdupq_n_s16, vreinterpretq_s16_u16, vsubq_s16};

    use super::{Heads, MOST};

    by_vectors!(8, int16x8_t, 6, 8);

    #[inline(always)]
    fn splat(head: i16) -> int16x8_t {
        // SAFETY: every AArch64 processor has NEON.
        unsafe { vdupq_n_s16(head) }
    }

    /// Adds one to each lane of `below` whose lane in `lanes` is above `other`.
    #[inline(always)]
    fn count_above(below: int16x8_t, lanes: int16x8_t, other: int16x8_t) -> int16x8_t {
        // A comparison that is true gives -1. SAFETY: as above.
        unsafe { vsubq_s16(below, vreinterpretq_s16_u16(vcgtq_s16(lanes, other))) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_one_by_one() {
        for count in 0..=MOST {
            for step in [1, 7, 513, 1021] {
                // Negative and positive numbers, some of them more than once.
                let head = |at: usize| (at as i16 * 29 % 64 - 30).wrapping_mul(step) / 2;
                let heads = Heads(std::array::from_fn(head));
                let want = one_by_one(&heads, count);
                for vectors in Vectors::available() {
                    assert_eq!(ranks(vectors, &heads, count)[..count], want[..count], "{vectors}");
                }
            }
        }
    }
}
