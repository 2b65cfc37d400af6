//! Searches with SSE2, which every x86-64 processor has: 16 bytes at once.
//!
//! AVX2 would halve the loads and comparisons of a search. But the upper halves of the registers would have to be
//! cleared afterwards, and lookups would be compiled a third time.

use std::arch::asm;
use std::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_cvtsi32_si128, _mm_movemask_epi8, _mm_packs_epi16,
    _mm_packs_epi32, _mm_set1_epi8, _mm_set1_epi32,
};

use super::line::{Halves, Line};

/// The highest bits of 16 bytes.
#[inline(always)]
fn bits(of: __m128i) -> u64 {
    // SAFETY: every x86-64 processor has SSE2.
    u64::from(unsafe { _mm_movemask_epi8(of) }.cast_unsigned())
}

#[inline(always)]
pub(super) fn bytes_like(line: &Line, byte: u8) -> u64 {
    // SAFETY: every x86-64 processor has SSE2.
    let pattern = unsafe { _mm_set1_epi8(byte.cast_signed()) };
    let (mut a, mut b, mut c, mut d) = (pattern, pattern, pattern, pattern);
    // SAFETY: reads the 64 bytes of `line`, which are aligned, and nothing else. The code is not marked `readonly`, so
    // that the compiler does not move later loads before it, as for an Acquire.
    unsafe {
        asm!(
            "pcmpeqb {a}, xmmword ptr [{line}]",
            "pcmpeqb {b}, xmmword ptr [{line} + 16]",
            "pcmpeqb {c}, xmmword ptr [{line} + 32]",
            "pcmpeqb {d}, xmmword ptr [{line} + 48]",
            line = in(reg) line,
            a = inout(xmm_reg) a,
            b = inout(xmm_reg) b,
            c = inout(xmm_reg) c,
            d = inout(xmm_reg) d,
            options(nostack, preserves_flags),
        );
    }
    bits(a) | bits(b) << 16 | bits(c) << 32 | bits(d) << 48
}

#[inline(always)]
pub(super) fn four_like(line: &Line, byte: u8, first: usize) -> u64 {
    let first = first.min(size_of::<Line>() - 4);
    let four: __m128i;
    // SAFETY: reads four bytes of `line` and nothing else. The code is not marked `readonly`, as above.
    unsafe {
        asm!(
            "movd {four}, dword ptr [{line} + {first}]",
            line = in(reg) line,
            first = in(reg) first,
            four = lateout(xmm_reg) four,
            options(nostack, preserves_flags),
        );
    }
    // SAFETY: every x86-64 processor has SSE2.
    let equal = unsafe {
        let pattern = _mm_cvtsi32_si128(u32::from_ne_bytes([byte; 4]).cast_signed());
        _mm_cmpeq_epi8(four, pattern)
    };
    (bits(equal) & 0xf) << first
}

#[inline(always)]
pub(super) fn halves_up_to(halves: &Halves, limit: u32) -> usize {
    let above = limit.wrapping_add(1);
    // SAFETY: every x86-64 processor has SSE2. No half is 2³¹ or more, so signed comparisons are correct.
    let pattern = unsafe { _mm_set1_epi32(above.cast_signed()) };
    let (mut a, mut b, mut c, mut d) = (pattern, pattern, pattern, pattern);
    let line: usize;
    // The code first finds the line that contains the last half below `above`: its number is how many of the first
    // three lines end below `above`, and those three loads do not depend on each other. Then the code compares the 16
    // halves of that line.
    // SAFETY: reads the 256 bytes of `halves`, which are aligned, and nothing else.
    unsafe {
        asm!(
            "xor {line:e}, {line:e}",
            "cmp dword ptr [{halves} + 60], {above:e}",
            "adc {line:e}, 0",
            "cmp dword ptr [{halves} + 124], {above:e}",
            "adc {line:e}, 0",
            "cmp dword ptr [{halves} + 188], {above:e}",
            "adc {line:e}, 0",
            "shl {line:e}, 6",
            "pcmpgtd {a}, xmmword ptr [{halves} + {line}]",
            "pcmpgtd {b}, xmmword ptr [{halves} + {line} + 16]",
            "pcmpgtd {c}, xmmword ptr [{halves} + {line} + 32]",
            "pcmpgtd {d}, xmmword ptr [{halves} + {line} + 48]",
            halves = in(reg) halves,
            above = in(reg) above,
            line = out(reg) line,
            a = inout(xmm_reg) a,
            b = inout(xmm_reg) b,
            c = inout(xmm_reg) c,
            d = inout(xmm_reg) d,
            options(nostack, readonly),
        );
    }
    // SAFETY: every x86-64 processor has SSE2.
    let below = unsafe { _mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d)) };
    line / size_of::<u32>() + bits(below).trailing_ones() as usize
}
