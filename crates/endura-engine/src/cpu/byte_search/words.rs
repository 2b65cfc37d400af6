//! Searches word by word, for processors whose vectors we do not use, and under loom and Miri.

use super::line::{Halves, Line};
use crate::sync::Ordering;

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

pub(super) fn bytes_like(line: &Line, byte: u8) -> u64 {
    let pattern = u64::from(byte).wrapping_mul(LOW_BITS);
    let mut found = 0;
    for (i, word) in line.0.iter().enumerate() {
        let differs = word.load(Ordering::Acquire) ^ pattern;
        // The high bit of each byte that is 0. The addition carries only into the high bit of the same byte.
        let zero = !(((differs & !HIGH_BITS) + !HIGH_BITS) | differs) & HIGH_BITS;
        // Gathers the eight bits in the highest byte.
        found |= (zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56 << (8 * i);
    }
    found
}

#[inline(always)]
pub(super) fn halves_up_to(halves: &Halves, limit: u32) -> usize {
    let is_up_to = |at: usize| usize::from(halves.0[at].load(Ordering::Relaxed) <= limit);
    // A binary search that adds each step or 0 instead of branching: every second branch would be mispredicted.
    let below =
        [32, 16, 8, 4, 2, 1].iter().fold(0, |from, step| from + step * is_up_to(from + step - 1));
    below + is_up_to(below)
}
