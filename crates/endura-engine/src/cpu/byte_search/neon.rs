//! Searches with NEON, which every AArch64 processor has: 16 bytes at once.

use std::arch::aarch64::{
    uint8x16_t, uint32x4_t, vaddq_u32, vaddvq_u32, vandq_u8, vceqq_u8, vcleq_u32, vdupq_n_u8,
    vdupq_n_u32, vgetq_lane_u64, vld1q_u8, vpaddq_u8, vreinterpretq_u64_u8,
};
use std::arch::asm;

use super::line::{Halves, Line};
use crate::sync::{Ordering, fence};

/// A different bit for each of eight bytes, for both halves of a vector.
const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

#[inline(always)]
pub(super) fn bytes_like(line: &Line, byte: u8) -> u64 {
    let (a, b, c, d): (uint8x16_t, uint8x16_t, uint8x16_t, uint8x16_t);
    // SAFETY: reads the 64 bytes of `line` and nothing else.
    unsafe {
        asm!(
            "ldp {a:q}, {b:q}, [{line}]",
            "ldp {c:q}, {d:q}, [{line}, #32]",
            line = in(reg) line,
            a = out(vreg) a,
            b = out(vreg) b,
            c = out(vreg) c,
            d = lateout(vreg) d,
            options(nostack, preserves_flags, readonly),
        );
    }
    // The fence makes an Acquire of all the loads above, which pair with the stores of `set_byte`.
    fence(Ordering::Acquire);
    // SAFETY: every AArch64 processor has NEON; `BITS` has 16 bytes.
    unsafe {
        let (pattern, one_each) = (vdupq_n_u8(byte), vld1q_u8(BITS.as_ptr()));
        let bits = |of| vandq_u8(vceqq_u8(of, pattern), one_each);
        // Adding neighbours three times gathers the bits of eight bytes in one byte.
        let sums = vpaddq_u8(vpaddq_u8(bits(a), bits(b)), vpaddq_u8(bits(c), bits(d)));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
    }
}

#[inline(always)]
pub(super) fn halves_up_to(halves: &Halves, limit: u32) -> usize {
    let is_up_to = |at: usize| usize::from(halves.0[at].load(Ordering::Relaxed) <= limit);
    // The line that contains the last half that is at most `limit`. The three loads do not depend on each other.
    let line = is_up_to(15) + is_up_to(31) + is_up_to(47);
    let (a, b, c, d): (uint32x4_t, uint32x4_t, uint32x4_t, uint32x4_t);
    // SAFETY: reads one of the four lines of `halves` and nothing else.
    unsafe {
        asm!(
            "ldp {a:q}, {b:q}, [{halves}]",
            "ldp {c:q}, {d:q}, [{halves}, #32]",
            halves = in(reg) &halves.0[16 * line],
            a = out(vreg) a,
            b = out(vreg) b,
            c = out(vreg) c,
            d = lateout(vreg) d,
            options(nostack, preserves_flags, readonly),
        );
    }
    // SAFETY: every AArch64 processor has NEON.
    let above = unsafe {
        let limit = vdupq_n_u32(limit);
        // All ones, which is -1, for each half that is at most the limit.
        let up_to = |of| vcleq_u32(of, limit);
        vaddvq_u32(vaddq_u32(vaddq_u32(up_to(a), up_to(b)), vaddq_u32(up_to(c), up_to(d))))
    };
    16 * line + above.wrapping_neg() as usize
}
